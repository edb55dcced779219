/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack.h: the attempts that the tests of the sandbox make inside of one, by topic, in one static program: it needs
 * nothing of what is seen inside.
 *
 *     attack NAME ARGUMENT…        makes one attempt and prints how it went: `ok` where it succeeded,
 *                                  else the name of the error
 *
 * Nothing here does harm where it succeeds; nothing is meant to be run outside.
 */
#ifndef CODE_EXECUTOR_TESTS_ATTACK_H
#define CODE_EXECUTOR_TESTS_ATTACK_H

struct attack {
    const char *name; /* NULL: the last of its list */
    int argument_count;
    /* Not -1, or -1 with errno. */
    long (*attempt)(char **arguments);
};

extern const struct attack attacks_on_namespaces[]; /* mounts too */
extern const struct attack attacks_on_processes[];
extern const struct attack attacks_on_the_kernel[];
extern const struct attack attacks_on_files[];     /* devices and terminals too */
extern const struct attack attacks_on_resources[]; /* sockets too */

/* A number of any base. */
long number(const char *text);

#endif /* CODE_EXECUTOR_TESTS_ATTACK_H */
