/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inherited.h: what a fork inherits of the runner and others of the same user can change: limits (prlimit),
 * processors, scheduling.
 *
 * Attack: code takes them away from its supervisor, or from the runner, so that whatever runs after it fails. It
 * needs no more than the same user and group for that, whether or not the process is dumpable.
 */
#ifndef CODE_EXECUTOR_RUNNER_INHERITED_H
#define CODE_EXECUTOR_RUNNER_INHERITED_H

#include <stdbool.h>
#include <sys/resource.h>

/* In the runner, once it has what it wants: this is how it shall stay. */
void inherited_note(void);

/* In the runner, before it forks: gives back to itself what was taken away. False: a limit cannot be given
 * back (a hard one, without CAP_SYS_RESOURCE). More limits than before, other processors or another priority
 * may as well be the wish of who runs the machine. */
bool inherited_is_whole(void);

/* In a supervisor: it and its commands have another limit of descriptors. */
void inherited_expect_descriptors(const struct rlimit *limit);

/* In a supervisor, behind a command: whether the next one would inherit what it should. */
bool inherited_is_untouched(void);

#endif /* CODE_EXECUTOR_RUNNER_INHERITED_H */
