/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wakeup_pair.h: keeps the descriptors that a multi handle opens for itself from leaking.
 *
 * libcurl's sockets come from a callback of ours, but the pair with which a multi handle is woken does
 * not, and libcurl 7.88 opens it without O_CLOEXEC. So it is looked for, once, right after it was made.
 */
#ifndef CODE_EXECUTOR_DOCKER_WAKEUP_PAIR_H
#define CODE_EXECUTOR_DOCKER_WAKEUP_PAIR_H

#include <curl/curl.h>

/* The pair of one handle; -1 where there is none to be found, as in libraries that mark it themselves. */
struct wakeup_pair {
    int descriptors[2];
};

/* A multi handle whose pair is close-on-exec and known to fork_guard.h. NULL: no memory. */
CURLM *wakeup_pair_guard(struct wakeup_pair *pair);

/* Right before curl_multi_cleanup, which closes the numbers; the pair itself is closed here. */
void wakeup_pair_release(struct wakeup_pair *pair);

#endif /* CODE_EXECUTOR_DOCKER_WAKEUP_PAIR_H */
