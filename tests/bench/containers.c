/* SPDX-License-Identifier: Apache-2.0 */
/*
 * containers.c: how it grows with the number of containers: so many executors, a block on each of them,
 * what they take of the host process, and how they go.
 */
#include "bench.h"
#include "memory.h"
#include "parallel.h"
#include "spawn.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST_CONTAINERS = 32 };

struct crowd {
    struct bench *bench;
    int count;
    struct executor executors[MOST_CONTAINERS];
};

static void report_each(const char *what, int64_t took, int count)
{
    report_amount(what, took < 0 ? -1 : (double)took / 1e6 / count, "ms", 0);
}

/* ------------------------------------------------------------------------------------------------
 * Executors
 * --------------------------------------------------------------------------------------------- */

static bool start_one(void *context, int index)
{
    struct crowd *crowd = context;
    return executor_start(&crowd->executors[index]) >= 0;
}

static bool run_one(void *context, int index)
{
    struct crowd *crowd = context;
    return executor_run(&crowd->executors[index], "sh", "echo hello\n", 1) >= 0;
}

static bool stop_one(void *context, int index)
{
    struct crowd *crowd = context;
    return executor_stop(&crowd->executors[index]) >= 0;
}

static void bench_executors(struct crowd *crowd)
{
    int count = crowd->count;
    for (int i = 0; i < count; i++) {
        char *name = format("%s-%d", crowd->bench->container, i);
        char *config = docker_config(crowd->bench, name);
        if (!executor_open(&crowd->executors[i], "docker", config))
            fail("an executor cannot be made");
        free(config);
        free(name);
    }
    double before = memory_resident(getpid());
    int64_t start = parallel_ns(count, start_one, crowd);
    double memory = memory_resident(getpid()) - before;
    int64_t first = parallel_ns(count, run_one, crowd);
    int64_t second = parallel_ns(count, run_one, crowd);
    int64_t stop = parallel_ns(count, stop_one, crowd);
    for (int i = 0; i < count; i++)
        executor_close(&crowd->executors[i]);
    if (start < 0 || first < 0 || second < 0 || stop < 0)
        fail("an executor did not work: see above");
    report_each("docker executor: start, for each", start, count);
    report_each("docker executor: a block, for each", second, count);
    report_each("docker executor: stop, for each", stop, count);
    report_amount("memory of the host process, for each", memory / count, "MiB", 0);
}

/* ------------------------------------------------------------------------------------------------
 * Others
 * --------------------------------------------------------------------------------------------- */

static void bench_python(const struct crowd *crowd)
{
    struct peer *python = &crowd->bench->python;
    double before = memory_resident(python->process);
    int64_t start =
        peer_ask(python, "run %d %s %s", crowd->count, crowd->bench->image, crowd->bench->work_dir);
    double memory = memory_resident(python->process) - before;
    int64_t each = start < 0 ? -1 : peer_ask(python, "each sh -c true");
    report_each("docker-py: containers.run, for each", start, crowd->count);
    report_each("docker-py: exec_run, for each", each, crowd->count);
    report_amount("memory of docker-py, for each", memory / crowd->count, "MiB", 0);
    peer_ask(python, "remove");
}

static int64_t run_shell(char *command)
{
    char *argv[] = {"sh", "-c", command, NULL};
    int64_t took = spawn_ns(argv, 1);
    free(command);
    return took;
}

static void bench_cli(const struct crowd *crowd)
{
    const char *label = crowd->bench->container;
    char *mount = format("%s:/workspace", crowd->bench->work_dir);
    char *argv[] = {"docker", "run",     "-d",
                    "--rm",   "--label", (char *)label,
                    "-v",     mount,     (char *)crowd->bench->image,
                    "sleep",  "600",     NULL};
    double memory;
    int64_t start = spawn_and_weigh_ns(argv, crowd->count, &memory);
    int64_t each = run_shell(format("for c in $(docker ps -q --filter label=%s); do "
                                    "docker exec $c sh -c true & done; wait",
                                    label));
    report_each("docker run (CLI), for each", start, crowd->count);
    report_each("docker exec (CLI), for each", each, crowd->count);
    report_amount("memory of the CLI while it starts them, for each", memory / crowd->count, "MiB",
                  0);
    run_shell(format("docker rm -f $(docker ps -aq --filter label=%s)", label));
    free(mount);
}

void bench_containers(struct bench *bench)
{
    static const int counts[] = {1, 8, MOST_CONTAINERS};
    static struct crowd crowd;
    for (int i = 0; i < 3; i++) {
        crowd = (struct crowd){.bench = bench, .count = counts[i]};
        printf("\n%d container%s, all at once\n", counts[i], counts[i] == 1 ? "" : "s");
        bench_executors(&crowd);
        bench_python(&crowd);
        bench_cli(&crowd);
    }
}
