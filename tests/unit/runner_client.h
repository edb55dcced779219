/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runner_client.h: the host's end of the frame protocol, as small as tests want it.
 *
 * It drives the real runner over a socket pair or two pipes. Whatever goes wrong fails the cmocka test
 * that is running. The test process is made a subreaper, so what a runner leaves behind becomes its child
 * and client_end sees it.
 */
#ifndef CODE_EXECUTOR_TESTS_RUNNER_CLIENT_H
#define CODE_EXECUTOR_TESTS_RUNNER_CLIENT_H

#include <protocol.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* How a runner is started; all zero is the ordinary way. */
typedef struct client_options {
    const char *folder;      /* where it is started; NULL: here */
    uint32_t flags;          /* of HELLO */
    bool silent;             /* send no HELLO */
    bool over_pipes;         /* not over a socket pair */
    void (*prepare)(void *); /* in the child, before exec */
    void *prepare_argument;
    bool own_pid_namespace; /* the runner is PID 1 */
} client_options;

typedef struct client {
    pid_t pid;
    int to_runner;
    int from_runner;
} client;

client client_start(const client_options *options);

/* Closes the connection and waits for the runner. Fails where any process is left. Returns the status of
 * waitpid. */
int client_end(client *self);
/* The same for a runner that ends by itself or was killed. */
int client_await_end(client *self);

void client_send(client *self, uint16_t type, uint16_t detail, uint32_t execution,
                 const void *bytes, size_t length);

typedef struct client_frame {
    struct frame_header header;
    unsigned char *payload; /* until the next receive */
} client_frame;

/* False: end-of-file. */
bool client_receive(client *self, client_frame *frame);
/* Whether something can be received within MILLISECONDS. */
bool client_readable(client *self, int milliseconds);

/* Payloads are put together in one of these. */
typedef struct payload {
    unsigned char *bytes;
    size_t length;
    size_t capacity;
} payload;
void payload_u32(payload *self, uint32_t value);
void payload_string(payload *self, const char *string);
void payload_strings(payload *self, const char *const *strings); /* count and strings */
void payload_bytes(payload *self, const void *bytes, size_t length);
void payload_free(payload *self);

/* What to run; all zero but the command is the ordinary way. */
typedef struct client_command {
    const char *script;                   /* for sh -c, or: */
    const char *const *const *candidates; /* argument vectors, each and all ending in NULL */
    const char *folder;
    const char *const *defaults;
    const char *const *additions;
    uint32_t timeout_ms;
    uint32_t grace_ms;
    uint32_t credit; /* 0: much */
    bool no_credit;
    const char *input; /* standard input */
} client_command;

void client_spawn(client *self, uint32_t number, const client_command *command);
void client_credit(client *self, uint32_t number, uint32_t count);
void client_kill(client *self, uint32_t number, uint32_t signal, uint32_t grace_ms);

typedef struct client_exit {
    uint32_t how;
    uint32_t exit_code;
    uint32_t signal;
    uint32_t error;
    uint32_t candidate;
    uint64_t wall_ns;
    uint64_t cpu_ns;
    uint64_t peak_memory_bytes;
    char detail[1024];
    /* All of it, NUL-terminated; [0] both in order of arrival, [1] stdout, [2] stderr. */
    char *output[3];
    size_t length[3];
} client_exit;

/* Receives until execution NUMBER has ended. Frames of others fail the test. */
client_exit client_wait(client *self, uint32_t number);
client_exit client_run(client *self, const client_command *command);
client_exit client_run_script(client *self, const char *script);
void client_exit_free(client_exit *self);

/* Takes an EXIT payload apart. */
void client_parse_exit(const client_frame *frame, client_exit *result);

/* RESET and its answer. */
void client_reset(client *self);

/* A fresh folder, current for this process until it is removed with all in it. */
void folder_enter(void);
void folder_leave(void);
bool file_exists(const char *path);
/* Waits until PATH is there; fails the test after a generous while. */
void await_file(const char *path);
/* The number in the file at PATH. */
int read_number(const char *path);

/* Skips the test, in words, unless CODE_EXECUTOR_REQUIRE_ALL is set: then it fails. */
void skip_because(const char *reason);

/* cmocka fixtures: a folder around each test, and no child before and after. */
int runner_test_setup(void **state);
int runner_test_teardown(void **state);
#define RUNNER_TEST(test)                                                                          \
    cmocka_unit_test_setup_teardown(test, runner_test_setup, runner_test_teardown)

#endif /* CODE_EXECUTOR_TESTS_RUNNER_CLIENT_H */
