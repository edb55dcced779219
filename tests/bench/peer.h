/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer.h: a process that does the same work in another way and tells how long it took: it reads one
 * line a request and answers "ok NANOSECONDS" or "error WHY".
 */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct peer {
    pid_t process;
    FILE *requests;
    FILE *answers;
    char problem[256]; /* why the last request failed */
};

/* Returns 0, or -1 where it could not be started. */
int peer_start(struct peer *peer, char *const argv[]);

/* Asks one request, which is formatted; returns nanoseconds, or -1 with `problem` filled. */
int64_t peer_ask(struct peer *peer, const char *format, ...) __attribute__((format(printf, 2, 3)));

void peer_end(struct peer *peer);

#endif /* BENCH_PEER_H */
