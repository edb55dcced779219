/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox.c: the `sandbox` executor, which isolates what it runs without a daemon. A launcher (see
 * commandline.h) for the runner, with bubblewrap before it:
 *
 *     host ──socket──────────────────────────────────────────┐
 *       └─▶ bwrap (watches; outside) ─▶ sandbox_enter ─▶ runner, process 1 inside ─▶ the code
 *            namespaces, mounts     cgroup, Landlock,  one for each instance
 *                                           seccomp
 *
 *     options.c         the configuration
 *     prerequisites.c mount_list.c   programs and folders of the host that a start needs
 *     mounts.c          what is seen of the file system
 *     command.c         the command line of bubblewrap, namespaces
 *     filter.c          which system calls are refused
 *     resource_limits.c cgroup.c cgroup_places.c   memory, processors, processes
 *     enter.c           a program of its own: takes on limits, Landlock and seccomp, becomes the runner
 *     diagnosis.c       why it does not work here, in words
 *
 * The end. Whoever ends a sandbox (stop, a host that exits or is killed) closes the socket. The runner
 * reads end-of-file and exits; as process 1 of its namespace it takes every other process in it along, and
 * the kernel lets it go only when they are gone. So when process 1 has ended, nothing is left, and that is
 * what shut_down waits for. A process 1 that does not end is killed from outside, which nothing inside
 * can prevent.
 *
 * Invariants. No process inside has a descriptor of the host's but its own pipes, an environment of
 * the host's, or a capability. A start that fails leaves no process, no cgroup and no descriptor.
 */
#include "command.h"
#include "commandline.h"
#include "diagnosis.h"
#include "filter.h"
#include "fork_guard.h"
#include "helper_process.h"
#include "options.h"
#include "prerequisites.h"
#include "resource_limits.h"
#include "socket_transport.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* How long a start may take, one that is given up, the end of process 1 by itself, and its death by SIGKILL.
 * Far above what is ever needed: a slow disk is no failure. */
#define START_MS   60000
#define GIVE_UP_MS 2000
#define END_MS     5000
#define DEATH_MS   10000

typedef struct sandbox {
    sandbox_options options;
    unsigned char *filter; /* built by the first launch, while bubblewrap is at work */
    size_t filter_length;
    bool filter_pins; /* whether it keeps the choice of processors */

    helper_process bubblewrap;
    int first; /* pidfd of process 1 inside, or -1 */
    cgroup group;

    pthread_mutex_t lock; /* over what follows, which describe reads while launch runs */
    enum limit_means means[LIMITS];
    int landlock; /* its version, 0 for none */
} sandbox;

/* Descriptors of one launch. */
struct ends {
    int socket[2]; /* ours, the runner's */
    int ready[2];  /* ours, sandbox_enter's */
    int info[2];   /* ours, bubblewrap's */
    int filter[2]; /* ours, sandbox_enter's; a socket, for a pipe would raise SIGPIPE */
};

/* ------------------------------------------------------------------------------------------------
 * The end
 * --------------------------------------------------------------------------------------------- */

static bool wait_readable(int fd, int timeout_ms)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    int count;
    do
        count = poll(&ready, 1, timeout_ms);
    while (count < 0 && errno == EINTR);
    return count > 0;
}

/* Waits until all inside has ended, and kills it where PATIENCE_MS is over. */
static void end_processes(sandbox *self, int patience_ms)
{
    if (self->first >= 0) {
        if (!wait_readable(self->first, patience_ms)) {
            (void)syscall(SYS_pidfd_send_signal, self->first, SIGKILL, NULL, 0);
            (void)wait_readable(self->first, DEATH_MS);
        }
        patience_ms = DEATH_MS;
    }
    /* bubblewrap follows process 1. Where that is not known, its standard error is, which both have. */
    bool ended = self->first >= 0 ? helper_process_wait(&self->bubblewrap, patience_ms)
                                  : helper_process_wait_all(&self->bubblewrap, patience_ms);
    if (!ended)
        helper_process_kill(&self->bubblewrap);
}

/* Ends and removes everything that launch made. */
static void tear_down(sandbox *self, const launch_context *context, int patience_ms)
{
    if (self->bubblewrap.words >= 0)
        end_processes(self, patience_ms);
    helper_process_close(&self->bubblewrap);
    fork_guard_close(self->first);
    self->first = -1;
    if (!cgroup_remove(&self->group))
        launch_log(context, CODE_EXECUTOR_LOG_WARNING,
                   "an empty cgroup could not be removed; the next sandbox tries again");
}

/* ------------------------------------------------------------------------------------------------
 * The start
 * --------------------------------------------------------------------------------------------- */

static int32_t prepare_filter(sandbox *self, code_executor_error *error)
{
    bool pins = self->means[LIMIT_PROCESSORS] == MEANS_PROCESSORS;
    if (!self->options.seccomp || (self->filter && self->filter_pins == pins))
        return CODE_EXECUTOR_OK;
    free(self->filter);
    self->filter = NULL;
    self->filter_pins = pins;
    return filter_build(pins, &self->filter, &self->filter_length, error);
}

static int32_t impose_limits(sandbox *self, const launch_context *context, const mount_list *mounts,
                             code_executor_error *error)
{
    enum limit_means means[LIMITS];
    int32_t status = limits_impose(&self->options, mounts, means, &self->group, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    pthread_mutex_lock(&self->lock);
    memcpy(self->means, means, sizeof means);
    pthread_mutex_unlock(&self->lock);
    for (int i = 0; i < LIMITS; i++) {
        const char *words = limit_shortcoming(&self->options, (enum limit)i, means[i]);
        if (words)
            launch_log(context, CODE_EXECUTOR_LOG_WARNING, "%s", words);
    }
    return CODE_EXECUTOR_OK;
}

static void close_ends(struct ends *ends)
{
    int *all[] = {&ends->socket[0], &ends->socket[1], &ends->ready[0],  &ends->ready[1],
                  &ends->info[0],   &ends->info[1],   &ends->filter[0], &ends->filter[1]};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        fork_guard_close(*all[i]);
        *all[i] = -1;
    }
}

static int32_t open_ends(struct ends *ends, code_executor_error *error)
{
    *ends = (struct ends){{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
    if (fork_guard_socketpair(ends->socket) == 0 && fork_guard_pipe(ends->ready) == 0 &&
        fork_guard_pipe(ends->info) == 0 && fork_guard_socketpair(ends->filter) == 0)
        return CODE_EXECUTOR_OK;
    int errnum = errno;
    close_ends(ends);
    return error_set_errno(error, CODE_EXECUTOR_UNAVAILABLE, errnum, "cannot start the sandbox");
}

static int32_t start_bubblewrap(sandbox *self, const launch_context *context,
                                const prerequisites *found, const struct ends *ends,
                                code_executor_error *error)
{
    command_parts parts = {.found = found,
                           .work_dir = context->work_dir,
                           .runner = context->runner_path,
                           .means = self->means,
                           .group = &self->group,
                           .filter = self->options.seccomp ? ends->filter[1] : -1,
                           .ready = ends->ready[1],
                           .info = {ends->info[0], ends->info[1]}};
    command_line line;
    int32_t status = command_build(&self->options, &parts, &line, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    helper_process_group groups[CGROUP_CONTROLLERS];
    helper_process_options options = {.program = found->bubblewrap,
                                      .arguments = (const char *const *)line.words,
                                      .environment = command_environment,
                                      .folder = "/",
                                      .input = ends->socket[1],
                                      .output = ends->socket[1],
                                      .files = line.files,
                                      .file_count = line.file_count,
                                      .groups = groups,
                                      .group_count = self->group.folder_count};
    int errnum = cgroup_open(&self->group, groups);
    status = errnum ? error_set_errno(error, CODE_EXECUTOR_IO, errnum, "cannot open the cgroup")
                    : helper_process_start(&options, &self->bubblewrap, error);
    cgroup_close(&self->group, groups);
    command_free(&line);
    return status;
}

/*
 * Reads from FD up to and with the character LAST into TEXT, or to the end of the file. A TEXT without LAST
 * says that the other side ended before. bubblewrap's own end is watched too: a process 1 that it leaves
 * behind, waiting for its word, keeps the file open for ever.
 */
static int32_t read_up_to(const sandbox *self, const launch_context *context, int fd, char last,
                          char *text, size_t size, code_executor_error *error)
{
    size_t length = 0;
    *text = '\0';
    while (length + 1 < size && !strchr(text, last)) {
        struct pollfd ready[3] = {{.fd = fd, .events = POLLIN},
                                  {.fd = context->cancel_fd, .events = POLLIN},
                                  {.fd = self->bubblewrap.pidfd, .events = POLLIN}};
        int count = poll(ready, 3, START_MS);
        if (count < 0 && errno == EINTR)
            continue;
        if (launch_cancelled(context))
            return error_set(error, CODE_EXECUTOR_CANCELLED, "the start was cancelled");
        if (count <= 0)
            return error_set(error, CODE_EXECUTOR_TIMED_OUT,
                             "bubblewrap did not start anything within %d seconds",
                             START_MS / 1000);
        if (!ready[0].revents && ready[2].revents)
            break;
        if (!ready[0].revents)
            continue;
        ssize_t part = read(fd, text + length, size - 1 - length);
        if (part <= 0)
            break;
        length += (size_t)part;
        text[length] = '\0';
    }
    return CODE_EXECUTOR_OK;
}

/* bubblewrap ended before its time, or is about to. What it may leave behind is killed, process 1 above all:
 * known by its descriptor, or else still in bubblewrap's process group. */
static int32_t report_failure(sandbox *self, code_executor_error *error)
{
    char words[512];
    (void)helper_process_wait(&self->bubblewrap, GIVE_UP_MS);
    if (self->first >= 0)
        (void)syscall(SYS_pidfd_send_signal, self->first, SIGKILL, NULL, 0);
    helper_process_kill(&self->bubblewrap);
    (void)helper_process_wait_all(&self->bubblewrap, DEATH_MS);
    return diagnose_failure("", helper_process_words(&self->bubblewrap, words, sizeof words),
                            error);
}

/*
 * Gets hold of process 1 inside, whose number bubblewrap tells as soon as there is one. The number cannot mean
 * another process yet: process 1 waits for its filter, and the kernel gives out all other numbers first.
 */
static int32_t adopt_first(sandbox *self, const launch_context *context, const struct ends *ends,
                           code_executor_error *error)
{
    char text[512];
    int32_t status = read_up_to(self, context, ends->info[0], '}', text, sizeof text, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    static const char key[] = "\"child-pid\":";
    const char *at = strstr(text, key);
    long pid = at ? strtol(at + sizeof key - 1, NULL, 10) : 0;
    if (pid <= 0)
        return report_failure(self, error);
    fork_guard_enter();
    self->first = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0u);
    fork_guard_add(self->first);
    fork_guard_leave();
    return CODE_EXECUTOR_OK;
}

/* Where the other side has ended it will be found so. */
static void send_filter(const sandbox *self, struct ends *ends)
{
    size_t sent = 0;
    bool going = self->options.seccomp;
    while (going && sent < self->filter_length) {
        ssize_t part =
            send(ends->filter[0], self->filter + sent, self->filter_length - sent, MSG_NOSIGNAL);
        sent += part > 0 ? (size_t)part : 0;
        going = part > 0 || errno == EINTR;
    }
    fork_guard_close(ends->filter[0]);
    ends->filter[0] = -1;
}

/* Waits for sandbox_enter's line: "1 VERSION" or "0 WORDS". */
static int32_t await_runner(sandbox *self, const launch_context *context, int ready,
                            code_executor_error *error)
{
    char line[600];
    int32_t status = read_up_to(self, context, ready, '\n', line, sizeof line, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    line[strcspn(line, "\n")] = '\0';
    if (line[0] == '0')
        return error_set(error, CODE_EXECUTOR_UNAVAILABLE, "cannot start the sandbox: %s",
                         line + 2);
    if (line[0] != '1')
        return report_failure(self, error);
    int landlock = atoi(line + 1);
    pthread_mutex_lock(&self->lock);
    self->landlock = landlock;
    pthread_mutex_unlock(&self->lock);
    if (landlock == 0)
        launch_log(context, CODE_EXECUTOR_LOG_INFO,
                   "this kernel has no Landlock: the sandbox has one wall less");
    return CODE_EXECUTOR_OK;
}

/* What became of it, for the session that found the connection closed. */
static bool explain(void *state, code_executor_error *error)
{
    sandbox *self = state;
    char words[512];
    const char *fate = "the sandbox closed the connection";
    if (helper_process_wait(&self->bubblewrap, 1000))
        fate = "the sandbox has ended: its first process was killed";
    bool out_of_memory = cgroup_ran_out_of_memory(&self->group);
    if (out_of_memory)
        fate =
            "the sandbox ran out of the memory that it may use, and its first process was killed";
    helper_process_words(&self->bubblewrap, words, sizeof words);
    error_set(error, CODE_EXECUTOR_LOST, "%s%s%s", fate, *words ? "; last words: " : "", words);
    return out_of_memory;
}

static int32_t start(sandbox *self, const launch_context *context, const prerequisites *found,
                     struct ends *ends, code_executor_error *error)
{
    int32_t status = impose_limits(self, context, &found->mounts, error);
    if (status == CODE_EXECUTOR_OK)
        status = start_bubblewrap(self, context, found, ends, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    /* Only the other sides' copies are left, so that their end is seen. */
    int *theirs[] = {&ends->socket[1], &ends->ready[1], &ends->info[1], &ends->filter[1]};
    for (size_t i = 0; i < sizeof theirs / sizeof theirs[0]; i++) {
        fork_guard_close(*theirs[i]);
        *theirs[i] = -1;
    }
    status = prepare_filter(self, error);
    if (status == CODE_EXECUTOR_OK)
        status = adopt_first(self, context, ends, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    send_filter(self, ends);
    return await_runner(self, context, ends->ready[0], error);
}

static int32_t launch_with(sandbox *self, const launch_context *context, const prerequisites *found,
                           launched *made, code_executor_error *error)
{
    struct ends ends;
    int32_t status = open_ends(&ends, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    made->folder = strdup(SANDBOX_WORKSPACE);
    made->binds_work_dir = true;
    status = made->folder ? start(self, context, found, &ends, error)
                          : error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory to start");
    if (status == CODE_EXECUTOR_OK) {
        made->transport = socket_transport_create(ends.socket[0], explain, self);
        ends.socket[0] = -1;
        if (!made->transport)
            status = error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory to start");
    }
    close_ends(&ends);
    if (status != CODE_EXECUTOR_OK) {
        /* All our ends are closed, so that it ends by itself. Killing bubblewrap at the wrong moment would
         * leave a process 1 behind that waits for its word. */
        tear_down(self, context, GIVE_UP_MS);
        free(made->folder);
        made->folder = NULL;
    }
    return status;
}

static int32_t sandbox_launch(void *state, const launch_context *context, launched *made,
                              code_executor_error *error)
{
    sandbox *self = state;
    prerequisites found;
    int32_t status = prerequisites_find(&self->options, context, &found, error);
    if (status == CODE_EXECUTOR_OK)
        status = launch_with(self, context, &found, made, error);
    prerequisites_free(&found);
    return status;
}

static int32_t sandbox_shut_down(void *state, const launch_context *context, bool lost,
                                 code_executor_error *error)
{
    tear_down(state, context, lost ? 0 : END_MS);
    return error_clear(error);
}

/* What code left in the private folders goes with the sandbox alone. */
static bool sandbox_restart_relaunches(void *state)
{
    (void)state;
    return true;
}

/* ------------------------------------------------------------------------------------------------
 * Configuration and description
 * --------------------------------------------------------------------------------------------- */

static void sandbox_destroy(void *state)
{
    sandbox *self = state;
    sandbox_options_free(&self->options);
    free(self->filter);
    pthread_mutex_destroy(&self->lock);
    free(self);
}

static int32_t sandbox_configure(const launch_context *context, json_object *config, void **state,
                                 code_executor_error *error)
{
    (void)context;
    sandbox *self = calloc(1, sizeof *self);
    if (!self)
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory for the sandbox");
    self->bubblewrap = (helper_process)HELPER_PROCESS_INIT;
    self->first = -1;
    int32_t status = sandbox_options_read(config, &self->options, error);
    if (status != CODE_EXECUTOR_OK) {
        free(self);
        return status;
    }
    pthread_mutex_init(&self->lock, NULL);
    *state = self;
    return CODE_EXECUTOR_OK;
}

/* {"limit": VALUE, "by": "cgroup v2"}, or null where there is no limit. */
static void describe_limit(json_object *limits, const char *key, json_object *value,
                           enum limit limit, enum limit_means means)
{
    if (means == MEANS_UNLIMITED) {
        json_object_put(value);
        json_object_object_add(limits, key, NULL);
        return;
    }
    json_object *entry = json_object_new_object();
    json_object_object_add(entry, "limit", value);
    json_object_object_add(entry, "by", json_object_new_string(limit_means_name(limit, means)));
    json_object_object_add(limits, key, entry);
}

static void describe_limits(const sandbox_options *options, const enum limit_means means[LIMITS],
                            json_object *description)
{
    json_object *limits = json_object_new_object();
    describe_limit(limits, "memory", json_object_new_int64((int64_t)options->memory), LIMIT_MEMORY,
                   means[LIMIT_MEMORY]);
    describe_limit(limits, "cpus", json_object_new_double(options->processors), LIMIT_PROCESSORS,
                   means[LIMIT_PROCESSORS]);
    describe_limit(limits, "pids", json_object_new_int64((int64_t)options->pids), LIMIT_PIDS,
                   means[LIMIT_PIDS]);
    json_object_object_add(limits, "tmpfs_size",
                           json_object_new_int64((int64_t)options->tmpfs_bytes));
    json_object_object_add(description, "limits", limits);
}

static void sandbox_describe(void *state, bool started, json_object *description)
{
    sandbox *self = state;
    enum limit_means means[LIMITS];
    int landlock = 0;
    if (started) {
        pthread_mutex_lock(&self->lock);
        memcpy(means, self->means, sizeof means);
        landlock = self->landlock;
        pthread_mutex_unlock(&self->lock);
    } else {
        limits_foresee(&self->options, means);
    }
    char isolation[256];
    snprintf(isolation, sizeof isolation,
             "bubblewrap: namespaces for users, mounts, processes, IPC, host name, cgroups%s%s%s",
             self->options.host_network ? ", but the host's network" : " and network",
             self->options.seccomp ? "; seccomp" : "", landlock ? "; Landlock" : "");
    json_object_object_add(description, "isolation", json_object_new_string(isolation));
    json_object *engine = json_object_new_object();
    json_object_object_add(engine, "name", json_object_new_string("bubblewrap"));
    json_object_object_add(engine, "seccomp", json_object_new_boolean(self->options.seccomp));
    json_object_object_add(engine, "landlock", started ? json_object_new_int(landlock) : NULL);
    json_object_object_add(description, "engine", engine);
    json_object_object_add(description, "network",
                           json_object_new_string(self->options.host_network ? "host" : "none"));
    describe_limits(&self->options, means, description);
}

static const commandline_launcher sandbox_launcher = {
    .configure = sandbox_configure,
    .launch = sandbox_launch,
    .shut_down = sandbox_shut_down,
    .restart_relaunches = sandbox_restart_relaunches,
    .describe = sandbox_describe,
    .destroy = sandbox_destroy,
};

CODE_EXECUTOR_COMMANDLINE_PLUGIN(sandbox_launcher, "sandbox", CODE_EXECUTOR_PROJECT_VERSION,
                                 "Runs code on this machine, isolated by bubblewrap: no daemon, no "
                                 "image, no network unless allowed.",
                                 SANDBOX_SCHEMA);
