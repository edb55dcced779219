/* SPDX-License-Identifier: Apache-2.0 */
/* bench.h: what the parts of the benchmark share. Each part is one function that prints its figures. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "executor.h"
#include "measure.h"
#include "peer.h"

#include <limits.h>
#include <stdbool.h>

struct bench {
    char folder[PATH_MAX];   /* of this program and of host_demo */
    char work_dir[PATH_MAX]; /* on the host */
    char inside[PATH_MAX];   /* the same, as the container sees it */
    char container[64];      /* its name */
    const char *image;
    struct executor docker;
    struct executor local;
    struct executor sandbox;
    bool has_sandbox;    /* bubblewrap does not work everywhere */
    struct peer python;  /* docker_peer.py */
    struct peer spawner; /* in the container */
};

void bench_loading(struct bench *bench);
void bench_host_demo(struct bench *bench);
void bench_blocks(struct bench *bench);
void bench_output(struct bench *bench);
void bench_life_cycle(struct bench *bench);
void bench_pool(struct bench *bench);
void bench_containers(struct bench *bench);
void bench_sandbox_start(struct bench *bench);

/* ---- small things ------------------------------------------------------------------------------- */

/* Ends the benchmark with a word on stderr. */
_Noreturn void fail(const char *what);

/* Formatted text to be freed. */
char *format(const char *pattern, ...) __attribute__((format(printf, 1, 2)));

/* A's median over B's, -1 where one of them failed. */
double ratio(const struct contender *a, const struct contender *b);

/* Ends the benchmark where this one, an executor, failed. */
void must(const struct contender *one);

/* The configuration of the docker executor; to be freed. */
char *docker_config(const struct bench *bench, const char *container);

#endif /* BENCH_BENCH_H */
