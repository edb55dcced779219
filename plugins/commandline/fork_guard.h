/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork_guard.h: descriptors that a forked child of the host must not hold.
 *
 * O_CLOEXEC covers hosts that fork and exec. A host that only forks (a pre-forking server, Python's
 * multiprocessing) would hand its child a copy of our end of a connection, and the runner on the other
 * end would see no end-of-file when the host dies: what it runs would live on. So every descriptor of
 * ours is made and closed through here, and a pthread_atfork handler closes in the child what is known
 * at that moment. A descriptor comes to be and is made known while fork is held off, so none slips
 * through between the two.
 *
 * The lock that holds fork off is never held across anything that may block.
 */
#ifndef CODE_EXECUTOR_FORK_GUARD_H
#define CODE_EXECUTOR_FORK_GUARD_H

#include "transport.h"
#include <stdbool.h>

/* Between these two no fork of the host takes place. For the few system calls that make a descriptor
 * which has no function below. */
void fork_guard_enter(void);
void fork_guard_leave(void);

/* Makes FD known; between the two only. */
void fork_guard_add(int fd);

/* Makes FD unknown again, for one that a library closes itself; between the two only. */
void fork_guard_remove(int fd);

/* Makes it unknown again and closes it, as one step. Keeps errno; -1 is allowed. */
void fork_guard_close(int fd);

/* Makers: close-on-exec and known. As the calls they are named after: -1 with errno. */
int fork_guard_eventfd(void); /* nonblocking, at 0 */
int fork_guard_socket(int domain, int type, int protocol);
int fork_guard_socketpair(int fds[2]); /* AF_UNIX, SOCK_STREAM */
int fork_guard_pipe(int fds[2]);

/* A transport whose forget is called in the child; linked in by its owner. */
typedef struct fork_guard_node {
    transport *transport;
    struct fork_guard_node *previous;
    struct fork_guard_node *next;
} fork_guard_node;

void fork_guard_watch(fork_guard_node *node, transport *watched);
void fork_guard_unwatch(fork_guard_node *node);

#endif /* CODE_EXECUTOR_FORK_GUARD_H */
