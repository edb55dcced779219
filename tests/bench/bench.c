/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench.c: what the executors cost, beside doing the same in other ways, in one run on one machine.
 *
 *     bench DOCKER_PEER.py IMAGE [SECTION...]      (scripts/bench calls it, with a Docker daemon and the peers in place)
 *
 * Figures are medians of contenders that take turns (measure.c). What matters are the ratios; where the
 * design sets a budget, it stands beside. A ratio over its budget is reported, not a failure: a busy
 * machine must not make a build fail. The exit status is not 0 only where an executor did not work.
 */
#include "bench.h"
#include "spawn.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Noreturn void fail(const char *what)
{
    fprintf(stderr, "bench: %s\n", what);
    exit(1);
}

char *format(const char *pattern, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, pattern);
    int length = vasprintf(&text, pattern, arguments);
    va_end(arguments);
    if (length < 0)
        fail("no memory");
    return text;
}

double ratio(const struct contender *a, const struct contender *b)
{
    return a->median_ms >= 0 && b->median_ms > 0 ? a->median_ms / b->median_ms : -1;
}

void must(const struct contender *one)
{
    if (one->median_ms < 0)
        fail("an executor did not work: see above");
}

char *docker_config(const struct bench *bench, const char *container)
{
    return format(
        "{\"image\": \"%s\", \"container_name\": \"%s\", \"work_dir\": \"%s\", \"timeout\": 600}",
        bench->image, container, bench->work_dir);
}

/* The process that bench_life_cycle kills: `bench --hold CONFIG`. */
static int hold(const char *config)
{
    struct executor docker;
    char line[16];
    if (!executor_open(&docker, "docker", config) || fgets(line, sizeof line, stdin) == NULL ||
        executor_start(&docker) < 0)
        return 1;
    puts("ok 0");
    fflush(stdout);
    pause();
    return 0;
}

static void copy_spawner(const struct bench *bench)
{
    char *from = format("%s/bench_spawner", bench->folder);
    char *to = format("%s/bench_spawner", bench->work_dir);
    char *argv[] = {"cp", from, to, NULL};
    if (spawn_ns(argv, 1) < 0)
        fail("cannot copy the spawner");
    free(from);
    free(to);
}

/* Where the workspace is in the container: the code itself tells. */
static void find_inside(struct bench *bench)
{
    char *file = format("%s/inside", bench->work_dir);
    if (executor_run(&bench->docker, "sh", "pwd > inside\n", 1) < 0)
        fail("the docker executor does not work");
    FILE *inside = fopen(file, "re");
    if (inside == NULL || fgets(bench->inside, sizeof bench->inside, inside) == NULL)
        fail("the workspace is not shared with the container");
    bench->inside[strcspn(bench->inside, "\n")] = '\0';
    fclose(inside);
    free(file);
}

static void start_peers(struct bench *bench, const char *script)
{
    /* The system's Python, for which the distribution's docker-py is, not one that is first in PATH. */
    char *python[] = {"/usr/bin/python3", (char *)script, NULL};
    char *spawner_path = format("%s/bench_spawner", bench->inside);
    char *spawner[] = {"docker", "exec", "-i", bench->container, spawner_path, NULL};
    if (peer_start(&bench->python, python) != 0 || peer_start(&bench->spawner, spawner) != 0)
        fail("a peer cannot be started");
    free(spawner_path);
}

static void open_executors(struct bench *bench)
{
    char *config = docker_config(bench, bench->container);
    bool good = executor_open(&bench->docker, "docker", config);
    free(config);
    config = format("{\"work_dir\": \"%s\", \"timeout\": 600}", bench->work_dir);
    good = good && executor_open(&bench->local, "local", config);
    free(config);
    if (!good || executor_start(&bench->docker) < 0 || executor_start(&bench->local) < 0)
        fail("an executor cannot be started");
    config = format("{\"work_dir\": \"%s\", \"timeout\": 600}", bench->work_dir);
    bench->has_sandbox =
        executor_open(&bench->sandbox, "sandbox", config) && executor_start(&bench->sandbox) >= 0;
    free(config);
}

static void set_up(struct bench *bench, const char *image)
{
    ssize_t length = readlink("/proc/self/exe", bench->folder, sizeof bench->folder - 1);
    if (length < 0)
        fail("/proc is not there");
    bench->folder[length] = '\0';
    *strrchr(bench->folder, '/') = '\0';
    snprintf(bench->work_dir, sizeof bench->work_dir, "/tmp/code_executor-bench.XXXXXX");
    if (mkdtemp(bench->work_dir) == NULL || chmod(bench->work_dir, 0755) != 0)
        fail("cannot make a folder in /tmp");
    snprintf(bench->container, sizeof bench->container, "code_executor-bench-%d", (int)getpid());
    bench->image = image;
}

static struct bench bench;

static void remove_work_dir(void)
{
    char *argv[] = {"rm", "-rf", bench.work_dir, NULL};
    spawn_ns(argv, 1);
}

static const struct section {
    const char *name;
    void (*measure)(struct bench *bench);
    bool first; /* before this process has loaded an executor */
} sections[] = {
    {"loading", bench_loading, true},
    {"host_demo", bench_host_demo, true},
    {"blocks", bench_blocks, false},
    {"output", bench_output, false},
    {"sandbox", bench_sandbox_start, false},
    {"life_cycle", bench_life_cycle, false},
    {"pool", bench_pool, false},
    {"containers", bench_containers, false},
};

enum { SECTIONS = sizeof sections / sizeof sections[0] };

static bool is_wanted(const char *name, char **wanted)
{
    bool all = *wanted == NULL;
    for (; *wanted; wanted++)
        all = all || strcmp(*wanted, name) == 0;
    return all;
}

static void check_wanted(char **wanted)
{
    for (; *wanted; wanted++) {
        bool known = false;
        for (size_t i = 0; i < SECTIONS; i++)
            known = known || strcmp(sections[i].name, *wanted) == 0;
        if (known)
            continue;
        for (size_t i = 0; i < SECTIONS; i++)
            fprintf(stderr, "%s%s", i > 0 ? ", " : "bench: sections are ", sections[i].name);
        fprintf(stderr, "\n");
        fail("an unknown section");
    }
}

static void measure_sections(bool first, char **wanted)
{
    for (size_t i = 0; i < SECTIONS; i++)
        if (sections[i].first == first && is_wanted(sections[i].name, wanted))
            sections[i].measure(&bench);
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGPIPE, SIG_IGN);
    if (argc == 3 && strcmp(argv[1], "--hold") == 0)
        return hold(argv[2]);
    if (argc < 3)
        fail("usage: bench DOCKER_PEER.py IMAGE [SECTION...]");
    check_wanted(argv + 3);
    set_up(&bench, argv[2]);
    atexit(remove_work_dir);
    measure_sections(true, argv + 3);
    copy_spawner(&bench);
    open_executors(&bench);
    find_inside(&bench);
    start_peers(&bench, argv[1]);
    measure_sections(false, argv + 3);
    peer_end(&bench.spawner);
    peer_end(&bench.python);
    executor_close(&bench.docker);
    executor_close(&bench.local);
    executor_close(&bench.sandbox);
    printf("\n%d of these figures are over their budget.\n", over_budget());
    return 0;
}
