/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocks.c: rules about what comes of code that runs.
 */
#include "execution.h"
#include <stdlib.h>
#include <string.h>

/* One block, on an instance that was not started. */
static void run_one(struct execution *execution, struct subject *subject, enum probe_kind kind)
{
    subject_load(subject);
    need_probe(subject, kind);
    execution_prepare(execution, subject, must_create(subject), 1);
    execution_add(execution, kind);
    execution_run(execution);
}

static void end(struct execution *execution)
{
    execution_free(execution);
    destroy(execution->subject, execution->instance);
}

void rule_execute_starts(struct subject *subject)
{
    struct execution execution;
    run_one(&execution, subject, PROBE_PRINT);
    must_complete(&execution);
    must_be_in_state(subject, execution.instance, "started");
    end(&execution);
}

void rule_stdout(struct subject *subject)
{
    struct execution execution;
    run_one(&execution, subject, PROBE_PRINT);
    const struct probe *probe = execution.probes[0];
    must_complete(&execution);
    must_have_written(&execution, 0, CODE_EXECUTOR_STREAM_STDOUT, probe->stdout_bytes,
                      probe->stdout_length);
    must_have_written(&execution, 0, CODE_EXECUTOR_STREAM_STDERR, "", 0);
    must_have_written(&execution, 0, 0, probe->stdout_bytes, probe->stdout_length);
    end(&execution);
}

void rule_stderr(struct subject *subject)
{
    struct execution execution;
    run_one(&execution, subject, PROBE_ERROR);
    const struct probe *probe = execution.probes[0];
    must_complete(&execution);
    must_have_written(&execution, 0, CODE_EXECUTOR_STREAM_STDERR, probe->stderr_bytes,
                      probe->stderr_length);
    if (probe->stdout_length == 0)
        must_have_written(&execution, 0, 0, probe->stderr_bytes, probe->stderr_length);
    end(&execution);
}

void rule_exit_code(struct subject *subject)
{
    struct execution execution;
    run_one(&execution, subject, PROBE_EXIT);
    must_complete(&execution);
    end(&execution);
}

void rule_several_blocks(struct subject *subject)
{
    enum { COUNT = 3 };
    struct execution execution;
    subject_load(subject);
    execution_prepare(&execution, subject, must_create(subject), 1);
    for (size_t i = 0; i < COUNT; i++)
        execution_add(&execution, PROBE_PRINT);
    execution_run(&execution);
    must_complete(&execution);
    expect(subject, "all of %d blocks are begun, in order", (int)COUNT);
    if (execution.begun_count != COUNT)
        saw(subject, "%zu were begun", execution.begun_count);
    for (size_t i = 0; i < COUNT; i++) {
        if (execution.begun[i] != i)
            saw(subject, "block %zu was begun as number %zu", execution.begun[i] + 1, i + 1);
        must_have_written(&execution, i, CODE_EXECUTOR_STREAM_STDOUT,
                          execution.probes[i]->stdout_bytes, execution.probes[i]->stdout_length);
    }
    end(&execution);
}

void rule_stops_at_failure(struct subject *subject)
{
    struct execution execution;
    subject_load(subject);
    execution_prepare(&execution, subject, must_create(subject), 1);
    execution_add(&execution, PROBE_PRINT);
    execution_add(&execution, PROBE_EXIT);
    execution_add(&execution, PROBE_PRINT);
    execution_run(&execution);
    expect(subject, "2 of 3 blocks are begun when the second fails");
    if (execution.begun_count != 2)
        saw(subject, "%zu were begun", execution.begun_count);
    must_complete(&execution);
    end(&execution);
}

void rule_bytes(struct subject *subject)
{
    struct execution execution;
    run_one(&execution, subject, PROBE_BYTES);
    must_complete(&execution);
    must_have_written(&execution, 0, CODE_EXECUTOR_STREAM_STDOUT, execution.probes[0]->stdout_bytes,
                      execution.probes[0]->stdout_length);
    end(&execution);
}

void rule_stdin(struct subject *subject)
{
    static const char input[] = "a\0b\n";
    struct execution execution;
    subject_load(subject);
    need_probe(subject, PROBE_STDIN);
    code_executor_instance *instance = must_create(subject);
    for (int i = 0; i < 2; i++) {
        size_t length = i == 0 ? sizeof input : 0;
        execution_prepare(&execution, subject, instance, 1);
        execution_add(&execution, PROBE_STDIN);
        execution.request.stdin_bytes = length == 0 ? NULL : input;
        execution.request.stdin_length = length;
        execution_run(&execution);
        must_complete(&execution);
        must_have_written(&execution, 0, CODE_EXECUTOR_STREAM_STDOUT, input, length);
        execution_free(&execution);
    }
    destroy(subject, instance);
}

void rule_environment(struct subject *subject)
{
    static const char *const variables[] = {"CODE_EXECUTOR_CHECK=a 'b' \"c\" $d"};
    static const char value[] = "a 'b' \"c\" $d";
    struct execution execution;
    subject_load(subject);
    need_probe(subject, PROBE_ENVIRONMENT);
    execution_prepare(&execution, subject, must_create(subject), 1);
    execution_add(&execution, PROBE_ENVIRONMENT);
    execution.request.environment = variables;
    execution.request.environment_count = 1;
    execution_run(&execution);
    must_complete(&execution);
    must_have_written(&execution, 0, CODE_EXECUTOR_STREAM_STDOUT, value, strlen(value));
    end(&execution);
}

/* What a result may keep of a stream: what is configured here, where that can be; else the default. */
static size_t bound_output(struct subject *subject)
{
    enum { SMALL = 65536, DEFAULT = 10 << 20 };
    json_object *schema = subject_schema(subject), *config = subject_config(subject);
    json_object *properties = NULL, *given = NULL;
    if (json_object_object_get_ex(config, "max_output_bytes", &given))
        return (size_t)json_object_get_int64(given);
    if (!json_object_object_get_ex(schema, "properties", &properties) ||
        !json_object_object_get_ex(properties, "max_output_bytes", NULL))
        return DEFAULT;
    json_object_object_add(config, "max_output_bytes", json_object_new_int(SMALL));
    subject->config.length = 0;
    bytes_append_text(&subject->config,
                      json_object_to_json_string_ext(config, JSON_C_TO_STRING_PLAIN));
    return SMALL;
}

static void check_bounded(struct execution *execution, size_t bound)
{
    enum { LINE = 200 }; /* what says how much was dropped */
    struct subject *subject = execution->subject;
    const code_executor_block_result *block = execution->result->blocks[0];
    uint64_t written = execution->probes[0]->bytes;
    const struct bytes *streamed = &execution->streams[0][CODE_EXECUTOR_STREAM_STDOUT];
    expect(subject, "on_output sees all %llu bytes", (unsigned long long)written);
    if (execution->counts[0][CODE_EXECUTOR_STREAM_STDOUT] != written)
        saw(subject, "%llu", (unsigned long long)execution->counts[0][CODE_EXECUTOR_STREAM_STDOUT]);
    expect(subject, "at most %zu bytes of stdout and output in the result", bound);
    if (block->stdout_length > bound + LINE || block->output_length > bound + LINE)
        saw(subject, "%zu and %zu", block->stdout_length, block->output_length);
    if (block->output_length >= written)
        return;
    expect(subject, "dropped_bytes says how much of output is not there: at least %llu",
           (unsigned long long)(written - block->output_length));
    if (block->dropped_bytes < written - block->output_length || block->dropped_bytes > written)
        saw(subject, "%llu", (unsigned long long)block->dropped_bytes);
    expect(subject, "the beginning of output is there");
    size_t head = streamed->length < block->output_length ? streamed->length : block->output_length;
    if (memcmp(block->output, bytes_text(streamed), head) != 0)
        saw(subject, "it begins with %s", quoted(block->output, head));
}

void rule_output_is_bounded(struct subject *subject)
{
    struct execution execution;
    subject_load(subject);
    need_probe(subject, PROBE_FLOOD);
    size_t bound = bound_output(subject);
    execution_prepare(&execution, subject, must_create(subject), 1);
    execution.keeps = 1000;
    execution_add(&execution, PROBE_FLOOD);
    execution_run(&execution);
    must_complete(&execution);
    check_bounded(&execution, bound);
    end(&execution);
}

void rule_time_limit(struct subject *subject)
{
    struct execution execution;
    subject_load(subject);
    need_probe(subject, PROBE_WAIT);
    execution_prepare(&execution, subject, must_create(subject), 1);
    execution_add(&execution, PROBE_WAIT);
    execution.request.timeout = 1;
    execution_run(&execution);
    expect(subject, "execute succeeds, with outcome timed_out and exit code 124");
    if (execution.status != CODE_EXECUTOR_OK)
        saw_status(subject, execution.status, &execution.error);
    if (execution.result->outcome != CODE_EXECUTOR_OUTCOME_TIMED_OUT ||
        execution.result->exit_code != 124) {
        saw(subject, "%s, exit code %d, output %s",
            code_executor_outcome_name(execution.result->outcome), (int)execution.result->exit_code,
            quoted(execution.result->output, execution.result->output_length));
    }
    end(&execution);
}

void rule_result_outlives(struct subject *subject)
{
    struct execution execution;
    run_one(&execution, subject, PROBE_PRINT);
    destroy(subject, execution.instance);
    step(subject, "reading a result behind destroy");
    must_complete(&execution);
    must_have_written(&execution, 0, CODE_EXECUTOR_STREAM_STDOUT, execution.probes[0]->stdout_bytes,
                      execution.probes[0]->stdout_length);
    execution_free(&execution);
}

void rule_begin_cancels(struct subject *subject)
{
    struct execution execution;
    subject_load(subject);
    need_probe(subject, PROBE_WAIT);
    execution_prepare(&execution, subject, must_create(subject), 1);
    execution_add(&execution, PROBE_WAIT);
    execution.begin_answer = 1;
    execution_run(&execution);
    must_be_cancelled(&execution);
    end(&execution);
}

void rule_output_cancels(struct subject *subject)
{
    struct execution execution;
    subject_load(subject);
    need_probe(subject, PROBE_FLOOD);
    execution_prepare(&execution, subject, must_create(subject), 1);
    execution_add(&execution, PROBE_FLOOD);
    execution.output_answer = 1;
    execution_run(&execution);
    must_be_cancelled(&execution);
    end(&execution);
}
