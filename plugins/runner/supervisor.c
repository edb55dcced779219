/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervisor.c: see supervisor.h; the theory of operation is in main.c.
 *
 *        ┌── nothing is left: ready for the next
 *        ▼                              │
 *     WATCHING ──time is up / ORDER_KILL│─▶ ASKING ──all gone──────────────┐
 *        │                              │     │ grace is over              ▼
 *        │ command ends: report ────────┘     └────────▶ KILLING ──▶ report, exit
 *        ▼                                                  ▲
 *     WATCHING, until no descendant is left: exit           │
 *        └── the runner is gone (end-of-file) ──────────────┘
 *
 * One that has seen a command of which nothing is left takes another: it has no child, so nobody whom it
 * would have to tell from the next one's. Each command has pipes of its own all the same, for other
 * executions may have got hold of the last one's (it may have handed them on). Their ends for writing stay
 * open here, at 1 and 2: the runner shall be woken by the report alone, and not by end-of-file before.
 *
 * Invariant: it exits with status 0, and only when it has no child left. What does not die within
 * SUPERVISOR_PATIENCE_MS holds up the report no longer, but is tried again and again; with status 1 it
 * exits only where neither the tree dies nor the runner lives.
 */
#include "supervisor.h"
#include "channel.h"
#include "collect.h"
#include "command.h"
#include "guard.h"
#include "inherited.h"
#include "kill_tree.h"
#include "system.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Between two passes of a killing, where nothing has died meanwhile. */
#define PASS_PAUSE_MS 5
/* The same once it is clear that something does not die. */
#define STUBBORN_PAUSE_MS 1000
/* Children that are reaped in one go, or code that makes them end as fast would hold us up. */
#define REAP_MAX 1000
/* How often the runner's own program is made to go on. */
#define STOPS_MAX 100

static struct {
    enum { WATCHING, ASKING, KILLING } phase;
    int channel; /* -1: the runner is gone */
    int signals;
    int nothing; /* the standard input of most commands */
    int input;   /* that of the next one, or -1 */
    int taps[2]; /* where the command's stdout and stderr can be read; -1: no more */
    bool ready;  /* the command's stdout and stderr are there */
    bool discarding;
    pid_t runner;

    pid_t command; /* 0: reaped */
    bool own;      /* it is the runner's own program (collect.h) */
    unsigned stops;
    bool childless;
    bool reaped_all; /* that has ended so far */
    bool reported;
    uint64_t started;
    uint64_t deadline; /* of the phase */
    uint32_t grace_ms;
    struct tree_kill killing;
    bool stubborn; /* KILLING has taken too long */
    struct supervisor_report report;
} self;

static void report(uint32_t then)
{
    if (self.reported)
        return;
    self.reported = true;
    self.report.then = then;
    (void)send(self.channel, &self.report, sizeof self.report, MSG_NOSIGNAL);
    /* Attack: the code has stopped the runner (SIGSTOP from the same user). Make it go on. */
    if (getppid() == self.runner)
        (void)kill(self.runner, SIGCONT);
}

static void account(const struct rusage *usage)
{
    const struct timeval *times[] = {&usage->ru_utime, &usage->ru_stime};
    for (int i = 0; i < 2; i++)
        self.report.cpu_ns += (uint64_t)times[i]->tv_sec * NANOSECONDS_PER_SECOND +
                              (uint64_t)times[i]->tv_usec * 1000u;
    uint64_t peak = (uint64_t)usage->ru_maxrss * 1024u;
    if (peak > self.report.peak_memory_bytes)
        self.report.peak_memory_bytes = peak;
}

static void command_ended(int status)
{
    self.command = 0;
    self.report.wall_ns = now_ns() - self.started;
    if (self.report.how != EXIT_EXITED)
        return; /* timed out or cancelled, whatever it says itself */
    if (WIFSIGNALED(status)) {
        self.report.how = EXIT_SIGNALLED;
        self.report.signal = (uint32_t)WTERMSIG(status);
    } else {
        self.report.exit_code = (uint32_t)WEXITSTATUS(status);
    }
}

static void begin_killing(void)
{
    self.phase = KILLING;
    self.deadline = moment_after(SUPERVISOR_PATIENCE_MS);
    /* A fork bomb competes with us for the processor. */
    (void)setpriority(PRIO_PROCESS, 0, -20);
}

/* The tree shall die, for the reason HOW. */
static void end_tree(uint32_t how, int signal, uint32_t grace_ms)
{
    if (self.command != 0 && self.report.how == EXIT_EXITED)
        self.report.how = how;
    if (signal == SIGKILL || grace_ms == 0) {
        if (self.phase != KILLING)
            begin_killing();
        return;
    }
    if (self.phase == KILLING)
        return;
    uint64_t deadline = moment_after(grace_ms);
    if (self.phase != ASKING || deadline < self.deadline)
        self.deadline = deadline;
    self.phase = ASKING;
    tree_signal(signal);
}

/* Attack: code that is left from before stops what copies the workspace out (SIGSTOP from the same user). Of code it
 * is nobody's business. */
static void command_stopped(void)
{
    if (self.phase == KILLING)
        return; /* which stops what it kills */
    (void)kill(self.command, SIGCONT);
    if (++self.stops < STOPS_MAX)
        return;
    end_tree(EXIT_LOST, SIGKILL, 0);
    snprintf(self.report.detail, sizeof self.report.detail,
             "it was stopped again and again, presumably by the code");
}

static void reap(void)
{
    const int flags = WNOHANG | __WALL | (self.own ? WUNTRACED : 0);
    self.reaped_all = false;
    for (int i = 0; i < REAP_MAX; i++) {
        int status = 0;
        struct rusage usage;
        pid_t pid = wait4(-1, &status, flags, &usage);
        if (pid <= 0) {
            self.reaped_all = true;
            self.childless = pid < 0;
            return;
        }
        if (WIFSTOPPED(status)) {
            if (pid == self.command)
                command_stopped();
            continue;
        }
        if (!self.reported)
            account(&usage);
        if (pid == self.command)
            command_ended(status);
    }
}

static void take_order(void)
{
    struct supervisor_order order;
    ssize_t length = recv(self.channel, &order, sizeof order, MSG_DONTWAIT);
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (length != (ssize_t)sizeof order) {
        /* The runner is gone, so nobody is left who wants this. */
        close(self.channel);
        self.channel = -1;
        end_tree(EXIT_CANCELLED, SIGKILL, 0);
    } else if (order.kind == ORDER_KILL) {
        end_tree(EXIT_CANCELLED, (int)order.signal, order.grace_ms);
    } else {
        self.discarding = true;
    }
}

/* So that a process in the background neither blocks nor dies when it writes. */
static void discard(int *tap)
{
    static char scratch[64 * 1024];
    ssize_t length = read(*tap, scratch, sizeof scratch);
    if (length > 0 || (length < 0 && (errno == EAGAIN || errno == EINTR)))
        return;
    close(*tap);
    *tap = -1;
}

static void deadline_passed(void)
{
    switch (self.phase) {
    case WATCHING:
        end_tree(EXIT_TIMED_OUT, SIGTERM, self.grace_ms);
        break;
    case ASKING:
        begin_killing();
        break;
    case KILLING:
        /* Something does not die: a set-user-id program of another user, a stuck device. */
        report(THEN_BACKGROUND);
        if (self.channel < 0)
            _exit(1);
        self.stubborn = true;
        self.deadline = NEVER;
        break;
    }
}

static uint64_t wake_at(void)
{
    if (!self.reaped_all)
        return 0;
    if (self.phase == KILLING)
        return moment_after(self.stubborn ? STUBBORN_PAUSE_MS : PASS_PAUSE_MS);
    if (self.phase == WATCHING && self.command == 0)
        return NEVER;
    return self.deadline;
}

/*
 * Attack: the code has taken our limit of descriptors away (prlimit, from the same user), below what poll
 * watches. Blind to orders and to the runner's end we must not stay; nor must the code.
 */
static void cannot_watch(void)
{
    if (self.phase != KILLING) {
        end_tree(EXIT_LOST, SIGKILL, 0);
        snprintf(self.report.detail, sizeof self.report.detail,
                 "the limits of its supervisor were taken away, presumably by the code");
    }
    const struct timespec pause = {0, PASS_PAUSE_MS * (long)NANOSECONDS_PER_MILLISECOND};
    (void)nanosleep(&pause, NULL);
}

static void wait_for_news(void)
{
    struct pollfd descriptors[] = {
        {self.signals, POLLIN, 0},
        {self.channel, POLLIN, 0},
        {self.discarding ? self.taps[0] : -1, POLLIN, 0},
        {self.discarding ? self.taps[1] : -1, POLLIN, 0},
    };
    int ready = poll(descriptors, 4, poll_timeout(wake_at()));
    if (ready < 0 && errno == EINVAL)
        cannot_watch();
    if (ready <= 0)
        return;
    if (descriptors[0].revents) {
        struct signalfd_siginfo information[8];
        (void)!read(self.signals, information, sizeof information);
    }
    if (descriptors[1].revents)
        take_order();
    for (int i = 0; i < 2; i++)
        if (descriptors[2 + i].revents)
            discard(&self.taps[i]);
}

/* Returns where nothing is left and the next command may come. */
static void supervise(void)
{
    for (;;) {
        reap();
        bool command_is_over = self.command == 0 && self.phase == WATCHING;
        bool may_go_on =
            command_is_over && self.childless && !self.reported && inherited_is_untouched();
        if (command_is_over || self.childless)
            report(may_go_on ? THEN_NEXT : self.childless ? THEN_EXIT : THEN_BACKGROUND);
        if (may_go_on)
            return;
        if (self.childless)
            _exit(0);
        while (self.phase == KILLING && !tree_kill_pass(&self.killing, NULL, 0))
            continue;
        wait_for_news();
        bool timed = self.phase != WATCHING || self.command != 0;
        if (timed && now_ns() >= self.deadline)
            deadline_passed();
    }
}

/* ------------------------------------------------------------------------------------------------
 * Starting
 * --------------------------------------------------------------------------------------------- */

static void start_failed(const struct command_start *start, uint32_t then)
{
    self.report.how = EXIT_NOT_STARTED;
    self.report.error = (uint32_t)start->error;
    self.report.candidate = start->candidate;
    memcpy(self.report.detail, start->detail, sizeof self.report.detail);
    report(then);
}

/* False: it was not started, as is reported. */
static bool start_command(const struct spawn_request *spawn)
{
    struct command command = {
        .folder = spawn->folder,
        .environment =
            environment_build(environ, spawn->environment_defaults, spawn->environment_additions),
        .candidates = spawn->candidates,
    };
    struct command_start start = {.error = ENOMEM, .candidate = CANDIDATE_NONE};
    if (self.input >= 0)
        (void)dup2(self.input, STDIN_FILENO);
    self.started = now_ns();
    pid_t pid = command.environment ? command_run(&command, &start) : -1;
    free(command.environment);
    if (self.input >= 0) {
        (void)dup2(self.nothing, STDIN_FILENO);
        close(self.input);
        self.input = -1;
    }
    if (pid < 0) {
        start_failed(&start, THEN_NEXT);
        return false;
    }
    self.command = pid;
    self.own = strcmp(spawn->candidates[0][0], COLLECT_PROGRAM) == 0;
    self.stops = 0;
    self.report.candidate = start.candidate;
    self.deadline = spawn->timeout_ms ? moment_after(spawn->timeout_ms) : NEVER;
    self.grace_ms = spawn->grace_ms;
    return true;
}

/*
 * Closes all but our own descriptors: above all the runner's connection, whose end the host must see when
 * the runner dies.
 */
static void arrange_descriptors(const struct supervisor_setup *setup)
{
    for (int number = 0; number <= 2; number++)
        (void)dup2(setup->nothing, number);
    int keep[] = {
        STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, setup->channel, setup->nothing, setup->input,
    };
    guard_close_others(keep, sizeof keep / sizeof keep[0]);
}

/* Made before the command starts: afterwards it could take our descriptors away (prlimit). */
static bool watch_children(void)
{
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    self.signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    return self.signals >= 0;
}

/* New pipes in the places 1 and 2, and the runner is told. */
static bool lay_pipes(void)
{
    for (int i = 0; i < SUPERVISOR_STREAMS; i++) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0)
            return false;
        bool good =
            dup2(ends[1], STDOUT_FILENO + i) >= 0 && fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
        close(ends[1]);
        if (self.taps[i] >= 0)
            close(self.taps[i]);
        self.taps[i] = ends[0];
        if (!good)
            return false;
    }
    struct supervisor_ready ready = {0};
    return channel_send(self.channel, &ready, sizeof ready, self.taps, SUPERVISOR_STREAMS);
}

_Noreturn static void give_up(int error)
{
    struct command_start start = {.error = error, .candidate = CANDIDATE_NONE};
    snprintf(start.detail, sizeof start.detail, "cannot start a process: %s", strerror(error));
    start_failed(&start, THEN_EXIT);
    _exit(0);
}

static void get_ready(void)
{
    if (!self.ready && !lay_pipes())
        give_up(errno);
    self.ready = true;
}

/* Receives what it shall run. */
static void await_command(struct request *request)
{
    static unsigned char frame[SUPERVISOR_FRAME_MAX];
    struct supervisor_order order;
    for (;;) {
        ssize_t length = channel_receive(self.channel, frame, sizeof frame, 0, &self.input, 1);
        if (length < 0 && errno == EINTR)
            continue;
        if (length <= 0)
            _exit(0); /* the runner is gone, or has no use for us */
        size_t consumed = 0;
        char objection[REQUEST_OBJECTION_SIZE];
        if (length != (ssize_t)sizeof order) { /* frames are longer */
            if (request_parse(frame, (size_t)length, request, &consumed, objection) !=
                REQUEST_COMPLETE)
                _exit(0);
            return;
        }
        /* Others come too late: what was to be killed is gone. */
        memcpy(&order, frame, sizeof order);
        if (order.kind == ORDER_PREPARE)
            get_ready();
    }
}

/* Attack: code that is left from before takes the limits away of a supervisor that waits for another command. */
static void check_limits(void)
{
    struct command_start start = {.error = EPERM, .candidate = CANDIDATE_NONE};
    if (inherited_is_whole())
        return;
    snprintf(start.detail, sizeof start.detail,
             "the limits of its supervisor were taken away, presumably by the code");
    start_failed(&start, THEN_EXIT);
    _exit(0);
}

static void attend(const struct spawn_request *spawn)
{
    get_ready();
    check_limits();
    if (start_command(spawn))
        supervise();
    self.ready = self.childless = self.reported = false;
    self.deadline = NEVER;
    self.report = (struct supervisor_report){0};
}

_Noreturn void supervisor_main(const struct supervisor_setup *setup,
                               const struct spawn_request *spawn)
{
    self.runner = setup->runner;
    self.channel = setup->channel;
    self.nothing = setup->nothing;
    self.input = setup->input;
    self.taps[0] = self.taps[1] = -1;
    self.deadline = NEVER;
    /* What loses its parent becomes our child, not the runner's; a fork does not inherit this. */
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    arrange_descriptors(setup);
    guard_supervisor(setup->keep_ptrace);
    if (!watch_children())
        give_up(errno);
    get_ready();
    if (spawn)
        attend(spawn);
    for (;;) {
        struct request request;
        await_command(&request);
        attend(&request.spawn);
        request_release(&request);
    }
}
