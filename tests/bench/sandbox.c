/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox.c: what starting a sandbox costs, beside bubblewrap alone: the first in a process, which prepares what
 * the later ones find ready, and a later one.
 */
#include "bench.h"
#include "spawn.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { START_ROUNDS = 25, MOST_ARGUMENTS = 128 };

static char *arguments[MOST_ARGUMENTS];
static int argument_count;

static void add(const char *words)
{
    char *copy = format("%s", words);
    char *rest = NULL;
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        if (argument_count + 1 < MOST_ARGUMENTS)
            arguments[argument_count++] = word;
}

/* What the host has of the system's folders: links as links, folders as mounts. */
static void add_folders(void)
{
    static const char *const paths[] = {"/usr",
                                        "/bin",
                                        "/sbin",
                                        "/lib",
                                        "/lib32",
                                        "/lib64",
                                        "/var/lib/ghc",
                                        "/etc/java",
                                        "/etc/fonts",
                                        "/etc/php",
                                        "/etc/R",
                                        "/etc/mono",
                                        "/etc/alternatives"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        char target[256] = "";
        struct stat status;
        if (readlink(paths[i], target, sizeof target - 1) > 0)
            add(format("--symlink %s %s", target, paths[i]));
        else if (stat(paths[i], &status) == 0)
            add(format("--ro-bind %s %s", paths[i], paths[i]));
    }
}

/* For root the sandbox covers what root alone may read, which an ordinary user could not read anyway. */
static void add_covers(void)
{
    static const char *const names[] = {"kpagecount", "kpageflags",  "kpagecgroup",
                                        "slabinfo",   "vmallocinfo", "timer_list"};
    for (size_t i = 0; geteuid() == 0 && i < sizeof names / sizeof names[0]; i++) {
        char *path = format("/proc/%s", names[i]);
        if (access(path, F_OK) == 0)
            add(format("--ro-bind /dev/null %s", path));
        free(path);
    }
}

/* The same walls, without a runner, limits, Landlock and seccomp. */
static void prepare_arguments(const struct bench *bench)
{
    add("bwrap --unshare-user --uid 1000 --gid 1000 --unshare-pid --as-pid-1 --unshare-ipc "
        "--unshare-uts --unshare-cgroup-try --unshare-net --new-session --cap-drop ALL");
    add_folders();
    add("--proc /proc");
    add_covers();
    add("--remount-ro /proc --dev /dev --tmpfs /dev/shm --tmpfs /tmp --tmpfs /home/sandbox");
    add(format("--bind %s /workspace", bench->work_dir));
    add("--remount-ro /dev --remount-ro / --chdir /workspace true");
}

static int64_t bubblewrap_alone(void *context)
{
    (void)context;
    return spawn_ns(arguments, 1);
}

static int64_t later_start(void *context)
{
    struct bench *bench = context;
    executor_stop(&bench->sandbox);
    return executor_start(&bench->sandbox);
}

/* In a process that has the plugin and has started nothing with it yet. */
static int64_t first_start(void *context)
{
    const struct bench *bench = context;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    char *config = format("{\"work_dir\": \"%s\"}", bench->work_dir);
    pid_t child = fork();
    if (child == 0) {
        struct executor sandbox;
        int64_t took = -1;
        if (executor_open(&sandbox, "sandbox", config))
            took = executor_start(&sandbox);
        (void)!write(ends[1], &took, sizeof took);
        executor_close(&sandbox);
        _exit(0);
    }
    close(ends[1]);
    int64_t took = -1;
    if (read(ends[0], &took, sizeof took) != (ssize_t)sizeof took)
        took = -1;
    close(ends[0]);
    int status;
    waitpid(child, &status, 0);
    free(config);
    return took;
}

void bench_sandbox_start(struct bench *bench)
{
    if (!bench->has_sandbox)
        return;
    prepare_arguments(bench);
    printf("\nStart of a sandbox\n");
    struct contender contenders[] = {
        {.name = "sandbox: the first start of a process", .once = first_start, .context = bench},
        {.name = "sandbox: a later start", .once = later_start, .context = bench},
        {.name = "bwrap … true", .once = bubblewrap_alone, .context = bench},
    };
    measure(contenders, 3, START_ROUNDS);
    report_ratio("first start / bwrap … true", ratio(&contenders[0], &contenders[2]), 1.3);
    report_ratio("later start / bwrap … true", ratio(&contenders[1], &contenders[2]), 1.3);
}
