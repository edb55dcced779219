/* SPDX-License-Identifier: Apache-2.0 */
/*
 * execution.c: see execution.h; the theory of operation is in main.c.
 *
 *     GATHERING ──SPAWN──▶ RUNNING ──report──────────────▶ DRAINING ──all sent──▶ BACKGROUND ─▶ freed
 *     (STDIN came)            │                               ▲       EXIT          (no number)
 *                             └─ supervisor died: ORPHANED ───┘
 *                                its tree is killed
 *
 * A record is freed when its supervisor has been reaped and its EXIT is sent. A supervisor that outlives
 * EXIT has processes in the background to look after; it reads their output from then on, not we.
 */
#include "execution.h"
#include "connection.h"
#include "kill_tree.h"
#include "memory_events.h"
#include "supervisor.h"
#include "system.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* A supervisor that has not reported this long after it had to is stopped, starved or stuck. */
#define OVERDUE_MS (2u * SUPERVISOR_PATIENCE_MS)
/* How long orphans that do not die are killed again and again. */
#define ORPHAN_PATIENCE_MS 5000u
#define PASS_PAUSE_MS      5u

struct stream {
    int descriptor; /* -1: end-of-file, or not ours any more */
    size_t left;    /* DRAINING: bytes that were there when the command had ended */
    bool enlarged;
};

struct execution {
    struct execution *next;
    uint32_t number; /* 0 in BACKGROUND */
    enum phase { GATHERING, RUNNING, ORPHANED, DRAINING, BACKGROUND } phase;
    pid_t supervisor; /* 0: reaped */
    int channel;      /* -1: closed */
    int input;        /* GATHERING: memfd, or -1 */
    size_t input_length;
    int input_error;
    struct stream streams[2];
    uint64_t credit;
    bool cancelled;   /* by KILL or RESET */
    bool resetting;   /* RESET_DONE waits for its supervisor's end */
    uint64_t overdue; /* when its supervisor must have done what it has to */
    bool held_up;     /* it had not, and was killed for it */
    uint64_t started;
    uint32_t timeout_ms;
    uint64_t memory_kills; /* when it started */
    struct supervisor_report report;
};

static struct execution *executions;
static uint32_t in_flight; /* records with an EXIT to come */
static bool ptrace_is_kept;
static uint32_t resets_pending;
static bool childless = true;

static struct {
    bool active;
    uint64_t deadline;
    struct tree_kill killing;
} orphans;

void executions_configure(bool keep_ptrace)
{
    ptrace_is_kept = keep_ptrace;
}

/* ------------------------------------------------------------------------------------------------
 * Records
 * --------------------------------------------------------------------------------------------- */

static struct execution *find_execution(uint32_t number)
{
    for (struct execution *execution = executions; execution; execution = execution->next)
        if (execution->number == number)
            return execution;
    return NULL;
}

static struct execution *add_execution(uint32_t number)
{
    struct execution *execution = calloc(1, sizeof *execution);
    if (!execution)
        return NULL;
    execution->number = number;
    execution->phase = GATHERING;
    execution->channel = -1;
    execution->input = -1;
    execution->streams[0].descriptor = -1;
    execution->streams[1].descriptor = -1;
    execution->overdue = NEVER;
    execution->next = executions;
    executions = execution;
    in_flight++;
    return execution;
}

static void close_descriptor(int *descriptor)
{
    if (*descriptor >= 0)
        close(*descriptor);
    *descriptor = -1;
}

static void free_execution(struct execution *execution)
{
    struct execution **link = &executions;
    while (*link != execution)
        link = &(*link)->next;
    *link = execution->next;
    close_descriptor(&execution->channel);
    close_descriptor(&execution->input);
    close_descriptor(&execution->streams[0].descriptor);
    close_descriptor(&execution->streams[1].descriptor);
    free(execution);
}

/* ------------------------------------------------------------------------------------------------
 * Frames to the host
 * --------------------------------------------------------------------------------------------- */

static void send_exit(struct execution *execution)
{
    const struct supervisor_report *report = &execution->report;
    size_t detail = strlen(report->detail);
    unsigned char *payload = connection_reserve(48 + detail);
    if (!payload)
        return;
    const uint32_t numbers[] = {report->how, report->exit_code, report->signal, report->error,
                                report->candidate};
    const uint64_t measures[] = {report->wall_ns, report->cpu_ns, report->peak_memory_bytes};
    unsigned char *at = payload;
    for (size_t i = 0; i < 5; i++, at += 4)
        put_u32(at, numbers[i]);
    for (size_t i = 0; i < 3; i++, at += 8)
        put_u64(at, measures[i]);
    put_u32(at, (uint32_t)detail);
    memcpy(at + 4, report->detail, detail);
    connection_queue((struct frame_header){(uint32_t)(at + 4 - payload) + (uint32_t)detail,
                                           FRAME_EXIT, 0, execution->number});
}

/* EXIT, and the number is free. */
static void finish(struct execution *execution)
{
    send_exit(execution);
    execution->number = 0;
    execution->phase = BACKGROUND;
    if (!execution->cancelled && !execution->resetting)
        execution->overdue = NEVER;
    in_flight--;
    struct supervisor_order order = {.kind = ORDER_DISCARD};
    if (execution->channel >= 0)
        (void)send(execution->channel, &order, sizeof order, MSG_NOSIGNAL | MSG_DONTWAIT);
    close_descriptor(&execution->streams[0].descriptor);
    close_descriptor(&execution->streams[1].descriptor);
    if (execution->supervisor == 0)
        free_execution(execution);
}

/*
 * Moves bytes from a command's pipe to the host, once. What may be read is bounded by the credit and,
 * when draining, by what was there at the command's end.
 */
static void pump(struct execution *execution, int index)
{
    struct stream *stream = &execution->streams[index];
    size_t size = OUTPUT_PAYLOAD_MAX;
    if (execution->phase == DRAINING && size > stream->left)
        size = stream->left;
    if (size > execution->credit)
        size = (size_t)execution->credit;
    if (stream->descriptor < 0 || size == 0 || !connection_has_room())
        return;
    unsigned char *payload = connection_reserve(size);
    if (!payload)
        return;
    ssize_t count = read(stream->descriptor, payload, size);
    if (count < 0 && errno == EINTR)
        return;
    if (count <= 0) {
        stream->left = 0; /* drained, also where the code has read from its own pipe */
        if (count == 0 || errno != EAGAIN)
            close_descriptor(&stream->descriptor);
        return;
    }
    connection_queue((struct frame_header){(uint32_t)count, FRAME_OUTPUT, (uint16_t)(index + 1),
                                           execution->number});
    execution->credit -= (uint64_t)count;
    if (execution->phase == DRAINING)
        stream->left -= (size_t)count;
    if (count == OUTPUT_PAYLOAD_MAX && !stream->enlarged) {
        /* It has filled its pipe; a larger one saves wake-ups. Only now: pipes count against a limit. */
        stream->enlarged = true;
        (void)fcntl(stream->descriptor, F_SETPIPE_SZ, 4 * (int)OUTPUT_PAYLOAD_MAX);
    }
    connection_flush();
}

/* ------------------------------------------------------------------------------------------------
 * Starting
 * --------------------------------------------------------------------------------------------- */

const char *execution_input(uint32_t number, const unsigned char *bytes, size_t length)
{
    struct execution *execution = find_execution(number);
    if (!execution && in_flight < 2 * EXECUTIONS_MAX)
        execution = add_execution(number);
    if (!execution)
        return "too many executions, or no memory for one more";
    if (execution->phase != GATHERING)
        return "STDIN after SPAWN";
    if (length > INPUT_MAX - execution->input_length)
        return "too much STDIN for one execution";
    execution->input_length += length;
    if (execution->input < 0 && execution->input_error == 0) {
        execution->input = memfd_create("stdin", MFD_CLOEXEC);
        if (execution->input < 0)
            execution->input_error = errno;
    }
    while (length > 0 && execution->input_error == 0) {
        ssize_t count = write(execution->input, bytes, length);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0) {
            execution->input_error = errno;
            break;
        }
        bytes += count;
        length -= (size_t)count;
    }
    return NULL;
}

/* The descriptor from which the command reads: what was gathered, or nothing. */
static int open_input(struct execution *execution)
{
    int input = execution->input;
    execution->input = -1;
    if (input >= 0 && lseek(input, 0, SEEK_SET) == 0)
        return input;
    if (input >= 0)
        close(input);
    input = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return input >= 0 ? input : memfd_create("stdin", MFD_CLOEXEC); /* a sandbox without /dev */
}

struct plumbing {
    int channel[2]; /* the runner's, the supervisor's */
    int pipes[2][2];
    int input;
};

static void close_plumbing(struct plumbing *plumbing)
{
    close_descriptor(&plumbing->channel[0]);
    close_descriptor(&plumbing->channel[1]);
    for (int i = 0; i < 2; i++) {
        close_descriptor(&plumbing->pipes[i][0]);
        close_descriptor(&plumbing->pipes[i][1]);
    }
    close_descriptor(&plumbing->input);
}

/* 0 or errno. */
static int lay_plumbing(struct execution *execution, struct plumbing *plumbing)
{
    *plumbing = (struct plumbing){{-1, -1}, {{-1, -1}, {-1, -1}}, -1};
    if (execution->input_error != 0)
        return execution->input_error;
    plumbing->input = open_input(execution);
    if (plumbing->input < 0 || pipe2(plumbing->pipes[0], O_CLOEXEC) != 0 ||
        pipe2(plumbing->pipes[1], O_CLOEXEC) != 0 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, plumbing->channel) != 0)
        return errno;
    for (int i = 0; i < 2; i++)
        if (fcntl(plumbing->pipes[i][0], F_SETFL, O_NONBLOCK) != 0)
            return errno;
    return 0;
}

static void not_started(struct execution *execution, int error, const char *doing)
{
    execution->report = (struct supervisor_report){
        .how = EXIT_NOT_STARTED, .error = (uint32_t)error, .candidate = CANDIDATE_NONE};
    snprintf(execution->report.detail, sizeof execution->report.detail, "%s: %s", doing,
             strerror(error));
    finish(execution);
}

static void start(struct execution *execution, const struct spawn_request *spawn)
{
    struct plumbing plumbing;
    int error = lay_plumbing(execution, &plumbing);
    if (error != 0) {
        close_plumbing(&plumbing);
        not_started(execution, error, "cannot make the pipes of a command");
        return;
    }
    struct supervisor_setup setup = {
        .runner = getpid(),
        .channel = plumbing.channel[1],
        .input = plumbing.input,
        .outputs = {plumbing.pipes[0][1], plumbing.pipes[1][1]},
        .taps = {plumbing.pipes[0][0], plumbing.pipes[1][0]},
        .keep_ptrace = ptrace_is_kept,
    };
    pid_t pid = fork();
    if (pid == 0)
        supervisor_main(&setup, spawn);
    error = errno;
    if (pid > 0) {
        execution->supervisor = pid;
        execution->phase = RUNNING;
        execution->channel = plumbing.channel[0];
        execution->streams[0].descriptor = plumbing.pipes[0][0];
        execution->streams[1].descriptor = plumbing.pipes[1][0];
        plumbing.channel[0] = plumbing.pipes[0][0] = plumbing.pipes[1][0] = -1;
    }
    close_plumbing(&plumbing);
    if (pid < 0)
        not_started(execution, error, "cannot start a process");
}

const char *execution_spawn(uint32_t number, const struct spawn_request *spawn)
{
    struct execution *execution = find_execution(number);
    if (execution && execution->phase != GATHERING)
        return "SPAWN for an execution that is running";
    if (!execution)
        execution = add_execution(number);
    if (!execution)
        return "no memory for an execution";
    if (in_flight > EXECUTIONS_MAX) {
        not_started(execution, EAGAIN, "too many executions at once");
        return NULL;
    }
    execution->credit = spawn->credit;
    execution->timeout_ms = spawn->timeout_ms;
    execution->started = now_ns();
    execution->memory_kills = memory_events_kills();
    if (spawn->timeout_ms != 0)
        execution->overdue =
            moment_after((uint64_t)spawn->timeout_ms + spawn->grace_ms + OVERDUE_MS);
    start(execution, spawn);
    return NULL;
}

void execution_credit(uint32_t number, uint32_t count)
{
    struct execution *execution = find_execution(number);
    if (execution)
        execution->credit += count;
}

/* ------------------------------------------------------------------------------------------------
 * Ending
 * --------------------------------------------------------------------------------------------- */

static bool killed_for_memory(const struct execution *execution)
{
    const struct supervisor_report *report = &execution->report;
    bool by_kernel = report->how == EXIT_SIGNALLED && report->signal == SIGKILL;
    bool says_shell = report->how == EXIT_EXITED && report->exit_code == 128 + SIGKILL;
    bool supervisor = report->how == EXIT_LOST;
    return (by_kernel || says_shell || supervisor) &&
           memory_events_kills() > execution->memory_kills;
}

/* What the report says, seen together with what we know. */
static void conclude(struct execution *execution)
{
    struct supervisor_report *report = &execution->report;
    if (report->how == EXIT_NOT_STARTED)
        return;
    if (execution->cancelled)
        report->how = EXIT_CANCELLED;
    else if (killed_for_memory(execution))
        report->how = EXIT_OUT_OF_MEMORY;
    if (report->how != EXIT_EXITED)
        report->exit_code = 0;
    if (report->how != EXIT_SIGNALLED)
        report->signal = 0;
}

static void order_kill(struct execution *execution, uint32_t signal, uint32_t grace_ms)
{
    struct supervisor_order order = {.kind = ORDER_KILL, .signal = signal, .grace_ms = grace_ms};
    if (execution->channel >= 0)
        (void)send(execution->channel, &order, sizeof order, MSG_NOSIGNAL | MSG_DONTWAIT);
    uint64_t overdue = moment_after((uint64_t)grace_ms + OVERDUE_MS);
    if (overdue < execution->overdue)
        execution->overdue = overdue;
}

void execution_kill(uint32_t number, uint32_t signal, uint32_t grace_ms)
{
    struct execution *execution = find_execution(number);
    if (!execution)
        return;
    if (execution->phase == GATHERING) {
        /* Nothing has been started, nothing is owed. */
        in_flight--;
        free_execution(execution);
        return;
    }
    execution->cancelled = true;
    order_kill(execution, signal, grace_ms);
    if (execution->phase != RUNNING)
        conclude(execution);
}

static void kill_orphans(void)
{
    if (!orphans.active)
        orphans.killing = (struct tree_kill){0};
    orphans.active = true;
    orphans.deadline = moment_after(ORPHAN_PATIENCE_MS);
}

void executions_reset(void)
{
    resets_pending++;
    for (struct execution *execution = executions; execution; execution = execution->next) {
        if (execution->phase == GATHERING)
            continue;
        execution->resetting = true;
        if (execution->number != 0)
            execution_kill(execution->number, SIGKILL, 0);
        else
            order_kill(execution, SIGKILL, 0);
    }
    kill_orphans();
}

/* The command has ended: what is in the pipes now is still its output, what comes later is not. */
static void begin_draining(struct execution *execution)
{
    execution->phase = DRAINING;
    for (int i = 0; i < 2; i++) {
        struct stream *stream = &execution->streams[i];
        int available = 0;
        if (stream->descriptor >= 0 && ioctl(stream->descriptor, FIONREAD, &available) == 0)
            stream->left = (size_t)available;
    }
}

static void take_report(struct execution *execution)
{
    struct supervisor_report report;
    ssize_t length = recv(execution->channel, &report, sizeof report, MSG_DONTWAIT);
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (length != (ssize_t)sizeof report) {
        close_descriptor(&execution->channel); /* it has exited; SIGCHLD says how */
        return;
    }
    if (execution->phase != RUNNING)
        return;
    execution->report = report;
    execution->report.detail[sizeof report.detail - 1] = '\0';
    conclude(execution);
    begin_draining(execution);
}

/*
 * Attack: the code has killed the process that watches over it. It and all that it started now belong
 * to us, and die.
 */
static void supervisor_lost(struct execution *execution)
{
    kill_orphans();
    if (execution->phase != RUNNING)
        return;
    execution->phase = ORPHANED;
    execution->report = (struct supervisor_report){
        .how = execution->held_up ? EXIT_TIMED_OUT : EXIT_LOST,
        .wall_ns = now_ns() - execution->started,
    };
    snprintf(execution->report.detail, sizeof execution->report.detail, "%s",
             execution->held_up ? "its supervisor was held up, presumably by the code"
                                : "its supervisor was killed, presumably by the code");
    conclude(execution);
}

static void supervisor_ended(struct execution *execution, int status)
{
    if (execution->channel >= 0)
        take_report(execution);
    execution->supervisor = 0;
    close_descriptor(&execution->channel);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || execution->phase == RUNNING)
        supervisor_lost(execution);
    if (execution->phase == BACKGROUND)
        free_execution(execution);
}

void executions_reap(void)
{
    for (;;) {
        int status = 0;
        pid_t pid = waitpid(-1, &status, WNOHANG | WUNTRACED | __WALL);
        if (pid < 0 && errno == EINTR)
            continue;
        childless = pid < 0;
        if (pid <= 0)
            return;
        struct execution *execution = executions;
        while (execution && execution->supervisor != pid)
            execution = execution->next;
        if (!execution)
            continue; /* an orphan that fell to us */
        if (WIFSTOPPED(status))
            (void)kill(pid, SIGCONT); /* attack: the code stops what would time it out */
        else
            supervisor_ended(execution, status);
    }
}

/* ------------------------------------------------------------------------------------------------
 * The main loop's view
 * --------------------------------------------------------------------------------------------- */

size_t executions_descriptors_max(void)
{
    size_t count = 0;
    for (struct execution *execution = executions; execution; execution = execution->next)
        count += 3;
    return count;
}

size_t executions_watch(struct pollfd *descriptors)
{
    size_t count = 0;
    bool room = connection_has_room();
    for (struct execution *execution = executions; execution; execution = execution->next) {
        bool hungry = room && execution->credit > 0 &&
                      (execution->phase == RUNNING || execution->phase == DRAINING);
        const int watched[] = {
            execution->channel,
            hungry ? execution->streams[0].descriptor : -1,
            hungry ? execution->streams[1].descriptor : -1,
        };
        for (int i = 0; i < 3; i++)
            descriptors[count++] = (struct pollfd){watched[i], POLLIN, 0};
    }
    return count;
}

void executions_polled(const struct pollfd *descriptors)
{
    for (struct execution *execution = executions; execution;
         execution = execution->next, descriptors += 3) {
        for (int i = 0; i < 2; i++)
            if (descriptors[1 + i].revents)
                pump(execution, i);
        if (descriptors[0].revents)
            take_report(execution);
    }
}

uint64_t executions_deadline(void)
{
    uint64_t deadline = orphans.active ? moment_after(PASS_PAUSE_MS) : NEVER;
    for (struct execution *execution = executions; execution; execution = execution->next)
        if (execution->supervisor != 0 && execution->overdue < deadline)
            deadline = execution->overdue;
    return deadline;
}

static void advance_draining(struct execution *execution)
{
    for (int i = 0; i < 2; i++) {
        size_t before;
        do {
            before = execution->streams[i].left;
            pump(execution, i);
        } while (execution->streams[i].left < before);
    }
    bool drained = execution->streams[0].left == 0 && execution->streams[1].left == 0;
    bool waits_for_host = !connection_has_room();
    /* A cancel must not hang on a host's thread that takes no more output. */
    if (drained || (execution->cancelled && execution->credit == 0 && !waits_for_host))
        finish(execution);
}

/* Orphans of supervisors that were killed; supervisors and what they watch over are left alone. */
static void advance_orphans(void)
{
    if (!orphans.active)
        return;
    size_t count = 0;
    for (struct execution *execution = executions; execution; execution = execution->next)
        count += execution->supervisor != 0;
    pid_t *supervisors = calloc(count + 1, sizeof *supervisors);
    if (!supervisors)
        return; /* tried again soon */
    count = 0;
    for (struct execution *execution = executions; execution; execution = execution->next)
        if (execution->supervisor != 0)
            supervisors[count++] = execution->supervisor;
    executions_reap();
    if (!childless)
        (void)tree_kill_pass(&orphans.killing, supervisors, count);
    free(supervisors);
    if (!childless && orphans.killing.met > 0 && now_ns() < orphans.deadline)
        return;
    orphans.active = false;
    tree_kill_release(&orphans.killing);
}

/* A supervisor that does not do its duty dies; its tree falls to us. */
static void check_overdue(struct execution *execution)
{
    if (execution->supervisor == 0 || now_ns() < execution->overdue)
        return;
    execution->overdue = NEVER;
    execution->held_up = true;
    (void)kill(execution->supervisor, SIGKILL);
}

static void send_reset_done(void)
{
    for (struct execution *execution = executions; execution; execution = execution->next)
        if (execution->resetting)
            return;
    for (; resets_pending > 0 && !orphans.active; resets_pending--)
        if (connection_reserve(0))
            connection_queue((struct frame_header){0, FRAME_RESET_DONE, 0, 0});
}

void executions_advance(void)
{
    advance_orphans();
    struct execution *next;
    for (struct execution *execution = executions; execution; execution = next) {
        next = execution->next;
        check_overdue(execution);
        if (execution->phase == ORPHANED && !orphans.active)
            begin_draining(execution);
        if (execution->phase == DRAINING)
            advance_draining(execution);
    }
    if (resets_pending > 0)
        send_reset_done();
}

void executions_shut_down(void)
{
    struct execution *next;
    for (struct execution *execution = executions; execution; execution = next) {
        next = execution->next;
        execution->phase = BACKGROUND;
        close_descriptor(&execution->channel);
        close_descriptor(&execution->streams[0].descriptor);
        close_descriptor(&execution->streams[1].descriptor);
        if (execution->supervisor == 0)
            free_execution(execution);
    }
    resets_pending = 0;
    kill_orphans();
}

bool executions_gone(void)
{
    return !executions && !orphans.active;
}
