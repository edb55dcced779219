/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c: starts that take a container which is there already. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { POOL_ROUNDS = 15, POOL_PATIENCE = 3000 };

struct pooled {
    const char *config;
    struct executor keeper; /* it has the pool live on between the others */
};

static bool is_full(struct executor *executor)
{
    char *json = NULL;
    bool full = executor->table->describe(executor->instance, &json, NULL) == CODE_EXECUTOR_OK &&
                strstr(json, "\"ready\":1") != NULL;
    executor->table->string_free(json);
    return full;
}

static bool await_full(struct executor *executor)
{
    for (int i = 0; i < POOL_PATIENCE && !is_full(executor); i++)
        usleep(10000);
    return is_full(executor);
}

/* A new instance, started with a full pool, and whether its container works. */
static int64_t start_pooled(void *context)
{
    struct pooled *pooled = context;
    struct executor next = {.table = NULL};
    int64_t took = -1;
    if (await_full(&pooled->keeper) && executor_open(&next, "docker", pooled->config)) {
        took = executor_start(&next);
        if (executor_run(&next, "sh", "true\n", 1) < 0)
            took = -1;
        executor_close(&next);
    }
    return took;
}

void bench_pool(struct bench *bench)
{
    char *config = format("{\"image\": \"%s\", \"work_dir\": \"%s\", \"pool\": 1}", bench->image,
                          bench->work_dir);
    struct pooled pooled = {.config = config};
    printf("\nA pool of docker containers\n");
    if (!executor_open(&pooled.keeper, "docker", config) || executor_start(&pooled.keeper) < 0)
        fail("an executor with a pool cannot be started");
    struct contender contenders[] = {
        {.name = "start from the pool", .once = start_pooled, .context = &pooled},
    };
    measure(contenders, 1, POOL_ROUNDS);
    must(&contenders[0]);
    report_amount("start from the pool", contenders[0].median_ms, "ms", 20);
    executor_close(&pooled.keeper);
    free(config);
}
