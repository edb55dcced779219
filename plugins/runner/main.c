/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c: the runner, a small program that sits where the code runs and does what every executor needs.
 *
 * Theory of operation
 *
 *     host ══stdin/stdout══ runner ──channel── supervisor ── command (own session)
 *           frames            ║ │                              │  └── its children, wherever they go
 *                             ║ └──channel── supervisor ── …   │
 *                             ╚════════ stdout, stderr ════════╝  one pipe each
 *
 * The runner is one thread in one poll loop. It reads requests at any time, moves the output of the
 * commands to the host, and never waits for anybody: writing is non-blocking, and what cannot be written
 * stays in the commands' pipes (connection.c, execution.c). While nothing runs it sleeps in poll without
 * a timer.
 *
 * Each execution has a supervisor, a fork of the runner without exec, which starts the command, waits for
 * it, times it out, kills its tree and says how it ended (supervisor.c). It is a subreaper: whatever the
 * command leaves behind becomes its child, however often it forks and whatever session it starts, so it
 * knows for each process to which execution it belongs, and one execution's end touches no other. It
 * lives on while descendants of the command do, reads what they write so that they neither block nor die
 * of it, and exits when none is left. Where the command leaves none, it takes another one, with new pipes;
 * a few such, and the first one, which is forked beforehand, sleep until the next SPAWN.
 *
 * Who watches whom:
 *   - the host dies, or ends the connection: the runner reads end-of-file, closes the channels, and exits
 *     when the supervisors have killed their trees; as PID 1 of a container at once, for the kernel then
 *     kills what is left; one that was told to stay (stay.h) goes on without a host;
 *   - the runner dies: the supervisors read end-of-file on their channels, kill their trees, and exit;
 *   - a supervisor dies: its children fall to the runner, a subreaper too, which kills them and reports
 *     the execution as lost; a supervisor that is stopped is made to go on, and one that is late is killed.
 *
 * Invariants:
 *   - stdout carries frames and nothing else, and no other process has it: a supervisor closes the
 *     runner's connection first of all, and every descriptor is close-on-exec;
 *   - nothing that is started can look into the runner or a supervisor, not even as root (guard.c);
 *   - an execution that was spawned gets exactly one EXIT, and no OUTPUT after it;
 *   - OUTPUT never exceeds the credit; queues are bounded; it waits a moment for more (connection.c), but
 *     never longer, and EXIT not at all;
 *   - signals are blocked in all processes but the commands: they are read, or they do nothing.
 *
 * Files: request.c takes frames apart (fuzzed), connection.c moves them, by a shorter way where rendezvous.c
 * finds one, execution.c serves the host, supervision.c has to do with the supervisors, over channel.c, and
 * record.c keeps what both know. supervisor.c, command.c and kill_tree.c are one execution's own process, guard.c
 * holds the defences, orphans.c is about what killed supervisors leave, guest.c about a place that is not ours,
 * collect.c, with folders.c, is a command of its own; outcome.c, launch.c, input.c, write_file.c and memory_events.c are about
 * what their names say.
 */
#include "collect.h"
#include "command.h"
#include "connection.h"
#include "execution.h"
#include "guard.h"
#include "guest.h"
#include "inherited.h"
#include "kill_tree.h"
#include "launch.h"
#include "memory_events.h"
#include "rendezvous.h"
#include "stay.h"
#include "system.h"
#include "write_file.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/utsname.h>
#include <unistd.h>

extern char **environ;

/* Exit statuses, for whoever looks at a runner that has died. */
enum { RUNNER_ENDED = 0, RUNNER_PROTOCOL = 2, RUNNER_TERMINATED = 128 + SIGTERM };

/* How long last words may take, and the death of what was started. */
#define LAST_WORDS_MS 1000u
#define SHUT_DOWN_MS  10000u

static struct {
    bool greeted; /* HELLO has come */
    uint64_t hello_deadline;
    int signals;
    bool reaped_all;
    bool ended;
    bool input_ended; /* and yet it goes on */
    int status;
} runner;

/* Ends the connection, with words for the host unless REASON is NULL. */
static void end(int status, const char *reason)
{
    if (runner.ended)
        return;
    runner.ended = true;
    runner.status = status;
    if (!reason)
        return;
    size_t length = strlen(reason);
    unsigned char *payload = connection_reserve(length);
    if (payload) {
        memcpy(payload, reason, length);
        connection_queue((struct frame_header){(uint32_t)length, FRAME_ERROR, 0, 0});
    }
    /* Where the frame does not arrive, an engine's log may have this. */
    struct pollfd writable = {STDERR_FILENO, POLLOUT, 0};
    if (poll(&writable, 1, 0) == 1 && (writable.revents & POLLOUT))
        dprintf(STDERR_FILENO, "runner: %s\n", reason);
}

/* ------------------------------------------------------------------------------------------------
 * Requests: one function each; NULL, or why the request is out of place
 * --------------------------------------------------------------------------------------------- */

static const char *take_hello(const struct request *request)
{
    if (runner.greeted)
        return "a second HELLO";
    runner.greeted = true;
    executions_configure(request->hello.flags & HELLO_KEEP_PTRACE);
    if ((request->hello.flags & HELLO_RENDEZVOUS) &&
        rendezvous_keep(request->hello.name, request->hello.proof))
        connection_open();
    struct utsname system;
    if (uname(&system) != 0)
        system.machine[0] = '\0';
    uint32_t length = (uint32_t)strlen(system.machine);
    unsigned char *payload = connection_reserve(20 + length);
    if (!payload)
        return "no memory for HELLO";
    const uint32_t numbers[] = {PROTOCOL_MAGIC, PROTOCOL_VERSION, (uint32_t)getpid(),
                                (uint32_t)getuid(), length};
    for (size_t i = 0; i < 5; i++)
        put_u32(payload + 4 * i, numbers[i]);
    memcpy(payload + 20, system.machine, length);
    connection_queue((struct frame_header){20 + length, FRAME_HELLO, 0, 0});
    return NULL;
}

static const char *take_input(const struct request *request)
{
    return execution_input(request->header.execution, request->input.bytes, request->input.length);
}

static const char limits_are_gone[] = "the runner's limits were taken away, presumably by the code";

static const char *take_spawn(const struct request *request)
{
    return inherited_is_whole() ? execution_spawn(request) : limits_are_gone;
}

static const char *take_credit(const struct request *request)
{
    execution_credit(request->header.execution, request->credit);
    return NULL;
}

static const char *take_kill(const struct request *request)
{
    execution_kill(request->header.execution, request->kill.signal, request->kill.grace_ms);
    return NULL;
}

static const char *take_reset(const struct request *request)
{
    (void)request;
    executions_reset();
    return inherited_is_whole() ? NULL : limits_are_gone;
}

static const char *take_lookup(const struct request *request)
{
    size_t count = 0;
    while (request->lookup[count])
        count++;
    unsigned char *payload = connection_reserve(4 + count * (4 + PATH_MAX));
    if (!payload)
        return "no memory for LOOKUP_DONE";
    unsigned char *at = payload + 4;
    const char *path_list = environment_get(environ, "PATH");
    for (size_t i = 0; i < count; i++) {
        char found[PATH_MAX] = "";
        if (!program_find(request->lookup[i], path_list, found))
            found[0] = '\0';
        uint32_t length = (uint32_t)strlen(found);
        put_u32(at, length);
        memcpy(at + 4, found, length);
        at += 4 + length;
    }
    put_u32(payload, (uint32_t)count);
    connection_queue((struct frame_header){(uint32_t)(at - payload), FRAME_LOOKUP_DONE, 0,
                                           request->header.execution});
    return NULL;
}

static const char *take_write(const struct request *request)
{
    int error = 0;
    switch (write_file_frame(request->header.execution, request->header.detail, &request->write,
                             &error)) {
    case WRITE_GOES_ON:
        return NULL;
    case WRITE_MISPLACED:
        return "a WRITE out of order, or too many at once";
    case WRITE_FINISHED:
        break;
    }
    unsigned char *payload = connection_reserve(4);
    if (!payload)
        return "no memory for WRITE_DONE";
    put_u32(payload, (uint32_t)error);
    connection_queue((struct frame_header){4, FRAME_WRITE_DONE, 0, request->header.execution});
    return NULL;
}

static const char *(*const takers[])(const struct request *request) = {
    [FRAME_HELLO] = take_hello,   [FRAME_STDIN] = take_input, [FRAME_SPAWN] = take_spawn,
    [FRAME_CREDIT] = take_credit, [FRAME_KILL] = take_kill,   [FRAME_RESET] = take_reset,
    [FRAME_LOOKUP] = take_lookup, [FRAME_WRITE] = take_write,
};

static void take_requests(void)
{
    if (!connection_receive()) {
        end(RUNNER_ENDED, NULL);
        return;
    }
    struct request request;
    char objection[REQUEST_OBJECTION_SIZE];
    while (!runner.ended) {
        enum request_outcome outcome = connection_next(&request, objection);
        if (outcome == REQUEST_PARTIAL)
            return;
        if (outcome == REQUEST_REFUSED) {
            end(RUNNER_PROTOCOL, objection);
            return;
        }
        const char *out_of_place = "the first frame is not HELLO";
        if (runner.greeted || request.header.type == FRAME_HELLO)
            out_of_place = takers[request.header.type](&request);
        request_release(&request);
        if (out_of_place)
            end(RUNNER_PROTOCOL, out_of_place);
    }
}

/* Where frames go another way: its end, or somebody who has attached to the container and speaks. */
static void take_stream(void)
{
    char something;
    if (read(rendezvous_stream(), &something, 1) == 1)
        end(RUNNER_PROTOCOL,
            "somebody else than the host wrote to the runner's standard input; was the "
            "container attached to?");
    else
        end(RUNNER_ENDED, NULL);
}

/* ------------------------------------------------------------------------------------------------
 * The loop
 * --------------------------------------------------------------------------------------------- */

static void take_signals(void)
{
    struct signalfd_siginfo information;
    /* A sender without a number is outside of our namespace: an engine, which tells the host why. Code inside
     * has one. */
    while (read(runner.signals, &information, sizeof information) == (ssize_t)sizeof information)
        if (information.ssi_signo == SIGTERM && getpid() == 1 && information.ssi_pid == 0)
            end(RUNNER_TERMINATED, NULL);
    runner.reaped_all = executions_reap();
}

/*
 * Attack: the code has taken our limit of descriptors away (prlimit, from the same user), below what poll
 * watches. A runner that does not see its host's end would stay for ever.
 */
static void cannot_watch(void)
{
    end(RUNNER_PROTOCOL, limits_are_gone);
    const struct timespec pause = {0, (long)NANOSECONDS_PER_MILLISECOND};
    (void)nanosleep(&pause, NULL);
}

static uint64_t earlier(uint64_t left, uint64_t right)
{
    return left < right ? left : right;
}

static void step(uint64_t deadline)
{
    static struct pollfd *descriptors;
    static size_t capacity;
    enum { INPUT, OUTPUT, STREAM, SIGNALS, OTHERS };
    size_t needed = OTHERS + executions_descriptors_max();
    if (needed > capacity) {
        struct pollfd *grown = realloc(descriptors, 2 * needed * sizeof *descriptors);
        if (!grown) {
            end(RUNNER_PROTOCOL, "no memory");
            return;
        }
        descriptors = grown;
        capacity = 2 * needed;
    }
    descriptors[INPUT] =
        (struct pollfd){runner.ended || runner.input_ended ? -1 : STDIN_FILENO, POLLIN, 0};
    descriptors[OUTPUT] =
        (struct pollfd){connection_awaits_room() ? STDOUT_FILENO : -1, POLLOUT, 0};
    descriptors[STREAM] =
        (struct pollfd){runner.ended || runner.input_ended ? -1 : rendezvous_stream(), POLLIN, 0};
    descriptors[SIGNALS] = (struct pollfd){runner.signals, POLLIN, 0};
    size_t count = OTHERS + executions_watch(descriptors + OTHERS);
    deadline = earlier(deadline, connection_due());
    deadline = runner.reaped_all ? earlier(deadline, executions_deadline()) : 0;
    int ready = poll(descriptors, count, poll_timeout(deadline));
    if (ready < 0 && errno == EINVAL)
        cannot_watch();
    if (ready >= 0) {
        if (descriptors[OUTPUT].revents)
            connection_flush();
        executions_polled(descriptors + OTHERS);
        if (descriptors[SIGNALS].revents || !runner.reaped_all)
            take_signals();
        if (descriptors[INPUT].revents)
            take_requests();
        if (descriptors[STREAM].revents)
            take_stream();
    }
    executions_advance();
    if (connection_due() <= now_ns())
        connection_flush();
    if (connection_broken())
        end(RUNNER_ENDED, NULL);
    if (!runner.ended)
        executions_prepare();
}

/* The host is gone, and what code has left running is to go on (stay.h). Returns when it is not, after all. */
static void stay(void)
{
    runner.input_ended = true;
    while (runner.status == RUNNER_ENDED) {
        runner.ended = false;
        step(NEVER);
    }
}

/* Returns when all that was started is dead, or does not die. */
static void shut_down(void)
{
    connection_drain(LAST_WORDS_MS);
    write_file_close();
    if (getpid() == 1)
        return; /* the kernel kills the rest of the namespace with us */
    close(STDOUT_FILENO);
    executions_shut_down();
    uint64_t deadline = moment_after(SHUT_DOWN_MS);
    while (!executions_gone() && now_ns() < deadline)
        step(deadline);
}

int main(int count, char **words)
{
    if (count > 1 && strcmp(words[1], COLLECT_WORD) == 0)
        return collect_main(count - 2, words + 2);
    if (count > 1 && strcmp(words[1], SHARE_WORD) == 0)
        return share_main();
    guard_runner();
    if (guest_enter(count, words))
        return RUNNER_ENDED;
    tree_prepare();
    launch_open();
    write_file_open();
    memory_events_open();
    sigset_t watched;
    sigemptyset(&watched);
    sigaddset(&watched, SIGCHLD);
    sigaddset(&watched, SIGTERM);
    runner.signals = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
    if (runner.signals < 0 || fcntl(STDIN_FILENO, F_GETFD) < 0 || fcntl(STDOUT_FILENO, F_GETFD) < 0)
        return RUNNER_PROTOCOL;
    if (isatty(STDIN_FILENO)) {
        dprintf(STDERR_FILENO,
                "runner: a part of code_executor that its plugins start, not people\n");
        return RUNNER_PROTOCOL;
    }
    connection_open();
    runner.reaped_all = true;
    runner.hello_deadline = moment_after(HELLO_DEADLINE_SECONDS * 1000u);
    while (!runner.ended) {
        step(runner.greeted ? NEVER : runner.hello_deadline);
        if (!runner.greeted && now_ns() >= runner.hello_deadline)
            end(RUNNER_PROTOCOL, "no HELLO came in time");
    }
    if (count == 2 && strcmp(words[1], RUNNER_STAYS) == 0 && runner.greeted)
        stay();
    shut_down();
    guest_leave();
    return runner.status;
}
