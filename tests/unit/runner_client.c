/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runner_client.c: see runner_client.h.
 */
#include "runner_client.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* A test that takes this long hangs. */
#define PATIENCE_SECONDS 120

extern char **environ;

/* ------------------------------------------------------------------------------------------------
 * Payloads
 * --------------------------------------------------------------------------------------------- */

void payload_bytes(payload *self, const void *bytes, size_t length)
{
    if (self->length + length > self->capacity) {
        self->capacity = 2 * (self->length + length) + 64;
        self->bytes = realloc(self->bytes, self->capacity);
        assert_non_null(self->bytes);
    }
    if (length > 0)
        memcpy(self->bytes + self->length, bytes, length);
    self->length += length;
}

void payload_u32(payload *self, uint32_t value)
{
    unsigned char bytes[4];
    put_u32(bytes, value);
    payload_bytes(self, bytes, sizeof bytes);
}

void payload_string(payload *self, const char *string)
{
    payload_u32(self, (uint32_t)strlen(string));
    payload_bytes(self, string, strlen(string));
}

void payload_strings(payload *self, const char *const *strings)
{
    uint32_t count = 0;
    while (strings && strings[count])
        count++;
    payload_u32(self, count);
    for (uint32_t i = 0; i < count; i++)
        payload_string(self, strings[i]);
}

void payload_free(payload *self)
{
    free(self->bytes);
    *self = (payload){0};
}

/* ------------------------------------------------------------------------------------------------
 * The connection
 * --------------------------------------------------------------------------------------------- */

/* The runner that the current test has started last and not yet ended. */
static client current = {-1, -1, -1};

static void exec_runner(const client_options *options, int input, int output, int program)
{
    char *arguments[] = {(char *)"runner", NULL};
    if (getenv("CODE_EXECUTOR_TEST_RUNNER"))
        setenv("ASAN_OPTIONS", "detect_leaks=0", 1); /* that needs ptrace, which it denies */
    if (options->prepare)
        options->prepare(options->prepare_argument);
    if (options->folder && chdir(options->folder) != 0)
        _exit(126);
    if (dup2(input, 0) < 0 || dup2(output, 1) < 0)
        _exit(126);
    fexecve(program, arguments, environ);
    _exit(126);
}

/* In a pid namespace of its own the runner is the child of this child, which waits for it. */
static void run_as_first(const client_options *options, int input, int output, int program)
{
    if (unshare(CLONE_NEWPID) != 0)
        _exit(125);
    pid_t pid = fork();
    if (pid == 0)
        exec_runner(options, input, output, program);
    close(input);
    close(output);
    int status = 0;
    if (waitpid(pid, &status, 0) != pid)
        _exit(125);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

static void greet(client *self, uint32_t flags)
{
    payload hello = {0};
    payload_u32(&hello, PROTOCOL_MAGIC);
    payload_u32(&hello, PROTOCOL_VERSION);
    payload_u32(&hello, flags);
    client_send(self, FRAME_HELLO, 0, 0, hello.bytes, hello.length);
    payload_free(&hello);
    client_frame frame;
    assert_true(client_receive(self, &frame));
    assert_int_equal(frame.header.type, FRAME_HELLO);
    assert_int_equal(get_u32(frame.payload), PROTOCOL_MAGIC);
    assert_int_equal(get_u32(frame.payload + 4), PROTOCOL_VERSION);
}

client client_start(const client_options *options)
{
    static const client_options ordinary;
    if (!options)
        options = &ordinary;
    alarm(PATIENCE_SECONDS);
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    int there[2];
    int back[2];
    if (options->over_pipes) {
        assert_int_equal(pipe2(there, O_CLOEXEC), 0);
        assert_int_equal(pipe2(back, O_CLOEXEC), 0);
    } else {
        int pair[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        there[0] = pair[0];
        there[1] = pair[1];
        back[0] = fcntl(pair[1], F_DUPFD_CLOEXEC, 0);
        back[1] = fcntl(pair[0], F_DUPFD_CLOEXEC, 0);
    }
    const char *other = getenv("CODE_EXECUTOR_TEST_RUNNER"); /* one that is sanitized, say */
    int program = open(other ? other : RUNNER_PROGRAM, O_RDONLY | O_CLOEXEC);
    assert_true(program >= 0);
    client self = {.pid = fork(), .to_runner = there[1], .from_runner = back[0]};
    assert_true(self.pid >= 0);
    if (self.pid == 0) {
        close(there[1]);
        close(back[0]);
        if (options->own_pid_namespace)
            run_as_first(options, there[0], back[1], program);
        exec_runner(options, there[0], back[1], program);
    }
    close(program);
    close(there[0]);
    close(back[1]);
    current = self;
    if (!options->silent)
        greet(&self, options->flags);
    return self;
}

int client_await_end(client *self)
{
    int status = 0;
    assert_int_equal(waitpid(self->pid, &status, 0), self->pid);
    current.pid = -1;
    close(self->to_runner);
    close(self->from_runner);
    /* What it left behind fell to us. It may be dying still, but must be on its way. */
    while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
        continue;
    assert_int_equal(errno, ECHILD);
    return status;
}

int client_end(client *self)
{
    shutdown(self->to_runner, SHUT_WR);
    close(self->to_runner);
    self->to_runner = -1;
    client_frame frame;
    while (client_receive(self, &frame))
        continue;
    return client_await_end(self);
}

static void write_all(int descriptor, const void *bytes, size_t length)
{
    const char *at = bytes;
    while (length > 0) {
        ssize_t count = write(descriptor, at, length);
        if (count < 0 && (errno == EPIPE || errno == ECONNRESET))
            return; /* the runner has gone; its last words tell why */
        assert_true(count > 0);
        at += count;
        length -= (size_t)count;
    }
}

void client_send(client *self, uint16_t type, uint16_t detail, uint32_t execution,
                 const void *bytes, size_t length)
{
    unsigned char header[FRAME_HEADER_SIZE];
    put_frame_header(header, (struct frame_header){(uint32_t)length, type, detail, execution});
    write_all(self->to_runner, header, sizeof header);
    write_all(self->to_runner, bytes, length);
}

static bool read_all(int descriptor, void *bytes, size_t length)
{
    char *at = bytes;
    while (length > 0) {
        ssize_t count = read(descriptor, at, length);
        if (count <= 0)
            return false;
        at += count;
        length -= (size_t)count;
    }
    return true;
}

bool client_receive(client *self, client_frame *frame)
{
    static unsigned char buffer[FRAME_PAYLOAD_MAX + 1];
    unsigned char header[FRAME_HEADER_SIZE];
    if (!read_all(self->from_runner, header, sizeof header))
        return false;
    frame->header = get_frame_header(header);
    frame->payload = buffer;
    assert_true(frame->header.length <= FRAME_PAYLOAD_MAX);
    assert_true(read_all(self->from_runner, buffer, frame->header.length));
    buffer[frame->header.length] = '\0';
    return true;
}

bool client_readable(client *self, int milliseconds)
{
    struct pollfd descriptor = {self->from_runner, POLLIN, 0};
    return poll(&descriptor, 1, milliseconds) == 1;
}

/* ------------------------------------------------------------------------------------------------
 * Commands
 * --------------------------------------------------------------------------------------------- */

void client_spawn(client *self, uint32_t number, const client_command *command)
{
    if (command->input)
        client_send(self, FRAME_STDIN, 0, number, command->input, strlen(command->input));
    const char *const shell[] = {"sh", "-c", command->script, NULL};
    const char *const *const only_shell[] = {shell, NULL};
    const char *const *const *candidates = command->candidates ? command->candidates : only_shell;
    uint32_t count = 0;
    while (candidates[count])
        count++;
    payload spawn = {0};
    payload_u32(&spawn, command->timeout_ms);
    payload_u32(&spawn, command->grace_ms);
    payload_u32(&spawn, command->credit || command->no_credit ? command->credit : 1u << 30);
    payload_u32(&spawn, 0);
    payload_string(&spawn, command->folder ? command->folder : "");
    payload_strings(&spawn, command->defaults);
    payload_strings(&spawn, command->additions);
    payload_u32(&spawn, count);
    for (uint32_t i = 0; i < count; i++)
        payload_strings(&spawn, candidates[i]);
    client_send(self, FRAME_SPAWN, 0, number, spawn.bytes, spawn.length);
    payload_free(&spawn);
}

void client_credit(client *self, uint32_t number, uint32_t count)
{
    unsigned char bytes[4];
    put_u32(bytes, count);
    client_send(self, FRAME_CREDIT, 0, number, bytes, sizeof bytes);
}

void client_kill(client *self, uint32_t number, uint32_t signal, uint32_t grace_ms)
{
    unsigned char bytes[8];
    put_u32(bytes, signal);
    put_u32(bytes + 4, grace_ms);
    client_send(self, FRAME_KILL, 0, number, bytes, sizeof bytes);
}

static void keep_output(client_exit *result, int stream, const void *bytes, size_t length)
{
    result->output[stream] = realloc(result->output[stream], result->length[stream] + length + 1);
    assert_non_null(result->output[stream]);
    memcpy(result->output[stream] + result->length[stream], bytes, length);
    result->length[stream] += length;
    result->output[stream][result->length[stream]] = '\0';
}

void client_parse_exit(const client_frame *frame, client_exit *result)
{
    struct payload_reader reader = {frame->payload, frame->header.length, 0};
    result->how = read_u32(&reader);
    result->exit_code = read_u32(&reader);
    result->signal = read_u32(&reader);
    result->error = read_u32(&reader);
    result->candidate = read_u32(&reader);
    result->wall_ns = read_u64(&reader);
    result->cpu_ns = read_u64(&reader);
    result->peak_memory_bytes = read_u64(&reader);
    uint32_t length = 0;
    const char *detail = read_string(&reader, &length);
    assert_false(reader.failed);
    assert_int_equal(reader.left, 0);
    snprintf(result->detail, sizeof result->detail, "%.*s", (int)length, detail);
}

client_exit client_wait(client *self, uint32_t number)
{
    client_exit result = {0};
    for (int stream = 0; stream < 3; stream++)
        keep_output(&result, stream, "", 0);
    for (;;) {
        client_frame frame;
        if (!client_receive(self, &frame))
            fail_msg("the runner has gone");
        if (frame.header.type == FRAME_ERROR)
            fail_msg("the runner says: %s", (const char *)frame.payload);
        assert_int_equal(frame.header.execution, number);
        if (frame.header.type == FRAME_EXIT) {
            client_parse_exit(&frame, &result);
            return result;
        }
        assert_int_equal(frame.header.type, FRAME_OUTPUT);
        assert_in_range(frame.header.detail, 1, 2);
        assert_in_range(frame.header.length, 1, OUTPUT_PAYLOAD_MAX);
        keep_output(&result, 0, frame.payload, frame.header.length);
        keep_output(&result, frame.header.detail, frame.payload, frame.header.length);
    }
}

client_exit client_run(client *self, const client_command *command)
{
    client_spawn(self, 1, command);
    return client_wait(self, 1);
}

client_exit client_run_script(client *self, const char *script)
{
    return client_run(self, &(client_command){.script = script});
}

void client_exit_free(client_exit *self)
{
    for (int stream = 0; stream < 3; stream++)
        free(self->output[stream]);
    *self = (client_exit){0};
}

void client_reset(client *self)
{
    client_send(self, FRAME_RESET, 0, 0, NULL, 0);
    client_frame frame;
    assert_true(client_receive(self, &frame));
    assert_int_equal(frame.header.type, FRAME_RESET_DONE);
}

/* ------------------------------------------------------------------------------------------------
 * Files
 * --------------------------------------------------------------------------------------------- */

static char folder_before[PATH_MAX];
static char folder_now[PATH_MAX];

void folder_enter(void)
{
    assert_non_null(getcwd(folder_before, sizeof folder_before));
    strcpy(folder_now, "/tmp/runner-test-XXXXXX");
    assert_non_null(mkdtemp(folder_now));
    assert_int_equal(chmod(folder_now, 0777), 0); /* runners of other users write here, too */
    assert_int_equal(chdir(folder_now), 0);
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

void folder_leave(void)
{
    assert_int_equal(chdir(folder_before), 0);
    assert_int_equal(nftw(folder_now, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
}

bool file_exists(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0;
}

void await_file(const char *path)
{
    for (int i = 0; i < PATIENCE_SECONDS * 100 && !file_exists(path); i++)
        usleep(10000);
    assert_true(file_exists(path));
}

int read_number(const char *path)
{
    int number = 0;
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%d", &number), 1);
    fclose(file);
    return number;
}

void skip_because(const char *reason)
{
    if (getenv("CODE_EXECUTOR_REQUIRE_ALL"))
        fail_msg("%s", reason);
    print_message("skipped: %s\n", reason);
    skip();
}

int runner_test_setup(void **state)
{
    (void)state;
    folder_enter();
    return 0;
}

int runner_test_teardown(void **state)
{
    (void)state;
    if (current.pid > 0) {
        /* The test has failed. */
        close(current.to_runner);
        close(current.from_runner);
        kill(current.pid, SIGKILL);
        while (waitpid(-1, NULL, 0) > 0)
            continue;
        current.pid = -1;
    }
    alarm(0);
    folder_leave();
    return 0;
}
