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
#include "input.h"
#include "launch.h"
#include "memory_events.h"
#include "orphans.h"
#include "outcome.h"
#include "supervisor.h"
#include "system.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* A supervisor that has not reported this long after it had to is stopped, starved or stuck. */
#define OVERDUE_MS (SUPERVISOR_PATIENCE_MS + 2000u)

/* Children that are reaped in one go. */
#define REAP_MAX 1000

struct execution {
    struct execution *next;
    uint32_t number; /* 0 in SPARE and BACKGROUND */
    enum phase { SPARE, GATHERING, RUNNING, ORPHANED, DRAINING, BACKGROUND } phase;
    struct launched launched; /* supervisor 0: reaped; descriptors -1: closed */
    size_t to_drain[2];       /* bytes that were in the pipes when the command had ended */
    bool enlarged[2];         /* the pipes */
    struct input input;       /* GATHERING */
    uint64_t credit;
    bool cancelled;   /* by KILL or RESET */
    bool resetting;   /* RESET_DONE waits for its supervisor's end */
    uint64_t overdue; /* when its supervisor must have done what it has to */
    bool held_up;     /* it had not, and was killed for it */
    uint64_t started;
    uint64_t memory_kills; /* when it started */
    struct supervisor_report report;
};

static struct execution *executions;
static uint32_t in_flight; /* records with an EXIT to come */
static bool ptrace_is_kept;
static uint32_t resets_pending;
static bool childless = true;
static struct execution *spare; /* whose supervisor waits for a command */
static bool spare_is_wanted;

void executions_configure(bool keep_ptrace)
{
    ptrace_is_kept = keep_ptrace;
    spare_is_wanted = true;
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
    execution->launched = (struct launched){0, -1, {-1, -1}};
    execution->input = INPUT_NONE;
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
    close_descriptor(&execution->launched.channel);
    close_descriptor(&execution->input.descriptor);
    close_descriptor(&execution->launched.outputs[0]);
    close_descriptor(&execution->launched.outputs[1]);
    free(execution);
}

/* ------------------------------------------------------------------------------------------------
 * Frames to the host
 * --------------------------------------------------------------------------------------------- */

/* EXIT, and the number is free. */
static void finish(struct execution *execution)
{
    outcome_send(execution->number, &execution->report);
    connection_flush();
    execution->number = 0;
    execution->phase = BACKGROUND;
    in_flight--;
    spare_is_wanted = true;
    struct supervisor_order order = {.kind = ORDER_DISCARD};
    if (execution->launched.channel >= 0)
        (void)send(execution->launched.channel, &order, sizeof order, MSG_NOSIGNAL | MSG_DONTWAIT);
    close_descriptor(&execution->launched.outputs[0]);
    close_descriptor(&execution->launched.outputs[1]);
    if (execution->launched.supervisor == 0)
        free_execution(execution);
}

/*
 * Moves bytes from a command's pipe to the host, once. What may be read is bounded by the credit and,
 * when draining, by what was there at the command's end.
 */
static void pump(struct execution *execution, int index)
{
    int *descriptor = &execution->launched.outputs[index];
    size_t size = OUTPUT_PAYLOAD_MAX;
    if (execution->phase == DRAINING && size > execution->to_drain[index])
        size = execution->to_drain[index];
    if (size > execution->credit)
        size = (size_t)execution->credit;
    if (*descriptor < 0 || size == 0 || !connection_has_room())
        return;
    unsigned char *payload = connection_reserve(size);
    if (!payload)
        return;
    ssize_t count = read(*descriptor, payload, size);
    if (count < 0 && errno == EINTR)
        return;
    if (count <= 0) {
        execution->to_drain[index] = 0; /* sooner, where the code has read from its own pipe */
        if (count == 0 || errno != EAGAIN)
            close_descriptor(descriptor);
        return;
    }
    connection_queue((struct frame_header){(uint32_t)count, FRAME_OUTPUT, (uint16_t)(index + 1),
                                           execution->number});
    execution->credit -= (uint64_t)count;
    if (execution->phase == DRAINING)
        execution->to_drain[index] -= (size_t)count;
    if (count == OUTPUT_PAYLOAD_MAX && !execution->enlarged[index]) {
        /* It has filled its pipe; a larger one saves wake-ups. Only now: pipes count against a limit. */
        execution->enlarged[index] = true;
        (void)fcntl(*descriptor, F_SETPIPE_SZ, 4 * (int)OUTPUT_PAYLOAD_MAX);
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
    if (!input_append(&execution->input, bytes, length))
        return "too much STDIN for one execution";
    return NULL;
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
    int error = 0;
    int input = input_take(&execution->input, &error);
    if (error != 0) {
        close_descriptor(&input);
        not_started(execution, error, "cannot keep the standard input");
        return;
    }
    error = launch_supervisor(input, spawn, ptrace_is_kept, &execution->launched);
    if (error != 0)
        not_started(execution, error, "cannot start a process");
    else
        execution->phase = RUNNING;
}

/*
 * Most executions find a supervisor that was forked beforehand, for a fork takes a third of the time
 * that starting a shell does. It has been waiting since the last EXIT.
 */
static struct execution *take_spare(const struct request *request)
{
    struct execution *execution = spare;
    if (!execution || !launch_order(&execution->launched, request->frame, request->frame_length))
        return NULL;
    spare = NULL;
    execution->number = request->header.execution;
    execution->phase = RUNNING;
    in_flight++;
    return execution;
}

void executions_prepare(void)
{
    if (spare || !spare_is_wanted)
        return;
    spare_is_wanted = false; /* where it fails: not again before the next EXIT */
    struct execution *execution = add_execution(0);
    if (!execution)
        return;
    in_flight--;
    execution->phase = SPARE;
    if (launch_supervisor(-1, NULL, ptrace_is_kept, &execution->launched) != 0)
        free_execution(execution);
    else
        spare = execution;
}

const char *execution_spawn(const struct request *request)
{
    const struct spawn_request *spawn = &request->spawn;
    struct execution *execution = find_execution(request->header.execution);
    if (execution && execution->phase != GATHERING)
        return "SPAWN for an execution that is running";
    bool has_input = execution;
    if (!has_input && in_flight < EXECUTIONS_MAX)
        execution = take_spare(request);
    if (!execution)
        execution = add_execution(request->header.execution);
    if (!execution)
        return "no memory for an execution";
    execution->credit = spawn->credit;
    execution->started = now_ns();
    execution->memory_kills =
        memory_events_kills(); /* it takes longer than this to eat all memory */
    if (spawn->timeout_ms != 0)
        execution->overdue =
            moment_after((uint64_t)spawn->timeout_ms + spawn->grace_ms + OVERDUE_MS);
    if (execution->phase == RUNNING)
        return NULL;
    if (in_flight > EXECUTIONS_MAX)
        not_started(execution, EAGAIN, "too many executions at once");
    else
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

static void order_kill(struct execution *execution, uint32_t signal, uint32_t grace_ms)
{
    struct supervisor_order order = {.kind = ORDER_KILL, .signal = signal, .grace_ms = grace_ms};
    if (execution->launched.channel >= 0)
        (void)send(execution->launched.channel, &order, sizeof order, MSG_NOSIGNAL | MSG_DONTWAIT);
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
        outcome_settle(&execution->report, execution->cancelled, execution->memory_kills);
}

void executions_reset(void)
{
    resets_pending++;
    for (struct execution *execution = executions; execution; execution = execution->next) {
        if (execution->phase == GATHERING || execution->phase == SPARE)
            continue;
        execution->resetting = true;
        if (execution->number != 0)
            execution_kill(execution->number, SIGKILL, 0);
        else
            order_kill(execution, SIGKILL, 0);
    }
    orphans_kill();
}

/* The command has ended: what is in the pipes now is still its output, what comes later is not. */
static void begin_draining(struct execution *execution)
{
    execution->phase = DRAINING;
    for (int i = 0; i < 2; i++) {
        int available = 0;
        if (execution->launched.outputs[i] >= 0 &&
            ioctl(execution->launched.outputs[i], FIONREAD, &available) == 0)
            execution->to_drain[i] = (size_t)available;
    }
}

static void take_report(struct execution *execution)
{
    struct supervisor_report report;
    ssize_t length = recv(execution->launched.channel, &report, sizeof report, MSG_DONTWAIT);
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (length != (ssize_t)sizeof report) {
        close_descriptor(&execution->launched.channel); /* it has exited; SIGCHLD says how */
        return;
    }
    if (execution->phase != RUNNING)
        return;
    execution->report = report;
    execution->report.detail[sizeof report.detail - 1] = '\0';
    if (!execution->cancelled)
        execution->overdue = NEVER; /* what it still does, it does for the background */
    outcome_settle(&execution->report, execution->cancelled, execution->memory_kills);
    begin_draining(execution);
}

/*
 * Attack: the code has killed the process that watches over it. It and all that it started now belong
 * to us, and die.
 */
static void supervisor_lost(struct execution *execution)
{
    orphans_kill();
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
    outcome_settle(&execution->report, execution->cancelled, execution->memory_kills);
}

static void supervisor_ended(struct execution *execution, int status)
{
    if (execution->launched.channel >= 0)
        take_report(execution);
    execution->launched.supervisor = 0;
    close_descriptor(&execution->launched.channel);
    if (execution->phase == SPARE) {
        spare = NULL;
        execution->phase = BACKGROUND;
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || execution->phase == RUNNING)
        supervisor_lost(execution);
    if (execution->phase == BACKGROUND)
        free_execution(execution);
}

/* One child that has ended or was stopped; false: there is none now. */
static bool reap_one(void)
{
    int status = 0;
    pid_t pid = waitpid(-1, &status, WNOHANG | WUNTRACED | __WALL);
    childless = pid < 0;
    if (pid <= 0)
        return false;
    struct execution *execution = executions;
    while (execution && execution->launched.supervisor != pid)
        execution = execution->next;
    if (!execution)
        return true; /* an orphan that fell to us */
    if (WIFSTOPPED(status))
        (void)kill(pid, SIGCONT); /* attack: the code stops what would time it out */
    else
        supervisor_ended(execution, status);
    return true;
}

bool executions_reap(void)
{
    /* Code may make orphans end as fast as we reap them. */
    for (int i = 0; i < REAP_MAX; i++)
        if (!reap_one())
            return true;
    return false;
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
            execution->launched.channel,
            hungry ? execution->launched.outputs[0] : -1,
            hungry ? execution->launched.outputs[1] : -1,
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
    uint64_t deadline = orphans_deadline();
    for (struct execution *execution = executions; execution; execution = execution->next)
        if (execution->launched.supervisor != 0 && execution->overdue < deadline)
            deadline = execution->overdue;
    return deadline;
}

static void advance_draining(struct execution *execution)
{
    for (int i = 0; i < 2; i++) {
        size_t before;
        do {
            before = execution->to_drain[i];
            pump(execution, i);
        } while (execution->to_drain[i] < before);
    }
    bool drained = execution->to_drain[0] == 0 && execution->to_drain[1] == 0;
    bool waits_for_host = !connection_has_room();
    /* A cancel must not hang on a host's thread that takes no more output. */
    if (drained || (execution->cancelled && execution->credit == 0 && !waits_for_host))
        finish(execution);
}

static void advance_orphans(void)
{
    if (orphans_deadline() == NEVER)
        return;
    (void)executions_reap();
    size_t count = 0;
    for (struct execution *execution = executions; execution; execution = execution->next)
        count += execution->launched.supervisor != 0;
    pid_t *supervisors = calloc(count + 1, sizeof *supervisors);
    if (!supervisors)
        return; /* tried again soon */
    count = 0;
    for (struct execution *execution = executions; execution; execution = execution->next)
        if (execution->launched.supervisor != 0)
            supervisors[count++] = execution->launched.supervisor;
    orphans_advance(supervisors, count, childless);
    free(supervisors);
}

/* A supervisor that does not do its duty dies; its tree falls to us. */
static void check_overdue(struct execution *execution)
{
    if (execution->launched.supervisor == 0 || now_ns() < execution->overdue)
        return;
    execution->overdue = NEVER;
    execution->held_up = true;
    (void)kill(execution->launched.supervisor, SIGKILL);
}

static void send_reset_done(void)
{
    for (struct execution *execution = executions; execution; execution = execution->next)
        if (execution->resetting)
            return;
    for (; resets_pending > 0 && !orphans_hold_up(); resets_pending--)
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
        if (execution->phase == ORPHANED && !orphans_hold_up())
            begin_draining(execution);
        if (execution->phase == DRAINING)
            advance_draining(execution);
    }
    if (resets_pending > 0)
        send_reset_done();
}

void executions_shut_down(void)
{
    spare_is_wanted = false;
    spare = NULL;
    struct execution *next;
    for (struct execution *execution = executions; execution; execution = next) {
        next = execution->next;
        execution->phase = BACKGROUND;
        close_descriptor(&execution->launched.channel);
        close_descriptor(&execution->launched.outputs[0]);
        close_descriptor(&execution->launched.outputs[1]);
        if (execution->launched.supervisor == 0)
            free_execution(execution);
    }
    resets_pending = 0;
    orphans_kill();
}

bool executions_gone(void)
{
    return !executions && !orphans_hold_up();
}
