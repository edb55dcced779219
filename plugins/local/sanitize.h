/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sanitize.h: shell commands that no model should run on somebody's own machine.
 *
 * A guard against accidents: `rm -rf`, `dd`, file systems made anew, writes to disks, files moved to
 * /dev/null, fork bombs. Whoever wants to get around it can (`R=rm; $R -rf x`), and Python may do as it
 * likes; who must not trust the code takes an executor that isolates it.
 *
 * Commands are recognized as the shell would read them (shell_reader.h), so that words in quotes, in
 * comments and in the arguments of others mean nothing.
 */
#ifndef CODE_EXECUTOR_LOCAL_SANITIZE_H
#define CODE_EXECUTOR_LOCAL_SANITIZE_H

#include <stdbool.h>
#include <stddef.h>

/* Whether code in LANGUAGE (a name of languages.h) is looked at. */
bool sanitize_reads(const char *language);

/* What is found first, in words, or NULL. Static. */
const char *sanitize_find(const char *code, size_t length);

#endif /* CODE_EXECUTOR_LOCAL_SANITIZE_H */
