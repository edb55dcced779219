/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.h: the host's end of the runner's frame protocol (plugins/runner/protocol.h).
 *
 * A session is one connection to one runner. Many threads may run commands over it at once, and the
 * runs overlap. There is no reader thread: of the threads that wait for a run of theirs, one at a time
 * (the *reader*) waits for the transport, takes in what came, files each frame under the run it belongs
 * to, and wakes that run's thread; a reader whose own run has news hands the duty on before it attends
 * to it, so that a callback that blocks delays its own run alone. When nobody runs, nobody reads, and
 * the process is idle.
 */
#ifndef CODE_EXECUTOR_SESSION_H
#define CODE_EXECUTOR_SESSION_H

#include "error.h"
#include "transport.h"
#include <code_executor.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct session session;

/*
 * Shakes hands with the runner behind TRANSPORT, which belongs to the session from now on, also when
 * this fails. Gives up when CANCEL_FD (-1: none) becomes readable (CANCELLED), when no answer comes
 * within the protocol's deadline (TIMED_OUT), and when the other side ends (LOST, with the transport's
 * explanation). The caller owns one reference.
 */
int32_t session_open(transport *transport, bool keep_ptrace, int cancel_fd, session **opened,
                     code_executor_error *error);

/* References. The last one that is dropped frees the session, after session_end. */
session *session_retain(session *session);
void session_release(session *session);

/* Closes the connection, so that the runner kills all it started and exits. Runs in flight return as
 * cancelled, with what output had come. Idempotent; from any thread. */
void session_end(session *session);

/* False once the connection has ended, for whatever reason. Does no I/O of its own, but notices an end
 * that has already arrived. */
bool session_alive(session *session);

/*
 * The means to cancel runs from another thread: one for each execution of the ABI, through all of its
 * blocks. Once cancelled, every later run with it ends at once.
 */
typedef struct session_canceller session_canceller;
session_canceller *session_canceller_new(void); /* NULL: no memory */
void session_canceller_free(session_canceller *canceller);
void session_cancel(session_canceller *canceller); /* any thread, any number of times */
bool session_cancelled(const session_canceller *canceller);

typedef struct session_command {
    const char *folder;
    const char *const *environment_defaults; /* "NAME=value", hold where NAME is unset */
    size_t environment_default_count;
    const char *const *environment; /* "NAME=value", hold in any case */
    size_t environment_count;
    /* Argument vectors, each NULL-terminated; the first whose program is found is run. */
    const char *const *const *candidates;
    size_t candidate_count;
    uint32_t timeout_ms; /* 0: none */
    uint32_t grace_ms;   /* from SIGTERM to SIGKILL */
    uint32_t silence_ms; /* for how long nothing of it may come at most; 0: any time */
    const char *stdin_bytes;
    size_t stdin_length;
    void *user_data;
    /* On the thread that called session_run, without locks held. False: cancel. */
    bool (*on_output)(void *user_data, int32_t stream, const char *bytes, size_t length);
} session_command;

typedef struct session_exit {
    uint32_t how; /* enum exit_how of protocol.h */
    uint32_t exit_code;
    uint32_t signal;
    uint32_t errnum;    /* EXIT_NOT_STARTED: why */
    uint32_t candidate; /* less than candidate_count, or CANDIDATE_NONE of protocol.h */
    uint64_t wall_ns;
    uint64_t cpu_ns;
    uint64_t peak_memory_bytes;
    char detail[512];
} session_exit;

/*
 * Runs one command to its end. Cancelled (by CANCELLER, by on_output, by session_end): OK, with
 * EXIT_CANCELLED. Fails with LOST (and the transport's explanation) when the connection ends before
 * the command did, with PROTOCOL when the runner talks nonsense, with TIMED_OUT when the runner does
 * not end a command long after its time was up (a paused container, say). The session is dead after
 * these three.
 */
int32_t session_run(session *session, const session_command *command, session_canceller *canceller,
                    session_exit *exited, code_executor_error *error);

/* Ends every process that the runner started; runs in flight return as cancelled. */
int32_t session_reset(session *session, code_executor_error *error);

/* Absolute paths, as the runner sees them, of COUNT programs; PATHS[i] is NULL where there is none,
 * else free(). */
int32_t session_lookup(session *session, const char *const *programs, size_t count, char **paths,
                       code_executor_error *error);

/* Writes a file beneath the folder in which the runner was started. */
int32_t session_write_file(session *session, const char *path, uint32_t mode, const char *bytes,
                           size_t length, code_executor_error *error);

#endif /* CODE_EXECUTOR_SESSION_H */
