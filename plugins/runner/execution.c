/* SPDX-License-Identifier: Apache-2.0 */
/*
 * execution.c: see execution.h; record.h has the life of one, main.c the theory of operation.
 */
#include "execution.h"
#include "collect.h"
#include "connection.h"
#include "memory_events.h"
#include "orphans.h"
#include "outcome.h"
#include "record.h"
#include "supervision.h"
#include "system.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A supervisor that has not reported this long after it had to is stopped, starved or stuck. */
#define OVERDUE_MS (SUPERVISOR_PATIENCE_MS + 2000u)

/* How long nothing may come of the runner's own program where it is listened to. */
#define SILENCE_MS 20000u

static uint32_t resets_pending;

void executions_configure(bool keep_ptrace)
{
    supervision_configure(keep_ptrace);
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
    in_flight--;
    close_descriptor(&execution->launched.outputs[0]);
    close_descriptor(&execution->launched.outputs[1]);
    supervision_release(execution);
}

/*
 * Attack: code that is left from before holds up what copies the workspace out, or its supervisor, in a way that
 * shows nowhere.
 */
static void listen_to_own(struct execution *execution, bool listens)
{
    uint64_t silent = moment_after(SILENCE_MS);
    execution->listens = listens;
    if (execution->own && execution->phase == RUNNING && !execution->cancelled)
        execution->overdue = listens && silent < execution->latest ? silent : execution->latest;
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
    listen_to_own(execution, true);
    if (execution->phase == DRAINING)
        execution->to_drain[index] -= (size_t)count;
    if (count == OUTPUT_PAYLOAD_MAX && !execution->enlarged[index]) {
        /* It has filled its pipe; a larger one saves wake-ups. Only now: pipes count against a limit. */
        execution->enlarged[index] = true;
        (void)fcntl(*descriptor, F_SETPIPE_SZ, 4 * (int)OUTPUT_PAYLOAD_MAX);
    }
    if (connection_due() == 0)
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

static void start(struct execution *execution, const struct request *request)
{
    int error = 0;
    int input = input_take(&execution->input, &error);
    if (error != 0) {
        close_descriptor(&input);
        not_started(execution, error, "cannot keep the standard input");
        return;
    }
    error = supervision_start(execution, request, input);
    close_descriptor(&input);
    if (error != 0) {
        not_started(execution, error, "cannot start a process");
        return;
    }
    execution->phase = RUNNING;
    /* It takes longer than this to eat all memory. */
    execution->memory_kills = memory_events_kills();
}

const char *execution_spawn(const struct request *request)
{
    const struct spawn_request *spawn = &request->spawn;
    struct execution *execution = find_execution(request->header.execution);
    if (execution && execution->phase != GATHERING)
        return "SPAWN for an execution that is running";
    if (!execution)
        execution = add_execution(request->header.execution);
    if (!execution)
        return "no memory for an execution";
    execution->credit = spawn->credit;
    execution->started = now_ns();
    if (spawn->timeout_ms != 0)
        execution->overdue =
            moment_after((uint64_t)spawn->timeout_ms + spawn->grace_ms + OVERDUE_MS);
    execution->latest = execution->overdue;
    execution->own = strcmp(spawn->candidates[0][0], COLLECT_PROGRAM) == 0;
    if (in_flight > EXECUTIONS_MAX)
        not_started(execution, EAGAIN, "too many executions at once");
    else
        start(execution, request);
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
    supervision_order(execution, (struct supervisor_order){ORDER_KILL, signal, grace_ms});
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
        if (execution->phase == GATHERING || is_idle(execution))
            continue;
        execution->resetting = true;
        if (execution->number != 0)
            execution_kill(execution->number, SIGKILL, 0);
        else
            order_kill(execution, SIGKILL, 0);
    }
    orphans_kill();
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
        if (hungry != execution->listens)
            listen_to_own(execution, hungry);
        const int watched[] = {
            execution->phase == DRAINING ? -1 : execution->launched.channel,
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
        if (descriptors[0].revents && execution->launched.channel >= 0)
            (void)supervision_take(execution);
    }
}

uint64_t executions_deadline(void)
{
    uint64_t deadline = orphans_deadline();
    for (struct execution *execution = executions; execution; execution = execution->next)
        if (supervision_deadline(execution) < deadline)
            deadline = supervision_deadline(execution);
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
    supervision_advance_orphans();
    struct execution *next;
    for (struct execution *execution = executions; execution; execution = next) {
        next = execution->next;
        supervision_advance(execution);
        if (execution->phase == DRAINING)
            advance_draining(execution);
    }
    if (resets_pending > 0)
        send_reset_done();
}

bool executions_reap(void)
{
    return supervision_reap();
}

void executions_prepare(void)
{
    supervision_prepare();
}

void executions_shut_down(void)
{
    supervision_stop_preparing();
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
