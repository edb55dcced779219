/* SPDX-License-Identifier: Apache-2.0 */
/*
 * execution.h: one execute of the plugin under test, and all that came of it: what the callbacks saw, the
 * result, the status. Made here, or on a thread of its own.
 *
 *     struct execution execution;
 *     execution_prepare(&execution, subject, instance, 1);
 *     execution_add(&execution, PROBE_PRINT);
 *     execution_run(&execution);                        // or _begin, ..., _end
 *     must_complete(&execution);
 */
#ifndef HOST_DEMO_CHECK_EXECUTION_H
#define HOST_DEMO_CHECK_EXECUTION_H

#include "subject.h"
#include <pthread.h>

enum { BLOCKS_MAX = 4, STREAMS = 4 };

struct execution {
    struct subject *subject;
    code_executor_instance *instance;
    code_executor_block blocks[BLOCKS_MAX];
    const code_executor_block *pointers[BLOCKS_MAX];
    code_executor_request request;
    const struct probe *probes[BLOCKS_MAX];

    int32_t begin_answer; /* what the callbacks return */
    int32_t output_answer;
    size_t keeps; /* how much of each stream is kept below, in each block */

    /* What came. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool has_begun;
    bool has_ended;
    size_t begun_count;
    size_t begun[BLOCKS_MAX];
    size_t last_begun;
    struct bytes streams[BLOCKS_MAX][STREAMS]; /* 0: all of them */
    uint64_t counts[BLOCKS_MAX][STREAMS];
    char wrong[200]; /* a callback that came where none may, or "" */
    int32_t status;
    code_executor_error error;
    code_executor_result *result;

    pthread_t caller; /* the thread on which execute is called */
    pthread_t thread; /* the one that execution_begin has started */
};

void execution_prepare(struct execution *execution, struct subject *subject,
                       code_executor_instance *instance, uint64_t id);

/* Adds a block; a rule that needs one for which there is no code is not applicable. */
void execution_add(struct execution *execution, enum probe_kind kind);
void execution_add_code(struct execution *execution, const char *language, const char *code);

/* Calls execute and looks at the shape of what it returned, which no rule need do again. */
void execution_run(struct execution *execution);

/* The same on another thread: begin returns when on_begin has come (or execute has returned). */
void execution_begin(struct execution *execution);
void execution_end(struct execution *execution);

void execution_free(struct execution *execution);

/* Expectations of an execution that has ended. */
void must_complete(struct execution *execution);
void must_be_cancelled(struct execution *execution);
void must_be_refused(struct execution *execution, int32_t status, const char *reason,
                     const char *words);
void must_have_written(struct execution *execution, size_t block, int32_t stream, const char *bytes,
                       size_t length);

/* One block that prints, run and freed: the instance works. */
void must_print(struct subject *subject, code_executor_instance *instance, uint64_t id);

/* Bytes as C writes them, cut where they are long, in a buffer of this thread's. */
const char *quoted(const char *bytes, size_t length);

#endif /* HOST_DEMO_CHECK_EXECUTION_H */
