/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.c: the rules of a run, opposite a session that only notes what it is asked to run and answers
 * what the test has laid out.
 */
#include "run.h"
#include "commandline.h"
#include "config.h"
#include "failing_memory.h"
#include "runner/protocol.h"

#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* ------------------------------------------------------------------------------------------------
 * The session
 * --------------------------------------------------------------------------------------------- */

struct session_canceller {
    bool cancelled;
};

/* An answer to one command. */
struct answer {
    const char *out;
    const char *err;
    session_exit exit;
    int32_t status; /* what session_run returns */
};

static struct answer answers[8];
static size_t answered;
static char commands[2000]; /* the first candidates, a line each */
static session_command last;
static char last_environment[2000];
static char last_programs[100];
static bool last_file_was_there;
static char work[64];
static struct session_canceller canceller;

void session_cancel(session_canceller *self)
{
    self->cancelled = true;
}

bool session_cancelled(const session_canceller *self)
{
    return self->cancelled;
}

static void note(const session_command *command)
{
    size_t length = strlen(commands);
    for (const char *const *word = command->candidates[0]; *word; word++)
        length += (size_t)snprintf(commands + length, sizeof commands - length, "%s%s",
                                   word == command->candidates[0] ? "" : " ", *word);
    snprintf(commands + length, sizeof commands - length, "\n");
    last = *command;
    last_programs[0] = '\0';
    for (size_t i = 0; i < command->candidate_count; i++)
        strcat(strcat(last_programs, command->candidates[i][0]), " ");
    length = 0;
    last_environment[0] = '\0';
    for (size_t i = 0; i < command->environment_count; i++)
        length += (size_t)snprintf(last_environment + length, sizeof last_environment - length,
                                   "%s\n", command->environment[i]);
    char path[512];
    for (const char *const *word = command->candidates[0]; *word; word++) {
        snprintf(path, sizeof path, "%s/%s", work, *word);
        last_file_was_there = access(path, F_OK) == 0;
    }
}

int32_t session_run(session *self, const session_command *command, session_canceller *cancel,
                    session_exit *exited, code_executor_error *error)
{
    (void)self;
    note(command);
    struct answer *answer = &answers[answered++];
    *exited = answer->exit;
    if (cancel->cancelled) {
        exited->how = EXIT_CANCELLED;
        return CODE_EXECUTOR_OK;
    }
    if (answer->out && !command->on_output(command->user_data, 1, answer->out, strlen(answer->out)))
        exited->how = EXIT_CANCELLED;
    if (answer->err && !command->on_output(command->user_data, 2, answer->err, strlen(answer->err)))
        exited->how = EXIT_CANCELLED;
    if (answer->status != CODE_EXECUTOR_OK)
        return error_set(error, answer->status, "the runner is gone");
    return CODE_EXECUTOR_OK;
}

/* No workspace here is copied. */
int32_t session_write_file(session *self, const char *path, uint32_t mode, const char *bytes,
                           size_t length, code_executor_error *error)
{
    (void)self;
    (void)path;
    (void)mode;
    (void)bytes;
    (void)length;
    return error_set(error, CODE_EXECUTOR_INTERNAL, "nothing is to be written");
}

/* ------------------------------------------------------------------------------------------------
 * A run
 * --------------------------------------------------------------------------------------------- */

#define SCHEMA                                                                                     \
    COMMANDLINE_SCHEMA_BEGIN COMMANDLINE_SCHEMA_PROPERTIES "\"x\": {}" COMMANDLINE_SCHEMA_END

static run_settings settings;
static code_executor_request request;
static code_executor_result *result;
static code_executor_error error;
static char heard[4000]; /* what callbacks and log said */
static int32_t begin_answer;
static int32_t output_answer;

static void hear(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void hear(const char *format, ...)
{
    size_t length = strlen(heard);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(heard + length, sizeof heard - length, format, arguments);
    va_end(arguments);
}

static int32_t on_begin(void *user_data, size_t block)
{
    (void)user_data;
    hear("begin %zu\n", block);
    return begin_answer;
}

static int32_t on_output(void *user_data, size_t block, int32_t stream, const char *bytes,
                         size_t length)
{
    (void)user_data;
    hear("%zu.%d %.*s|\n", block, (int)stream, (int)length, bytes);
    return output_answer;
}

static void on_log(void *state, int32_t level, const char *message)
{
    (void)state;
    hear("log %d %s\n", (int)level, message);
}

static void configure(const char *json)
{
    json_object *config;
    if (config_read(SCHEMA, json, &config, &error) != CODE_EXECUTOR_OK)
        fail_msg("%s", error.message);
    language_table_free(settings.languages);
    if (language_table_create(config_value(config, "execution_policies"),
                              config_value(config, "languages"), &settings.languages,
                              &error) != CODE_EXECUTOR_OK)
        fail_msg("%s", error.message);
    settings.timeout = config_number(config, "timeout");
    settings.max_output_bytes = (size_t)config_integer(config, "max_output_bytes");
    settings.delete_tmp_files = config_boolean(config, "delete_tmp_files");
    json_object_put(config);
}

/* Runs BLOCKS, language and code in turn, up to a NULL. */
static int32_t run_list(const char *const *words)
{
    code_executor_block blocks[16];
    const code_executor_block *pointers[16];
    size_t count = 0;
    for (; words[2 * count]; count++) {
        blocks[count] = (code_executor_block){sizeof blocks[0], words[2 * count],
                                              words[2 * count + 1], strlen(words[2 * count + 1])};
        pointers[count] = &blocks[count];
    }
    request.blocks = pointers;
    request.block_count = count;
    run_place place = {NULL, work, "/inside", NULL};
    commandline_result_free(result);
    result = NULL;
    return run_blocks(&settings, &place, &request, &canceller, &result, &error);
}

#define RUN(...) run_list((const char *const[]){__VA_ARGS__, NULL})

static void expect_result(int32_t outcome, int32_t exit_code, const char *text)
{
    assert_non_null(result);
    assert_string_equal(result->output, text);
    assert_int_equal(result->exit_code, exit_code);
    assert_int_equal(result->outcome, outcome);
}

static int set_up(void **state)
{
    (void)state;
    strcpy(work, "/tmp/run-test-XXXXXX");
    if (!mkdtemp(work))
        return -1;
    memset(answers, 0, sizeof answers);
    answered = 0;
    commands[0] = heard[0] = '\0';
    canceller.cancelled = false;
    begin_answer = output_answer = 0;
    settings = (run_settings){.log = on_log};
    request = (code_executor_request){.struct_size = sizeof request, .execution_id = 1};
    error = (code_executor_error)CODE_EXECUTOR_ERROR_INIT;
    configure("{}");
    return 0;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
}

static int tear_down(void **state)
{
    (void)state;
    commandline_result_free(result);
    result = NULL;
    language_table_free(settings.languages);
    settings.languages = NULL;
    return nftw(work, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static const char *contents(const char *name)
{
    static char text[256];
    char path[512];
    snprintf(path, sizeof path, "%s/%s", work, name);
    FILE *file = fopen(path, "re");
    if (!file)
        return NULL;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

/* ------------------------------------------------------------------------------------------------
 * Blocks that run
 * --------------------------------------------------------------------------------------------- */

static void a_block_is_saved_and_run(void **state)
{
    (void)state;
    answers[0].out = "hi\n";
    assert_int_equal(RUN("Python", "print('hi')"), CODE_EXECUTOR_OK);
    expect_result(CODE_EXECUTOR_OUTCOME_COMPLETED, 0, "hi\n");
    assert_string_equal(commands, "python tmp_code_701bf4a4743e5e0361e26999881a5ce9.python\n");
    assert_true(last_file_was_there);
    assert_string_equal(last_programs, "python python3 ");
    assert_string_equal(last.folder, "/inside");
    assert_string_equal(result->blocks[0]->language, "Python");
    assert_string_equal(result->code_file, result->blocks[0]->code_file);
    assert_memory_equal(result->code_file, work, strlen(work));
}

static void the_name_is_the_digest_of_what_is_saved(void **state)
{
    (void)state;
    assert_int_equal(RUN("sh", "pip install x\r\n"), CODE_EXECUTOR_OK);
    /* md5 of "pip install -qqq x\n" */
    assert_string_equal(commands, "sh tmp_code_4000178f88bfaed887d19646d8103f98.sh\n");
}

static void the_first_failure_stops_the_run(void **state)
{
    (void)state;
    answers[0].out = "one\n";
    answers[1].out = "two\n";
    answers[1].exit.exit_code = 3;
    RUN("sh", "a", "sh", "b", "sh", "c");
    expect_result(CODE_EXECUTOR_OUTCOME_COMPLETED, 3, "one\ntwo\n");
    assert_int_equal(result->block_count, 2);
    assert_int_equal(answered, 2);
}

static void output_is_in_order_of_arrival_and_apart(void **state)
{
    (void)state;
    answers[0] = (struct answer){.out = "out\n", .err = "err\n"};
    RUN("sh", "a");
    expect_result(CODE_EXECUTOR_OUTCOME_COMPLETED, 0, "out\nerr\n");
    assert_string_equal(result->blocks[0]->stdout_bytes, "out\n");
    assert_string_equal(result->blocks[0]->stderr_bytes, "err\n");
}

static void costs_are_reported(void **state)
{
    (void)state;
    answers[0].exit = (session_exit){.wall_ns = 5, .cpu_ns = 4, .peak_memory_bytes = 3};
    RUN("sh", "a");
    assert_int_equal(result->blocks[0]->wall_ns, 5);
    assert_int_equal(result->blocks[0]->cpu_ns, 4);
    assert_int_equal(result->blocks[0]->peak_memory_bytes, 3);
}

static void ends_have_their_codes_and_words(void **state)
{
    (void)state;
    static const struct {
        session_exit exit;
        int32_t outcome, exit_code, signal;
        const char *words;
    } ends[] = {
        {{.how = EXIT_EXITED, .exit_code = 255}, CODE_EXECUTOR_OUTCOME_COMPLETED, 255, 0, ""},
        {{.how = EXIT_SIGNALLED, .signal = 11}, CODE_EXECUTOR_OUTCOME_COMPLETED, 139, 11, ""},
        {{.how = EXIT_TIMED_OUT}, CODE_EXECUTOR_OUTCOME_TIMED_OUT, 124, 0, "\nTimeout"},
        {{.how = EXIT_CANCELLED}, CODE_EXECUTOR_OUTCOME_CANCELLED, 130, 0, ""},
        {{.how = EXIT_OUT_OF_MEMORY},
         CODE_EXECUTOR_OUTCOME_OUT_OF_MEMORY,
         137,
         9,
         "\nKilled: the memory limit was reached\n"},
        {{.how = EXIT_NOT_STARTED, .errnum = ENOENT, .detail = "not found: sh"},
         CODE_EXECUTOR_OUTCOME_COMPLETED,
         127,
         0,
         "Cannot run sh: not found: sh\n"},
        {{.how = EXIT_NOT_STARTED, .errnum = EACCES, .detail = "sh: Permission denied"},
         CODE_EXECUTOR_OUTCOME_COMPLETED,
         126,
         0,
         "Cannot run sh: sh: Permission denied\n"},
        {{.how = EXIT_NOT_STARTED,
          .errnum = ENOENT,
          .candidate = CANDIDATE_NONE,
          .detail = "cannot enter the folder"},
         CODE_EXECUTOR_OUTCOME_COMPLETED,
         126,
         0,
         "Cannot run sh: cannot enter the folder\n"},
        {{.how = EXIT_LOST, .detail = "its supervisor was killed"},
         CODE_EXECUTOR_OUTCOME_COMPLETED,
         137,
         9,
         "\nKilled: its supervisor was killed\n"},
    };
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        answered = 0;
        answers[0].exit = ends[i].exit;
        assert_int_equal(RUN("sh", "a", "sh", "b"), CODE_EXECUTOR_OK);
        if (ends[i].exit_code)
            assert_int_equal(result->block_count, 1);
        expect_result(ends[i].outcome, ends[i].exit_code, ends[i].words);
        assert_int_equal(result->blocks[0]->signal, ends[i].signal);
    }
}

static void an_end_that_is_none_is_an_error(void **state)
{
    (void)state;
    answers[0].exit.how = 99;
    assert_int_equal(RUN("sh", "a"), CODE_EXECUTOR_PROTOCOL);
    assert_int_equal(result->outcome, CODE_EXECUTOR_OUTCOME_FAILED);
}

static void a_name_that_looks_like_an_option_is_none(void **state)
{
    (void)state;
    RUN("sh", "# filename: -c\necho", "sh", "# filename: +x", "sh", "# filename: @args", "sh",
        "# filename: -a/b", "sh", "# filename: .x");
    assert_string_equal(commands, "sh ./-c\nsh ./+x\nsh ./@args\nsh ./-a/b\nsh .x\n");
}

static void a_name_that_looks_like_a_mark_is_none(void **state)
{
    (void)state;
    RUN("sh", "# filename: {output}\necho", "sh", "# filename: {file}\necho");
    assert_string_equal(commands, "sh ./{output}\nsh ./{file}\n");
}

static void code_without_bytes_runs(void **state)
{
    (void)state;
    RUN("sh", "");
    assert_string_equal(commands, "sh tmp_code_d41d8cd98f00b204e9800998ecf8427e.sh\n");
}

static void code_is_bytes(void **state)
{
    (void)state;
    static const char code[] = "# a.py\n\0\xff";
    code_executor_block block = {sizeof block, "py", code, sizeof code};
    const code_executor_block *blocks[] = {&block};
    request.blocks = blocks;
    request.block_count = 1;
    run_place place = {NULL, work, "/", NULL};
    assert_int_equal(run_blocks(&settings, &place, &request, &canceller, &result, &error),
                     CODE_EXECUTOR_OK);
    struct stat status;
    char path[128];
    snprintf(path, sizeof path, "%s/a.py", work);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_size, sizeof code);
}

static void line_ends_change_in_shells_alone(void **state)
{
    (void)state;
    RUN("sh", "# a.sh\r\necho 'a\rb'\r\r\n", "py", "# a.py\r\nx\r\n");
    assert_string_equal(contents("a.sh"), "# a.sh\necho 'a\rb'\r\n");
    assert_string_equal(contents("a.py"), "# a.py\r\nx\r\n");
}

/* ------------------------------------------------------------------------------------------------
 * Time, input, environment
 * --------------------------------------------------------------------------------------------- */

static void the_time_is_the_requests_or_the_settings(void **state)
{
    (void)state;
    RUN("sh", "a");
    assert_in_range(last.timeout_ms, 59000, 60000);
    request.timeout = 2.5;
    RUN("sh", "a");
    assert_in_range(last.timeout_ms, 2000, 2500);
    request.timeout = 1e300;
    RUN("sh", "a");
    assert_int_equal(last.timeout_ms, UINT32_MAX);
}

static void what_is_on_standard_input_is_handed_on(void **state)
{
    (void)state;
    request.stdin_bytes = "in";
    request.stdin_length = 2;
    RUN("sh", "a");
    assert_int_equal(last.stdin_length, 2);
    assert_ptr_equal(last.stdin_bytes, request.stdin_bytes);
}

static void the_requests_environment_overrides_the_configurations(void **state)
{
    (void)state;
    static const char *const configured[] = {"A=1", "AB=2", "C=3"};
    static const char *const requested[] = {"A=first", "D=", "A=last"};
    settings.environment = configured;
    settings.environment_count = 3;
    request.environment = requested;
    request.environment_count = 3;
    RUN("sh", "a");
    assert_string_equal(last_environment, "AB=2\nC=3\nD=\nA=last\n");
    assert_int_equal(last.environment_default_count, 2);
    assert_string_equal(last.environment_defaults[0], "LANG=C.UTF-8");
    assert_string_equal(last.environment_defaults[1], "PYTHONUNBUFFERED=1");
}

/* ------------------------------------------------------------------------------------------------
 * Blocks that do not run
 * --------------------------------------------------------------------------------------------- */

static void an_unknown_language_is_refused(void **state)
{
    (void)state;
    assert_int_equal(RUN("COBOL", "x", "sh", "a"), CODE_EXECUTOR_OK);
    expect_result(CODE_EXECUTOR_OUTCOME_REFUSED, 1, "Unsupported language cobol\n");
    assert_int_equal(result->block_count, 1);
    assert_int_equal(answered, 0);
    assert_null(result->code_file);
}

static void a_language_of_10_kb_is_refused_in_few_words(void **state)
{
    (void)state;
    char word[10001];
    memset(word, 'X', 10000);
    word[10000] = '\0';
    RUN(word, "x");
    assert_true(result->output_length < 200);
    assert_string_equal(result->blocks[0]->language, word);
}

static void a_saved_language_is_not_run_and_the_run_goes_on(void **state)
{
    (void)state;
    answers[0].out = "ran\n";
    RUN("js", "// app.js\nx", "sh", "a");
    char wanted[256];
    snprintf(wanted, sizeof wanted, "Code saved to %s/app.js\nran\n", work);
    expect_result(CODE_EXECUTOR_OUTCOME_COMPLETED, 0, wanted);
    assert_int_equal(result->blocks[0]->outcome, CODE_EXECUTOR_OUTCOME_SAVED);
    assert_string_equal(contents("app.js"), "// app.js\nx");
    assert_string_equal(commands, "sh tmp_code_0cc175b9c0f1b6a831c399e269772661.sh\n");
}

static void how_to_run_a_saved_language_goes_to_the_log(void **state)
{
    (void)state;
    RUN("js", "x", "css", "y");
    assert_non_null(strstr(heard, "log 2 javascript is saved and not run"));
    assert_non_null(strstr(heard, "log 2 css is saved and not run: there is no command"));
    assert_null(strstr(result->output, "execution_policies"));
}

static void a_name_outside_is_refused(void **state)
{
    (void)state;
    RUN("py", "# filename: ../x.py\n", "sh", "a");
    expect_result(CODE_EXECUTOR_OUTCOME_REFUSED, 1, "Filename is not in the workspace");
    assert_int_equal(result->block_count, 1);
    assert_null(result->code_file);
}

static void a_name_that_leads_outside_through_a_link_is_refused(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/x.py", work);
    assert_int_equal(symlink("/tmp/nowhere", path), 0);
    RUN("py", "# filename: x.py\n");
    expect_result(CODE_EXECUTOR_OUTCOME_REFUSED, 1, "Filename is not in the workspace");
    assert_null(result->code_file);
}

static char *object_to_rm(void *state, const char *word, const char *code, size_t length)
{
    (void)state;
    return strcmp(word, "sh") == 0 && memmem(code, length, "rm", 2) ? strdup("No rm.\n") : NULL;
}

static void an_objection_of_the_launcher_refuses(void **state)
{
    (void)state;
    settings.object = object_to_rm;
    RUN("sh", "ls", "sh", "rm x", "sh", "ls");
    expect_result(CODE_EXECUTOR_OUTCOME_REFUSED, 1, "No rm.\n");
    assert_int_equal(result->block_count, 2);
    assert_int_equal(answered, 1);
}

static void a_workspace_that_cannot_be_had_is_an_error(void **state)
{
    (void)state;
    run_place place = {NULL, "/proc/no/such", "/", NULL};
    code_executor_block block = {sizeof block, "sh", "a", 1};
    const code_executor_block *blocks[] = {&block};
    request.blocks = blocks;
    request.block_count = 1;
    assert_int_equal(run_blocks(&settings, &place, &request, &canceller, &result, &error),
                     CODE_EXECUTOR_NOT_FOUND);
    assert_int_equal(error.status, CODE_EXECUTOR_NOT_FOUND);
    assert_int_equal(result->outcome, CODE_EXECUTOR_OUTCOME_FAILED);
    assert_null(result->code_file);
}

/* ------------------------------------------------------------------------------------------------
 * Callbacks and the end before the end
 * --------------------------------------------------------------------------------------------- */

static void callbacks_hear_everything_in_order(void **state)
{
    (void)state;
    request.on_begin = on_begin;
    request.on_output = on_output;
    answers[0] = (struct answer){.out = "o", .err = "e"};
    answers[1].exit.how = EXIT_TIMED_OUT;
    RUN("sh", "a", "sh", "b");
    assert_string_equal(heard, "begin 0\n0.1 o|\n0.2 e|\nbegin 1\n1.3 \nTimeout|\n");
}

static void callbacks_hear_a_refusal_without_a_begin(void **state)
{
    (void)state;
    request.on_begin = on_begin;
    request.on_output = on_output;
    RUN("cobol", "a");
    assert_string_equal(heard, "0.3 Unsupported language cobol\n|\n");
}

static void a_begin_that_is_answered_with_no_cancels(void **state)
{
    (void)state;
    request.on_begin = on_begin;
    request.on_output = on_output;
    begin_answer = 1;
    assert_int_equal(RUN("sh", "a", "sh", "b"), CODE_EXECUTOR_OK);
    expect_result(CODE_EXECUTOR_OUTCOME_CANCELLED, 130, "");
    assert_int_equal(result->block_count, 1);
    assert_int_equal(answered, 0);
    assert_string_equal(heard, "begin 0\n");
}

static void output_that_is_answered_with_no_cancels_and_is_kept(void **state)
{
    (void)state;
    request.on_output = on_output;
    output_answer = -1;
    answers[0] = (struct answer){.out = "o", .err = "e"};
    RUN("sh", "a", "sh", "b");
    expect_result(CODE_EXECUTOR_OUTCOME_CANCELLED, 130, "oe");
    assert_string_equal(heard, "0.1 o|\n");
}

static void words_about_a_saved_block_may_cancel_what_follows(void **state)
{
    (void)state;
    request.on_output = on_output;
    output_answer = 1;
    RUN("css", "a", "sh", "b");
    assert_int_equal(result->block_count, 2);
    assert_int_equal(result->blocks[0]->outcome, CODE_EXECUTOR_OUTCOME_SAVED);
    assert_int_equal(result->outcome, CODE_EXECUTOR_OUTCOME_CANCELLED);
    assert_int_equal(result->exit_code, 130);
    assert_int_equal(answered, 0);
}

static void cancelled_before_the_first_block_is_an_error(void **state)
{
    (void)state;
    canceller.cancelled = true;
    assert_int_equal(RUN("sh", "a"), CODE_EXECUTOR_CANCELLED);
    assert_null(result);
}

static void a_session_that_fails_leaves_what_there_was(void **state)
{
    (void)state;
    answers[0].out = "whole\n";
    answers[1] = (struct answer){.out = "half", .status = CODE_EXECUTOR_LOST};
    assert_int_equal(RUN("sh", "a", "sh", "b", "sh", "c"), CODE_EXECUTOR_LOST);
    assert_string_equal(error.message, "the runner is gone");
    expect_result(CODE_EXECUTOR_OUTCOME_FAILED, 125, "whole\nhalf");
    assert_int_equal(result->block_count, 2);
    assert_int_equal(result->blocks[0]->outcome, CODE_EXECUTOR_OUTCOME_COMPLETED);
}

/* ------------------------------------------------------------------------------------------------
 * Steps, caps, temporary files
 * --------------------------------------------------------------------------------------------- */

#define C_LANGUAGE                                                                                 \
    "\"languages\": {\"c\": {\"steps\": [[[\"cc\", \"-o\", \"{output}\", \"{file}\"]], "           \
    "[[\"{output}\"]]]}}"

static void steps_run_in_order_and_share_name_and_time(void **state)
{
    (void)state;
    configure("{" C_LANGUAGE "}");
    request.stdin_bytes = "in";
    request.stdin_length = 2;
    answers[0] = (struct answer){.err = "warning\n", .exit = {.cpu_ns = 3, .peak_memory_bytes = 9}};
    answers[1] = (struct answer){.out = "hi\n", .exit = {.cpu_ns = 4, .peak_memory_bytes = 5}};
    RUN("c", "// a.c\n");
    char first[64];
    char second[64];
    assert_int_equal(sscanf(commands, "cc -o %63s a.c\n%63s", first, second), 2);
    assert_string_equal(first, second);
    assert_memory_equal(first, "./tmp_build_", 12);
    expect_result(CODE_EXECUTOR_OUTCOME_COMPLETED, 0, "warning\nhi\n");
    assert_int_equal(result->blocks[0]->cpu_ns, 7);
    assert_int_equal(result->blocks[0]->peak_memory_bytes, 9);
    assert_int_equal(last.stdin_length, 2);
}

static void a_step_that_fails_is_the_last(void **state)
{
    (void)state;
    configure("{" C_LANGUAGE "}");
    request.stdin_bytes = "in";
    request.stdin_length = 2;
    answers[0].exit.exit_code = 2;
    RUN("c", "x");
    expect_result(CODE_EXECUTOR_OUTCOME_COMPLETED, 2, "");
    assert_int_equal(answered, 1);
    assert_int_equal(last.stdin_length, 0);
}

static void output_is_capped_for_each_stream(void **state)
{
    (void)state;
    configure("{\"max_output_bytes\": 4}");
    answers[0] = (struct answer){.out = "0123456789", .err = "abc"};
    RUN("sh", "a");
    const code_executor_block_result *block = result->blocks[0];
    assert_string_equal(block->stdout_bytes, "01\n[... 6 bytes dropped ...]\n89");
    assert_string_equal(block->stderr_bytes, "abc");
    assert_string_equal(block->output, "01\n[... 9 bytes dropped ...]\nbc");
    assert_int_equal(block->dropped_bytes, 9);
}

static void temporary_files_stay_unless_told_otherwise(void **state)
{
    (void)state;
    RUN("sh", "a");
    assert_string_equal(contents("tmp_code_0cc175b9c0f1b6a831c399e269772661.sh"), "a");
    configure("{\"delete_tmp_files\": true}");
    RUN("sh", "a", "sh", "# keep.sh\n", "css", "b");
    assert_null(contents("tmp_code_0cc175b9c0f1b6a831c399e269772661.sh"));
    assert_string_equal(contents("keep.sh"), "# keep.sh\n");
    assert_non_null(contents("tmp_code_92eb5ffee6ae2fec3ad71c777531578f.css"));
    assert_true(last_file_was_there);
}

/* ------------------------------------------------------------------------------------------------
 * Memory that ends
 * --------------------------------------------------------------------------------------------- */

/* At each allocation in turn. What was begun is told as far as there is memory to tell it. */
static void run_without_memory(bool once)
{
    static const char *const requested[] = {"A=1"};
    configure("{\"delete_tmp_files\": true, " C_LANGUAGE "}");
    request.environment = requested;
    request.environment_count = 1;
    bool failed = true;
    for (size_t count = 0; failed; count++) {
        memset(answers, 0, sizeof answers);
        for (size_t i = 0; i < 4; i++)
            answers[i] = (struct answer){.out = "out\n", .err = "err\n"};
        answered = 0;
        commands[0] = heard[0] = '\0';
        failing_memory_start(count, once);
        int32_t status = RUN("sh", "pip install x\r\n", "c", "// a.c\n", "js", "b", "py", "c");
        failed = failing_memory_stop();
        if (status != CODE_EXECUTOR_OK) {
            assert_true(failed);
            assert_int_equal(status, CODE_EXECUTOR_NO_MEMORY);
            assert_int_equal(error.status, CODE_EXECUTOR_NO_MEMORY);
        } else {
            assert_int_equal(result->block_count, 4);
        }
        for (size_t i = 0; result && i < result->block_count; i++) {
            assert_non_null(result->blocks[i]->language);
            assert_non_null(result->blocks[i]->output);
        }
    }
    assert_int_equal(answered, 4);
}

static void memory_may_be_short_once_anywhere(void **state)
{
    (void)state;
    run_without_memory(true);
}

static void memory_may_end_anywhere(void **state)
{
    (void)state;
    run_without_memory(false);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_block_is_saved_and_run),
        TEST(the_name_is_the_digest_of_what_is_saved),
        TEST(the_first_failure_stops_the_run),
        TEST(output_is_in_order_of_arrival_and_apart),
        TEST(costs_are_reported),
        TEST(ends_have_their_codes_and_words),
        TEST(an_end_that_is_none_is_an_error),
        TEST(a_name_that_looks_like_an_option_is_none),
        TEST(a_name_that_looks_like_a_mark_is_none),
        TEST(code_without_bytes_runs),
        TEST(code_is_bytes),
        TEST(line_ends_change_in_shells_alone),
        TEST(the_time_is_the_requests_or_the_settings),
        TEST(what_is_on_standard_input_is_handed_on),
        TEST(the_requests_environment_overrides_the_configurations),
        TEST(an_unknown_language_is_refused),
        TEST(a_language_of_10_kb_is_refused_in_few_words),
        TEST(a_saved_language_is_not_run_and_the_run_goes_on),
        TEST(how_to_run_a_saved_language_goes_to_the_log),
        TEST(a_name_outside_is_refused),
        TEST(a_name_that_leads_outside_through_a_link_is_refused),
        TEST(an_objection_of_the_launcher_refuses),
        TEST(a_workspace_that_cannot_be_had_is_an_error),
        TEST(callbacks_hear_everything_in_order),
        TEST(callbacks_hear_a_refusal_without_a_begin),
        TEST(a_begin_that_is_answered_with_no_cancels),
        TEST(output_that_is_answered_with_no_cancels_and_is_kept),
        TEST(words_about_a_saved_block_may_cancel_what_follows),
        TEST(cancelled_before_the_first_block_is_an_error),
        TEST(a_session_that_fails_leaves_what_there_was),
        TEST(steps_run_in_order_and_share_name_and_time),
        TEST(a_step_that_fails_is_the_last),
        TEST(output_is_capped_for_each_stream),
        TEST(temporary_files_stay_unless_told_otherwise),
        TEST(memory_may_be_short_once_anywhere),
        TEST(memory_may_end_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
