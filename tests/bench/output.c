/* SPDX-License-Identifier: Apache-2.0 */
/* output.c: how fast much output streams, and what memory it takes. */
#include "bench.h"
#include "memory.h"
#include "spawn.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { STREAM_ROUNDS = 3 };
#define STREAM_BYTES (1024LL * 1024 * 1024)

static int64_t stream_executor(struct executor *executor)
{
    uint64_t before = executor->bytes_seen;
    char *code = format("head -c %lld /dev/zero\n", STREAM_BYTES);
    int64_t took = executor_run(executor, "sh", code, 1);
    free(code);
    return executor->bytes_seen - before == (uint64_t)STREAM_BYTES ? took : -1;
}

static int64_t stream_docker(void *context)
{
    return stream_executor(&((struct bench *)context)->docker);
}

static int64_t stream_local(void *context)
{
    return stream_executor(&((struct bench *)context)->local);
}

static int64_t stream_docker_exec(void *context)
{
    struct bench *bench = context;
    char *bytes = format("%lld", STREAM_BYTES);
    char *argv[] = {"docker", "exec", bench->container, "head", "-c", bytes, "/dev/zero", NULL};
    int64_t took = spawn_ns(argv, 1);
    free(bytes);
    return took;
}

void bench_output(struct bench *bench)
{
    printf("\nOne block that writes 1 GiB, every byte of it seen by on_output\n");
    memory_reset_peak(getpid());
    double before = memory_peak(getpid());
    struct contender contenders[] = {
        {.name = "docker executor", .once = stream_docker, .context = bench},
        {.name = "docker exec (CLI)", .once = stream_docker_exec, .context = bench},
        {.name = "local executor", .once = stream_local, .context = bench},
    };
    measure(contenders, 3, STREAM_ROUNDS);
    must(&contenders[0]);
    must(&contenders[2]);
    report_ratio("docker executor / docker exec (CLI)", ratio(&contenders[0], &contenders[1]), 1);
    /* The cap (10 MiB) bounds each of stdout and the joined output, and the result repeats the latter. */
    report_amount("memory of the host process, above the beginning", memory_peak(getpid()) - before,
                  "MiB", 3 * 10 + 8);
}
