/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_name.h: the name that a block gives its file, in a comment that is its first line.
 *
 *     # filename: src/app.py
 *     // filename: app.js
 *     -- filename: schema.sql
 *     <!-- filename: index.html -->
 *     and the same between the marks of a C comment
 *
 * With the word `filename:` (in any case) everything behind it is the name, up to the end of the
 * comment, without blanks around it and without one pair of quotes or backquotes around that.
 * Without the word only what can hardly be anything else is a name: one of [A-Za-z0-9_./-], behind
 * a blank, alone in the comment, that ends in an extension of the block's own language. So
 * `# test.py` names a file in Python, and `# Import libraries`, `# -*- coding: utf-8 -*-`,
 * `# v1.2`, `# os.path` do not.
 *
 * A comment of any of these kinds counts in every language. A comment that is not closed on its
 * line ends with the line. Blanks before the comment and a byte order mark are passed over.
 */
#ifndef CODE_EXECUTOR_FILE_NAME_H
#define CODE_EXECUTOR_FILE_NAME_H

#include "language.h"
#include <stdbool.h>
#include <stddef.h>

/*
 * False: no memory. *NAME (free()) is the path beneath the workspace: relative, with no `.`, `..`
 * or empty part; NULL when the block gives none. *OBJECTION is NULL, or says why the name that it
 * gives cannot be used; then *NAME is NULL. Static.
 */
bool file_name_read(const language *known, const char *code, size_t length, char **name,
                    const char **objection);

/* Said of a name that leads out of the workspace, by itself or through a link. */
extern const char file_name_outside[];

#endif /* CODE_EXECUTOR_FILE_NAME_H */
