/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sigpipe.h: keeps SIGPIPE from a host while OpenSSL writes for us.
 *
 * libcurl writes to its sockets with MSG_NOSIGNAL. What goes through OpenSSL did not do so before libcurl
 * 7.87: an engine that died would kill the host. The signal is held back in the calling thread alone, and
 * one that we caused is taken away before it can be delivered; the host's handlers are not touched, and
 * one that was pending before stays.
 */
#ifndef CODE_EXECUTOR_DOCKER_SIGPIPE_H
#define CODE_EXECUTOR_DOCKER_SIGPIPE_H

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>

struct sigpipe_guard {
    bool active;
    sigset_t before;
};

static inline struct sigpipe_guard sigpipe_hold(bool needed)
{
    struct sigpipe_guard guard = {.active = false};
    sigset_t pending, pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    if (!needed || sigpending(&pending) != 0 || sigismember(&pending, SIGPIPE))
        return guard;
    guard.active = pthread_sigmask(SIG_BLOCK, &pipe, &guard.before) == 0;
    return guard;
}

static inline void sigpipe_release(const struct sigpipe_guard *guard)
{
    const struct timespec at_once = {0, 0};
    int saved = errno;
    sigset_t pipe;
    if (!guard->active)
        return;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    while (sigtimedwait(&pipe, NULL, &at_once) < 0 && errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &guard->before, NULL);
    errno = saved;
}

#endif /* CODE_EXECUTOR_DOCKER_SIGPIPE_H */
