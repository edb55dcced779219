/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shell_session.h: the commands out of a recorded terminal session.
 *
 *     $ pip install requests              pip install requests
 *     Collecting requests                 for i in 1 2; do
 *     user@host:~/src$ for i in 1 2; do   echo $i; done
 *     > echo $i; done
 *     1
 *
 * A line with a prompt is a command: `$ ` or `% `, alone or behind `user@host:folder` (also with a
 * virtual environment's `(name) ` in front). What follows it behind `> `, behind a
 * backslash at a line's end or up to a here-document's end belongs to it. Everything else is what came
 * out, and is dropped: to run output as commands is the fault this is for. `# ` is no prompt, since
 * comments begin so. Where no line has a prompt, all of it is commands.
 */
#ifndef CODE_EXECUTOR_SHELL_SESSION_H
#define CODE_EXECUTOR_SHELL_SESSION_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the first line that is not blank begins with `$ `: then even what is called a script is a
 * session, since no shell has a command of that name. */
bool shell_session_begins(const char *code, size_t length);

/* *CHANGED is the script (free()) of *CHANGED_LENGTH bytes, or NULL where there is no prompt. False: no
 * memory. */
bool shell_session_strip(const char *code, size_t length, char **changed, size_t *changed_length);

#endif /* CODE_EXECUTOR_SHELL_SESSION_H */
