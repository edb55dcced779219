/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_internal.h: what the parts of the session share. See session.h for what a session is.
 *
 *     session.c        opening, ending, and the reading of frames by whichever thread waits
 *     session_run.c    a command: its credit, its output, cancelling it
 *     session_calls.c  what is asked and answered once: lookup, write, reset
 *     connection.c     the frames and the lock
 *
 * A *call* is something that a thread sent and now waits for: a run or a request. It lives on the
 * thread's stack, and in the session's table from the moment its number is taken to its last frame.
 * Everything in it is under the connection's lock.
 */
#ifndef CODE_EXECUTOR_SESSION_INTERNAL_H
#define CODE_EXECUTOR_SESSION_INTERNAL_H

#include "connection.h"
#include "session.h"

/* Overridden by tests, which do not want to wait as long. How late an answer may be: of a request, of a
 * command whose time was up, of one that was cancelled. */
#ifndef SESSION_ANSWER_MS
#define SESSION_ANSWER_MS 30000
#endif
#ifndef SESSION_BACKSTOP_MS
#define SESSION_BACKSTOP_MS 30000
#endif
#ifndef SESSION_CANCEL_BACKSTOP_MS
#define SESSION_CANCEL_BACKSTOP_MS 10000
#endif

enum { SESSION_BUCKETS = 64 };

enum call_kind { CALL_RUN, CALL_LOOKUP, CALL_WRITE, CALL_RESET };

struct call {
    enum call_kind kind;
    uint32_t number;
    bool filed;        /* in the table */
    struct call *next; /* in its bucket */
    /* Its thread sleeps on this condition while another one reads. */
    pthread_cond_t news;
    bool asleep;
    struct call *previous_sleeper;
    struct call *next_sleeper;
    bool has_news;
    bool done;        /* its last frame has come */
    int64_t deadline; /* when that should have been there; -1: none */
    /* Takes the frame in. Not OK: the runner talks nonsense. */
    int32_t (*take)(session *session, struct call *call, struct frame_header header,
                    struct payload_reader *reader, code_executor_error *error);
};

struct session {
    connection connection;
    atomic_size_t references;
    bool greeted; /* the runner's HELLO has come */
    bool reading; /* a thread has the duty to read */
    struct call *sleepers;
    struct call *buckets[SESSION_BUCKETS];
    size_t call_count;
    size_t write_count; /* of call_count, how many are files */
    uint32_t last_number;
    struct call *reset; /* the one RESET that is under way, which has no number */
};

/* False: no condition could be made. */
bool call_prepare(struct call *call, enum call_kind kind, int64_t deadline);
void call_discard(struct call *call);

/* Files it under a number that is free, and takes it out again. */
void call_file(session *session, struct call *call);
void call_unfile(session *session, struct call *call);

/* Tells its thread. */
void call_notify(struct call *call);

/* Returns when the call has news or is done or the connection is over, which it is also when the call's
 * deadline has passed. */
void call_await(session *session, struct call *call);

/* Waits until there are few enough calls for one more and no reset is under way; until *STOP, which may
 * be NULL; until the connection is over. */
void session_await_turn(session *session, const bool *stop);

/* Sends, and waits until there is room in the output, as above. */
void session_await_room(session *session, const bool *stop);

/* Sends the whole output, if that does not take long; what is left goes out while its thread reads. */
void session_push(session *session, const bool *stop);

/* What to tell a caller whom the end of the connection left without an answer. */
int32_t session_over_error(session *session, code_executor_error *error);

/* Ends every run in flight as cancelled; see session_run.c. */
void session_mark_runs_cancelled(session *session);

#endif /* CODE_EXECUTOR_SESSION_INTERNAL_H */
