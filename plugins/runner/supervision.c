/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervision.c: see supervision.h.
 */
#include "supervision.h"
#include "channel.h"
#include "inherited.h"
#include "memory_events.h"
#include "orphans.h"
#include "outcome.h"
#include "system.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* Children that are reaped in one go. */
#define REAP_MAX 1000

/* Supervisors that are kept for commands to come. */
#define SPARES_MAX 8
/* How long one rests before it gets ready: those whom the EXIT wakes need the processor now. */
#define REST_MS 1u

static bool ptrace_is_kept;
static bool spare_is_wanted;
static bool childless = true;

void supervision_configure(bool keep_ptrace)
{
    ptrace_is_kept = keep_ptrace;
    spare_is_wanted = true;
}

void supervision_order(const struct execution *execution, struct supervisor_order order)
{
    if (execution->launched.channel >= 0)
        (void)channel_send(execution->launched.channel, &order, sizeof order, NULL, 0);
}

/* ------------------------------------------------------------------------------------------------
 * Starting
 * --------------------------------------------------------------------------------------------- */

static struct execution *find_idle(enum phase phase)
{
    struct execution *execution = executions;
    while (execution && execution->phase != phase)
        execution = execution->next;
    return execution;
}

/*
 * Most executions find a supervisor that another one has left, or that was forked meanwhile: a fork takes a
 * third of the time that starting a shell does.
 */
static bool start_on_spare(struct execution *execution, const struct request *request, int input)
{
    struct execution *spare = find_idle(SPARE);
    if (!spare)
        spare = find_idle(RESTING);
    if (!spare || !launch_order(&spare->launched, request->frame, request->frame_length, input))
        return false;
    execution->launched = spare->launched;
    spare->launched = LAUNCHED_NONE;
    free_execution(spare);
    return true;
}

int supervision_start(struct execution *execution, const struct request *request, int input)
{
    if (start_on_spare(execution, request, input))
        return 0;
    return launch_supervisor(input, &request->spawn, ptrace_is_kept, &execution->launched);
}

void supervision_prepare(void)
{
    if (!spare_is_wanted)
        return;
    spare_is_wanted = false; /* where it fails: not again before the next EXIT */
    if (find_idle(SPARE) || find_idle(RESTING) || !inherited_is_whole())
        return;
    struct execution *execution = add_execution(0);
    if (!execution)
        return;
    in_flight--;
    execution->phase = RESTING;
    execution->rested = NEVER; /* it gets ready by itself */
    if (launch_supervisor(-1, NULL, ptrace_is_kept, &execution->launched) != 0)
        free_execution(execution);
}

void supervision_stop_preparing(void)
{
    spare_is_wanted = false;
}

void supervision_release(struct execution *execution)
{
    spare_is_wanted = true;
    if (execution->launched.supervisor == 0) {
        free_execution(execution);
    } else if (execution->report.then == THEN_NEXT) {
        execution->phase = RESTING;
        execution->rested = moment_after(REST_MS);
        execution->resetting = false;
        execution->overdue = NEVER;
    } else {
        execution->phase = BACKGROUND;
        supervision_order(execution, (struct supervisor_order){.kind = ORDER_DISCARD});
    }
}

/* It gets ready; or it exits, where enough others are. */
static void end_rest(struct execution *execution)
{
    size_t spares = 0;
    for (const struct execution *other = executions; other; other = other->next)
        spares += is_idle(other);
    execution->rested = NEVER;
    if (spares > SPARES_MAX) {
        execution->phase = BACKGROUND;
        close_descriptor(&execution->launched.channel);
    } else {
        supervision_order(execution, (struct supervisor_order){.kind = ORDER_PREPARE});
    }
}

/* ------------------------------------------------------------------------------------------------
 * What they say
 * --------------------------------------------------------------------------------------------- */

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

static void take_report(struct execution *execution, const struct supervisor_report *report)
{
    if (execution->phase != RUNNING)
        return;
    execution->report = *report;
    execution->report.detail[sizeof report->detail - 1] = '\0';
    if (!execution->cancelled)
        execution->overdue = NEVER; /* what it still does, it does for the background */
    outcome_settle(&execution->report, execution->cancelled, execution->memory_kills);
    begin_draining(execution);
}

/* It has pipes for its next command. */
static void take_streams(struct execution *execution, const int streams[SUPERVISOR_STREAMS])
{
    if (execution->phase == RESTING)
        execution->phase = SPARE;
    for (int i = 0; i < SUPERVISOR_STREAMS; i++) {
        close_descriptor(&execution->launched.outputs[i]);
        execution->launched.outputs[i] = streams[i];
    }
    execution->starved = streams[0] < 0 || streams[1] < 0;
    if (execution->starved && execution->phase == SPARE)
        execution->phase = BACKGROUND;
    if (execution->starved)
        (void)kill(execution->launched.supervisor, SIGKILL);
}

bool supervision_take(struct execution *execution)
{
    union {
        struct supervisor_report report;
        struct supervisor_ready ready;
    } message;
    int streams[SUPERVISOR_STREAMS];
    ssize_t length = channel_receive(execution->launched.channel, &message, sizeof message,
                                     MSG_DONTWAIT, streams, SUPERVISOR_STREAMS);
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (length == (ssize_t)sizeof message.report)
        take_report(execution, &message.report);
    else if (length == (ssize_t)sizeof message.ready)
        take_streams(execution, streams);
    else
        close_descriptor(&execution->launched.channel); /* it has exited; SIGCHLD says how */
    return true;
}

/* ------------------------------------------------------------------------------------------------
 * How they end
 * --------------------------------------------------------------------------------------------- */

static const char *why_lost(const struct execution *execution)
{
    if (execution->held_up)
        return "its supervisor was held up, presumably by the code";
    if (execution->starved)
        return "the runner has too many descriptors open";
    return "its supervisor was killed, presumably by the code";
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
    snprintf(execution->report.detail, sizeof execution->report.detail, "%s", why_lost(execution));
    outcome_settle(&execution->report, execution->cancelled, execution->memory_kills);
}

static void supervisor_ended(struct execution *execution, int status)
{
    /* Its last words; no streams for a next command any more. */
    while (execution->phase == RUNNING && execution->launched.channel >= 0 &&
           supervision_take(execution))
        continue;
    execution->launched.supervisor = 0;
    close_descriptor(&execution->launched.channel);
    if (is_idle(execution))
        execution->phase = BACKGROUND;
    spare_is_wanted = true;
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

bool supervision_reap(void)
{
    /* Code may make orphans end as fast as we reap them. */
    for (int i = 0; i < REAP_MAX; i++)
        if (!reap_one())
            return true;
    return false;
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

uint64_t supervision_deadline(const struct execution *execution)
{
    if (execution->phase == RESTING)
        return execution->rested;
    return execution->launched.supervisor != 0 ? execution->overdue : NEVER;
}

void supervision_advance(struct execution *execution)
{
    check_overdue(execution);
    if (execution->phase == ORPHANED && !orphans_hold_up())
        begin_draining(execution);
    if (execution->phase == RESTING && execution->rested <= now_ns())
        end_rest(execution);
}

void supervision_advance_orphans(void)
{
    if (orphans_deadline() == NEVER)
        return;
    (void)supervision_reap();
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
