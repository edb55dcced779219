/* SPDX-License-Identifier: Apache-2.0 */
/* blocks.c: one small block, alone and many at once, beside spawning the same in other ways. */
#include "bench.h"
#include "memory.h"
#include "spawn.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BLOCK_ROUNDS = 60, SLOW_ROUNDS = 15, CROWD_ROUNDS = 2 };

typedef struct block_kind {
    const char *language;
    const char *file;
    const char *code;
} block_kind;

static const block_kind block_kinds[] = {
    {"sh", "bench.sh", "# filename: bench.sh\necho hello\n"},
    {"python", "bench.py", "# filename: bench.py\nprint('hello')\n"},
};

/* A block, and the commands that run the file it is saved to as the executors do. */
typedef struct block_case {
    struct bench *bench;
    const block_kind *kind;
    int count; /* at once */
    double cli_memory;
    char *interpreter_inside;
    char *interpreter_here;
} block_case;

static block_case make_case(struct bench *bench, const block_kind *kind, int count)
{
    return (block_case){
        .bench = bench,
        .kind = kind,
        .count = count,
        .interpreter_inside = executor_interpreter(&bench->docker, kind->language),
        .interpreter_here = executor_interpreter(&bench->local, kind->language),
    };
}

static void free_case(const block_case *one)
{
    free(one->interpreter_inside);
    free(one->interpreter_here);
}

static int64_t block_on_docker(void *context)
{
    block_case *one = context;
    return executor_run(&one->bench->docker, one->kind->language, one->kind->code, one->count);
}

static int64_t block_on_local(void *context)
{
    block_case *one = context;
    return executor_run(&one->bench->local, one->kind->language, one->kind->code, one->count);
}

static int64_t block_on_sandbox(void *context)
{
    block_case *one = context;
    return executor_run(&one->bench->sandbox, one->kind->language, one->kind->code, one->count);
}

static int64_t spawn_in_container(void *context)
{
    block_case *one = context;
    return peer_ask(&one->bench->spawner, "spawn %d %s %s/%s", one->count, one->interpreter_inside,
                    one->bench->inside, one->kind->file);
}

static int64_t spawn_on_host(void *context)
{
    block_case *one = context;
    char file[PATH_MAX + 64];
    snprintf(file, sizeof file, "%s/%s", one->bench->work_dir, one->kind->file);
    char *argv[] = {one->interpreter_here, file, NULL};
    return spawn_ns(argv, one->count);
}

static int64_t docker_exec(void *context)
{
    block_case *one = context;
    char file[PATH_MAX + 64];
    snprintf(file, sizeof file, "%s/%s", one->bench->inside, one->kind->file);
    char *argv[] = {"docker", "exec", one->bench->container, one->interpreter_inside, file, NULL};
    return spawn_and_weigh_ns(argv, one->count, &one->cli_memory);
}

/* As executors written in Python do it: the time limit is the command `timeout`. */
static int64_t docker_py_exec(void *context)
{
    block_case *one = context;
    int64_t took = peer_ask(&one->bench->python, "exec %d %s timeout 60 %s %s/%s", one->count,
                            one->bench->container, one->interpreter_inside, one->bench->inside,
                            one->kind->file);
    if (took < 0)
        fprintf(stderr, "bench: docker-py: %s\n", one->bench->python.problem);
    return took;
}

static void bench_one(struct bench *bench, const block_kind *kind)
{
    block_case one = make_case(bench, kind, 1);
    printf("\nA %s block that prints one line\n", kind->language);
    struct contender quick[] = {
        {.name = "local executor", .once = block_on_local, .context = &one},
        {.name = "posix_spawn on the host", .once = spawn_on_host, .context = &one},
        {.name = "docker executor", .once = block_on_docker, .context = &one},
        {.name = "posix_spawn inside the container", .once = spawn_in_container, .context = &one},
        {.name = "sandbox executor", .once = block_on_sandbox, .context = &one},
    };
    measure(quick, bench->has_sandbox ? 5 : 4, BLOCK_ROUNDS);
    struct contender slow[] = {
        {.name = "docker exec (CLI)", .once = docker_exec, .context = &one},
        {.name = "docker-py exec_run", .once = docker_py_exec, .context = &one},
    };
    measure(slow, 2, SLOW_ROUNDS);
    must(&quick[0]);
    must(&quick[2]);
    bool shell = kind == &block_kinds[0];
    report_ratio("local executor / posix_spawn", ratio(&quick[0], &quick[1]), 1.5);
    report_ratio("docker executor / posix_spawn inside", ratio(&quick[2], &quick[3]),
                 shell ? 1.5 : 1.15);
    report_ratio("sandbox executor / posix_spawn on the host",
                 bench->has_sandbox ? ratio(&quick[4], &quick[1]) : -1, 0);
    report_at_least("docker exec (CLI) / docker executor", ratio(&slow[0], &quick[2]), 0);
    report_at_least("docker-py exec_run / docker executor", ratio(&slow[1], &quick[2]),
                    shell ? 20 : 0);
    free_case(&one);
}

/* What the others of a container's users take for as many at once. */
static void bench_crowd(block_case *one, const struct contender *ours, double our_memory)
{
    pid_t python = one->bench->python.process;
    struct contender crowd[] = {
        {.name = "docker exec (CLI)", .once = docker_exec, .context = one},
        {.name = "docker-py exec_run", .once = docker_py_exec, .context = one},
    };
    memory_reset_peak(python);
    double before = memory_peak(python);
    measure(crowd, 2, CROWD_ROUNDS);
    report_at_least("docker exec (CLI) / docker executor", ratio(&crowd[0], ours), 0);
    report_at_least("docker-py exec_run / docker executor", ratio(&crowd[1], ours), 0);
    report_amount("memory that the host takes more for them, at most", our_memory, "MiB", 0);
    report_amount("memory of the CLI's processes", one->cli_memory, "MiB", 0);
    report_amount("memory that docker-py takes more for them", memory_peak(python) - before, "MiB",
                  0);
}

static void bench_at_once(struct bench *bench, int count)
{
    block_case one = make_case(bench, &block_kinds[0], count);
    printf("\n%d sh block%s at once on one instance\n", count, count == 1 ? "" : "s");
    struct contender contenders[] = {
        {.name = "docker executor", .once = block_on_docker, .context = &one},
        {.name = "posix_spawn inside the container", .once = spawn_in_container, .context = &one},
        {.name = "local executor", .once = block_on_local, .context = &one},
        {.name = "posix_spawn on the host", .once = spawn_on_host, .context = &one},
    };
    memory_reset_peak(getpid());
    double before = memory_peak(getpid());
    measure(contenders, 4, SLOW_ROUNDS);
    must(&contenders[0]);
    must(&contenders[2]);
    double memory = memory_peak(getpid()) - before;
    report_ratio("docker executor / posix_spawn inside", ratio(&contenders[0], &contenders[1]), 0);
    report_ratio("local executor / posix_spawn", ratio(&contenders[2], &contenders[3]), 0);
    bench_crowd(&one, &contenders[0], memory);
    free_case(&one);
}

void bench_blocks(struct bench *bench)
{
    bench_one(bench, &block_kinds[0]);
    bench_one(bench, &block_kinds[1]);
    static const int counts[] = {1, 8, 64};
    for (int i = 0; i < 3; i++)
        bench_at_once(bench, counts[i]);
}
