/* SPDX-License-Identifier: Apache-2.0 */
/* loading.c: what loading a plugin costs, and what host_demo takes of memory. */
#include "bench.h"
#include "spawn.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOAD_ROUNDS = 25, MOST_LIBRARIES = 32 };

extern char **environ;

typedef struct load_case {
    char *plugin;
    char *libraries[MOST_LIBRARIES]; /* that it links, by name */
    int library_count;
} load_case;

/* In a process of its own, since a library that was once loaded need not be loaded again. */
static int64_t in_child(int64_t (*measured)(const load_case *), const load_case *one)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    pid_t child = fork();
    if (child == 0) {
        int64_t took = measured(one);
        _exit(write(ends[1], &took, sizeof took) == (ssize_t)sizeof took ? 0 : 1);
    }
    close(ends[1]);
    int64_t took = -1;
    if (read(ends[0], &took, sizeof took) != (ssize_t)sizeof took)
        took = -1;
    close(ends[0]);
    int status;
    waitpid(child, &status, 0);
    return took;
}

static int64_t open_libraries(const load_case *one)
{
    int64_t began = now_ns();
    for (int i = 0; i < one->library_count; i++)
        if (dlopen(one->libraries[i], RTLD_NOW | RTLD_LOCAL) == NULL)
            return -1;
    return now_ns() - began;
}

static int64_t open_plugin(const load_case *one)
{
    code_executor_plugin *plugin = NULL;
    int64_t began = now_ns();
    if (code_executor_plugin_load(one->plugin, &plugin, NULL) != CODE_EXECUTOR_OK)
        return -1;
    return now_ns() - began;
}

static int64_t load_libraries(void *context)
{
    return in_child(open_libraries, context);
}

static int64_t load_plugin(void *context)
{
    return in_child(open_plugin, context);
}

/* Read with readelf: nothing may be loaded in this process, which the children are copies of. */
static void find_libraries(load_case *one)
{
    char *command = format("readelf -dW '%s'", one->plugin);
    FILE *lines = popen(command, "re");
    char line[512];
    while (lines != NULL && fgets(line, sizeof line, lines) != NULL) {
        char *name = strstr(line, "(NEEDED)") != NULL ? strchr(line, '[') : NULL;
        if (name != NULL && one->library_count < MOST_LIBRARIES) {
            name[strcspn(name, "]")] = '\0';
            one->libraries[one->library_count++] = format("%s", name + 1);
        }
    }
    if (lines == NULL || pclose(lines) != 0)
        fail("readelf cannot read a plugin");
    free(command);
}

static void bench_loading_one(const struct bench *bench, const char *name)
{
    load_case one = {.plugin = format("%s/../lib/code_executor/%s.so", bench->folder, name)};
    find_libraries(&one);
    char *libraries = format("dlopen of the libraries that %s links", name);
    struct contender contenders[] = {
        {.name = name, .once = load_plugin, .context = &one},
        {.name = libraries, .once = load_libraries, .context = &one},
    };
    measure(contenders, 2, LOAD_ROUNDS);
    must(&contenders[0]);
    report_amount("loading it, above its libraries",
                  contenders[0].median_ms - contenders[1].median_ms, "ms", 5);
    for (int i = 0; i < one.library_count; i++)
        free(one.libraries[i]);
    free(libraries);
    free(one.plugin);
}

/* Before any executor is opened. */
void bench_loading(struct bench *bench)
{
    printf("\nLoading a plugin\n");
    bench_loading_one(bench, "local");
    bench_loading_one(bench, "docker");
}

void bench_host_demo(struct bench *bench)
{
    printf("\nhost_demo\n");
    char *message = format("%s/message.md", bench->work_dir);
    FILE *file = fopen(message, "we");
    if (file == NULL || fputs("```sh\necho hello\n```\n", file) < 0 || fclose(file) != 0)
        fail("cannot write a message");
    char *program = format("%s/host_demo", bench->folder);
    char *argv[] = {program, "run", "--quiet", "-e", "local", message, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    pid_t child;
    int status = 0;
    struct rusage usage;
    if (posix_spawn(&child, program, &actions, NULL, argv, environ) != 0 ||
        wait4(child, &status, 0, &usage) != child || status != 0)
        fail("host_demo did not run");
    posix_spawn_file_actions_destroy(&actions);
    report_amount("peak resident memory of `run` on local", (double)usage.ru_maxrss / 1024, "MiB",
                  16);
    free(program);
    free(message);
}
