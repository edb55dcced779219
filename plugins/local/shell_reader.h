/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shell_reader.h: the simple commands of a shell script, one after the other.
 *
 * Reads as POSIX shells and bash do as far as it matters for who is called with what: quotes, comments,
 * redirections, here-documents, command and process substitution (whose commands are read too), function
 * definitions. Nothing is expanded: `$X` stays as it is written. A script that no shell would accept is
 * read somehow.
 */
#ifndef CODE_EXECUTOR_LOCAL_SHELL_READER_H
#define CODE_EXECUTOR_LOCAL_SHELL_READER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct shell_command {
    /* Its words, quotes removed, without the assignments and reserved words before it. */
    char **words;
    size_t word_count;
    char **written; /* the files that its output is redirected to */
    size_t written_count;
    char separator; /* what ends it: `|` `&` `;` (which also stands for `&&`, `||`, a line's end) */
} shell_command;

typedef struct shell_visitor {
    void *context;
    /* Either may end the reading by returning false. */
    bool (*on_command)(void *context, const shell_command *command);
    /* The body of a function follows, or, where NAME is "", has ended. */
    bool (*on_function)(void *context, const char *name);
} shell_visitor;

/* False: a visitor ended it, or memory did. */
bool shell_read(const char *script, size_t length, const shell_visitor *visitor);

#endif /* CODE_EXECUTOR_LOCAL_SHELL_READER_H */
