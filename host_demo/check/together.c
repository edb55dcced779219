/* SPDX-License-Identifier: Apache-2.0 */
/*
 * together.c: rules about calls from several threads at once. What runs meanwhile is code that waits for
 * longer than anyone does, so that an end is always somebody's doing.
 */
#include "execution.h"
#include <time.h>

static void begin_waiting(struct execution *execution, struct subject *subject,
                          code_executor_instance *instance, uint64_t id)
{
    execution_prepare(execution, subject, instance, id);
    execution_add(execution, PROBE_WAIT);
    execution_begin(execution);
}

static code_executor_instance *prepare(struct subject *subject)
{
    subject_load(subject);
    need_probe(subject, PROBE_WAIT);
    return must_create(subject);
}

static void must_cancel(struct subject *subject, code_executor_instance *instance, uint64_t id)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    step(subject, "cancel");
    expect(subject, "cancel of what runs succeeds");
    int32_t status = subject->table->cancel(instance, id, &error);
    if (status != CODE_EXECUTOR_OK)
        saw_status(subject, status, &error);
}

/* Also a moment later: what was ended by mistake may take one to end. */
static void must_still_run(struct execution *execution, const char *meanwhile)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 100000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    expect(execution->subject, "another execution still runs %s", meanwhile);
    pthread_mutex_lock(&execution->lock);
    int late = 0;
    while (!execution->has_ended && late == 0)
        late = pthread_cond_timedwait(&execution->changed, &execution->lock, &until);
    bool ended = execution->has_ended;
    pthread_mutex_unlock(&execution->lock);
    if (!ended)
        return;
    if (execution->status != CODE_EXECUTOR_OK)
        saw_status(execution->subject, execution->status, &execution->error);
    saw(execution->subject, "it has ended: %s",
        code_executor_outcome_name(execution->result->outcome));
}

static void end_as_cancelled(struct execution *execution)
{
    execution_end(execution);
    must_be_cancelled(execution);
    execution_free(execution);
}

void rule_cancel(struct subject *subject)
{
    struct execution execution;
    code_executor_instance *instance = prepare(subject);
    begin_waiting(&execution, subject, instance, 7);
    must_cancel(subject, instance, 7);
    end_as_cancelled(&execution);
    must_print(subject, instance, 7);
    destroy(subject, instance);
}

void rule_cancel_spares_others(struct subject *subject)
{
    struct execution one, other;
    code_executor_instance *instance = prepare(subject);
    begin_waiting(&one, subject, instance, 1);
    begin_waiting(&other, subject, instance, 2);
    must_cancel(subject, instance, 2);
    end_as_cancelled(&other);
    must_still_run(&one, "when one was cancelled");
    must_cancel(subject, instance, 1);
    end_as_cancelled(&one);
    destroy(subject, instance);
}

void rule_cancel_all(struct subject *subject)
{
    struct execution one, other;
    code_executor_instance *instance = prepare(subject);
    begin_waiting(&one, subject, instance, 1);
    begin_waiting(&other, subject, instance, 2);
    must_cancel(subject, instance, 0);
    end_as_cancelled(&one);
    end_as_cancelled(&other);
    destroy(subject, instance);
}

void rule_overlap(struct subject *subject)
{
    struct execution waiting;
    code_executor_instance *instance = prepare(subject);
    begin_waiting(&waiting, subject, instance, 1);
    must_print(subject, instance, 2);
    must_still_run(&waiting, "when one beside it has ended");
    must_cancel(subject, instance, 1);
    end_as_cancelled(&waiting);
    destroy(subject, instance);
}

void rule_id_in_flight(struct subject *subject)
{
    struct execution waiting, second;
    code_executor_instance *instance = prepare(subject);
    begin_waiting(&waiting, subject, instance, 1);
    execution_prepare(&second, subject, instance, 1);
    execution_add(&second, PROBE_PRINT);
    execution_run(&second);
    must_be_refused(&second, CODE_EXECUTOR_INVALID, "an id that is in flight", NULL);
    execution_free(&second);
    must_still_run(&waiting, "when its id was refused to another");
    must_cancel(subject, instance, 1);
    end_as_cancelled(&waiting);
    destroy(subject, instance);
}

void rule_stop_ends_executions(struct subject *subject)
{
    struct execution execution;
    code_executor_instance *instance = prepare(subject);
    begin_waiting(&execution, subject, instance, 1);
    must_stop(subject, instance);
    end_as_cancelled(&execution);
    must_be_in_state(subject, instance, "stopped");
    must_print(subject, instance, 1);
    destroy(subject, instance);
}

void rule_restart_ends_executions(struct subject *subject)
{
    struct execution execution;
    code_executor_instance *instance = prepare(subject);
    begin_waiting(&execution, subject, instance, 1);
    must_restart(subject, instance);
    end_as_cancelled(&execution);
    must_be_in_state(subject, instance, "started");
    must_print(subject, instance, 1);
    destroy(subject, instance);
}
