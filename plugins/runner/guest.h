/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest.h: a runner whose file was brought into a container that somebody else runs. Nothing of it stays there.
 *
 *     /.code_executor-ID              its file        goes as soon as a runner runs
 *     /.code_executor-ID-workspace    its folder      goes with the runner; in use as long as somebody holds
 *                                                     a lock on it
 *
 * One that is root does both itself. For another user there is a caretaker beside it, the same program as root:
 * it removes the file at once, and waits for the lock to be given up, in whatever way the runner ends. What is
 * left when all in the container were killed at once, the next runner or caretaker removes: a folder that
 * nobody holds and whose file is gone, and a file that is older than a start can take. In between, when
 * a host has brought both in and started neither, the file says that they are still needed.
 */
#ifndef CODE_EXECUTOR_RUNNER_GUEST_H
#define CODE_EXECUTOR_RUNNER_GUEST_H

#include <stdbool.h>

/* Does what the command line (remove_itself.h) says of the beginning. Whether that was all. */
bool guest_enter(int count, char **words);

/* And of the end. */
void guest_leave(void);

#endif /* CODE_EXECUTOR_RUNNER_GUEST_H */
