/* SPDX-License-Identifier: Apache-2.0 */
/* life_cycle.c: start, stop, restart, and what happens when the host is killed. */
#include "bench.h"

#include <signal.h>
#include <stdlib.h>

enum { LIFE_ROUNDS = 7 };

static int64_t start_docker(void *context)
{
    struct bench *bench = context;
    executor_stop(&bench->docker);
    return executor_start(&bench->docker);
}

static int64_t stop_docker(void *context)
{
    struct bench *bench = context;
    executor_start(&bench->docker);
    return executor_stop(&bench->docker);
}

static int64_t restart_docker(void *context)
{
    struct bench *bench = context;
    executor_start(&bench->docker);
    return executor_restart(&bench->docker);
}

static int64_t create_and_start(void *context)
{
    struct bench *bench = context;
    return peer_ask(&bench->python, "create_start %s %s", bench->image, bench->work_dir);
}

/* A host that starts an executor and is killed: how long its container outlives it. */
static int64_t killed_host(void *context)
{
    struct bench *bench = context;
    char *name = format("%s-killed", bench->container);
    char *config = docker_config(bench, name);
    char *program = format("%s/bench", bench->folder);
    char *argv[] = {program, "--hold", config, NULL};
    struct peer host;
    int64_t took = -1;
    if (peer_start(&host, argv) == 0 && peer_ask(&host, "start") >= 0) {
        kill(host.process, SIGKILL);
        took = peer_ask(&bench->python, "gone %s", name);
    }
    peer_end(&host);
    free(program);
    free(config);
    free(name);
    return took;
}

void bench_life_cycle(struct bench *bench)
{
    printf("\nLife of a docker executor\n");
    struct contender contenders[] = {
        {.name = "start", .once = start_docker, .context = bench},
        {.name = "bare API: create and start", .once = create_and_start, .context = bench},
        {.name = "stop", .once = stop_docker, .context = bench},
        {.name = "restart", .once = restart_docker, .context = bench},
        {.name = "host killed: until the container is gone", .once = killed_host, .context = bench},
    };
    measure(contenders, 5, LIFE_ROUNDS);
    for (int i = 0; i < 5; i++)
        must(&contenders[i]);
    report_amount("start, above create and start",
                  contenders[0].median_ms - contenders[1].median_ms, "ms", 40);
    report_amount("stop", contenders[2].median_ms, "ms", 500);
    report_amount("restart", contenders[3].median_ms, "ms", 500);
    report_amount("container gone after its host was killed", contenders[4].median_ms, "ms", 2000);
}
