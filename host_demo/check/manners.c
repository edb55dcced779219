/* SPDX-License-Identifier: Apache-2.0 */
/*
 * manners.c: rules about what an executor does to the process that it is in: nothing.
 */
#include "execution.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { DESCRIPTORS_MAX = 1024, SIGNAL_COUNT = 32 };

/* Whether the rule can have code run while it looks. */
static bool has_code(const struct subject *subject, enum probe_kind kind)
{
    return subject->probes.language != NULL && subject->probes.items[kind].code != NULL;
}

/* ------------------------------------------------------------------------------------------------
 * Descriptors and threads
 * --------------------------------------------------------------------------------------------- */

struct holdings {
    bool descriptors[DESCRIPTORS_MAX];
    size_t threads;
};

static size_t count_threads(void)
{
    size_t count = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *entry; tasks != NULL && (entry = readdir(tasks)) != NULL;)
        count += entry->d_name[0] != '.';
    if (tasks != NULL)
        closedir(tasks);
    return count;
}

static void take_stock(struct holdings *holdings)
{
    for (int i = 0; i < DESCRIPTORS_MAX; i++)
        holdings->descriptors[i] = fcntl(i, F_GETFD) >= 0;
    holdings->threads = count_threads();
}

static void name_descriptor(int descriptor, char *buffer, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(path, buffer, size - 1);
    buffer[length < 0 ? 0 : length] = '\0';
}

static void check_close_on_exec(struct subject *subject, const struct holdings *before)
{
    for (int i = 0; i < DESCRIPTORS_MAX; i++) {
        int flags = fcntl(i, F_GETFD);
        char name[200];
        if (before->descriptors[i] || flags < 0 || (flags & FD_CLOEXEC) != 0)
            continue;
        name_descriptor(i, name, sizeof name);
        saw(subject, "descriptor %d (%s) is not", i, name);
    }
}

void rule_closes_on_exec(struct subject *subject)
{
    struct holdings before;
    struct execution execution;
    take_stock(&before);
    code_executor_instance *instance = load_and_start(subject);
    if (has_code(subject, PROBE_WAIT)) {
        execution_prepare(&execution, subject, instance, 1);
        execution_add(&execution, PROBE_WAIT);
        execution_begin(&execution);
    }
    expect(subject, "every descriptor is close-on-exec while the environment is up");
    check_close_on_exec(subject, &before);
    must_stop(subject, instance);
    if (has_code(subject, PROBE_WAIT)) {
        execution_end(&execution);
        execution_free(&execution);
    }
    destroy(subject, instance);
}

static void check_left(struct subject *subject, const struct holdings *before)
{
    static const struct timespec moment = {.tv_nsec = 10000000};
    struct holdings after;
    expect(subject, "after destroy the descriptors that there were before load");
    take_stock(&after);
    for (int i = 0; i < DESCRIPTORS_MAX; i++) {
        char name[200];
        if (!after.descriptors[i] || before->descriptors[i])
            continue;
        name_descriptor(i, name, sizeof name);
        saw(subject, "descriptor %d (%s) too", i, name);
    }
    expect(subject, "after destroy as many threads as before load, %zu", before->threads);
    /* The kernel takes a moment to forget a thread that was joined. */
    for (int i = 0; i < 200 && count_threads() > before->threads; i++)
        nanosleep(&moment, NULL);
    if (count_threads() > before->threads)
        saw(subject, "%zu", count_threads());
}

void rule_leaves_nothing(struct subject *subject)
{
    struct holdings before;
    take_stock(&before);
    subject_load(subject);
    for (int i = 0; i < 2; i++) {
        code_executor_instance *instance = must_create(subject);
        must_start(subject, instance);
        if (has_code(subject, PROBE_PRINT))
            must_print(subject, instance, 1);
        destroy(subject, instance);
        check_left(subject, &before);
    }
}

/* ------------------------------------------------------------------------------------------------
 * The rest of the process
 * --------------------------------------------------------------------------------------------- */

static void check_no_child(struct subject *subject, const char *when)
{
    int waited = 0;
    expect(subject, "wait has nothing to wait for %s", when);
    pid_t child = waitpid(-1, &waited, WNOHANG);
    if (child > 0)
        saw(subject, "a child that has ended, process %d", (int)child);
    if (child == 0 || errno != ECHILD)
        saw(subject, "a child that runs");
}

void rule_hides_children(struct subject *subject)
{
    code_executor_instance *instance = load_and_start(subject);
    check_no_child(subject, "while the environment is up");
    if (has_code(subject, PROBE_PRINT))
        must_print(subject, instance, 1);
    check_no_child(subject, "behind a block");
    destroy(subject, instance);
    check_no_child(subject, "behind destroy");
}

struct state_of_process {
    struct sigaction actions[SIGNAL_COUNT];
    sigset_t mask;
    char folder[4096];
    mode_t mask_of_files;
    char **environment; /* its own vector, of the process's strings */
    size_t variables;
    int subreaper;
};

static void look(struct state_of_process *state)
{
    memset(state, 0, sizeof *state);
    for (int i = 1; i < SIGNAL_COUNT; i++)
        sigaction(i, NULL, &state->actions[i]);
    pthread_sigmask(SIG_BLOCK, NULL, &state->mask);
    if (getcwd(state->folder, sizeof state->folder) == NULL)
        state->folder[0] = '\0';
    state->mask_of_files = umask(022);
    umask(state->mask_of_files);
    while (environ[state->variables] != NULL)
        state->variables++;
    state->environment = calloc(state->variables + 1, sizeof *state->environment);
    for (size_t i = 0; state->environment != NULL && i < state->variables; i++)
        state->environment[i] = strdup(environ[i]);
    prctl(PR_GET_CHILD_SUBREAPER, &state->subreaper);
}

static void compare(struct subject *subject, const struct state_of_process *before,
                    const struct state_of_process *after)
{
    for (int i = 1; i < SIGNAL_COUNT; i++) {
        expect(subject, "what signal %d (SIG%s) does stays", i, sigabbrev_np(i));
        if (before->actions[i].sa_handler != after->actions[i].sa_handler)
            saw(subject, "another handler");
    }
    for (int i = 1; i < SIGNAL_COUNT; i++) {
        expect(subject, "whether signal %d (SIG%s) is blocked stays", i, sigabbrev_np(i));
        if (sigismember(&before->mask, i) != sigismember(&after->mask, i))
            saw(subject, "it is %s", sigismember(&after->mask, i) == 1 ? "blocked" : "not blocked");
    }
    expect(subject, "the working directory stays %.200s", before->folder);
    if (strcmp(before->folder, after->folder) != 0)
        saw(subject, "%.400s", after->folder);
    expect(subject, "the umask stays %03o", (unsigned)before->mask_of_files);
    if (before->mask_of_files != after->mask_of_files)
        saw(subject, "%03o", (unsigned)after->mask_of_files);
    expect(subject, "the environment stays");
    for (size_t i = 0; i < before->variables || i < after->variables; i++) {
        if (i >= after->variables || i >= before->variables ||
            strcmp(before->environment[i], after->environment[i]) != 0)
            saw(subject, "%.200s",
                i < after->variables ? after->environment[i] : before->environment[i]);
    }
    expect(subject, "whether the host is a subreaper stays");
    if (before->subreaper != after->subreaper)
        saw(subject, "it is %d", after->subreaper);
}

void rule_changes_nothing(struct subject *subject)
{
    struct state_of_process before, meanwhile, after;
    look(&before);
    code_executor_instance *instance = load_and_start(subject);
    if (has_code(subject, PROBE_PRINT))
        must_print(subject, instance, 1);
    look(&meanwhile);
    compare(subject, &before, &meanwhile);
    destroy(subject, instance);
    look(&after);
    compare(subject, &before, &after);
}

void rule_prints_nothing(struct subject *subject)
{
    char text[200] = "";
    code_executor_instance *refused = NULL;
    code_executor_instance *instance = load_and_start(subject);
    subject->table->create(NULL, "nonsense", &refused, NULL);
    if (has_code(subject, PROBE_PRINT))
        must_print(subject, instance, 1);
    must_restart(subject, instance);
    destroy(subject, instance);
    code_executor_plugin_unload(subject->plugin);
    fflush(NULL);
    expect(subject, "nothing is printed");
    ssize_t length = pread(subject->words, text, sizeof text - 1, 0);
    if (length > 0)
        saw(subject, "%s", quoted(text, (size_t)length));
}

/* ------------------------------------------------------------------------------------------------
 * A forked host, and unloading
 * --------------------------------------------------------------------------------------------- */

static void must_be_unsupported(struct subject *subject, const char *call, int32_t status,
                                const code_executor_error *error)
{
    step(subject, call);
    expect(subject, "%s returns unsupported in a forked child of the host", call);
    if (status != CODE_EXECUTOR_UNSUPPORTED)
        saw_status(subject, status, error);
}

static _Noreturn void call_in_fork(struct subject *subject, code_executor_instance *instance)
{
    static const code_executor_block block = {sizeof block, "none", "", 0};
    static const code_executor_block *const blocks[] = {&block};
    const code_executor_request request = {
        .struct_size = sizeof request, .blocks = blocks, .block_count = 1, .execution_id = 99};
    const code_executor_v1 *table = subject->table;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    code_executor_result *result = NULL;
    char *json = NULL;
    must_be_unsupported(subject, "start", table->start(instance, &error), &error);
    must_be_unsupported(subject, "stop", table->stop(instance, &error), &error);
    must_be_unsupported(subject, "restart", table->restart(instance, &error), &error);
    must_be_unsupported(subject, "execute", table->execute(instance, &request, &result, &error),
                        &error);
    must_be_unsupported(subject, "cancel", table->cancel(instance, 0, &error), &error);
    must_be_unsupported(subject, "describe", table->describe(instance, &json, &error), &error);
    step(subject, "destroy in a forked child");
    table->destroy(instance);
    _exit(0);
}

void rule_forked_host(struct subject *subject)
{
    int waited = 0;
    code_executor_instance *instance = load_and_start(subject);
    expect(subject, "calls return in a forked child of the host");
    pid_t child = fork();
    if (child == 0)
        call_in_fork(subject, instance);
    if (child < 0 || waitpid(child, &waited, 0) != child)
        not_applicable(subject, "the host cannot fork");
    if (subject->report->verdict != VERDICT_NONE)
        _exit(0); /* the fork has said what it saw */
    if (waited != 0) {
        saw(subject, "the child was ended by signal %d in %s",
            WIFSIGNALED(waited) ? WTERMSIG(waited) : 0, subject->report->step);
    }
    must_be_in_state(subject, instance, "started");
    if (has_code(subject, PROBE_PRINT))
        must_print(subject, instance, 1);
    destroy(subject, instance);
}

void rule_unloads(struct subject *subject)
{
    static const struct timespec moment = {.tv_nsec = 50000000};
    for (int i = 0; i < 3; i++) {
        subject->config.length = 0;
        code_executor_instance *instance = load_and_start(subject);
        if (has_code(subject, PROBE_PRINT))
            must_print(subject, instance, 1);
        destroy(subject, instance);
        step(subject, "dlclose");
        expect(subject, "the plugin can be unloaded: no thread of it runs any more");
        code_executor_plugin_unload(subject->plugin);
        nanosleep(&moment, NULL);
    }
}
