/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_support.c: see run_support.h.
 */
#include "run_support.h"
#include "config.h"
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define SCHEMA                                                                                     \
    COMMANDLINE_SCHEMA_BEGIN COMMANDLINE_SCHEMA_PROPERTIES "\"x\": {}" COMMANDLINE_SCHEMA_END

run_settings settings;
code_executor_request request;
code_executor_result *result;
code_executor_error error;
char heard[4000]; /* what callbacks and log said */
int32_t begin_answer;
int32_t output_answer;

static void hear(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void hear(const char *format, ...)
{
    size_t length = strlen(heard);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(heard + length, sizeof heard - length, format, arguments);
    va_end(arguments);
}

int32_t on_begin(void *user_data, size_t block)
{
    (void)user_data;
    hear("begin %zu\n", block);
    return begin_answer;
}

int32_t on_output(void *user_data, size_t block, int32_t stream, const char *bytes, size_t length)
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

void configure(const char *json)
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

int32_t run_list(const char *const *words)
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

void expect_result(int32_t outcome, int32_t exit_code, const char *text)
{
    assert_non_null(result);
    assert_string_equal(result->output, text);
    assert_int_equal(result->exit_code, exit_code);
    assert_int_equal(result->outcome, outcome);
}

int set_up(void **state)
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

int tear_down(void **state)
{
    (void)state;
    commandline_result_free(result);
    result = NULL;
    language_table_free(settings.languages);
    settings.languages = NULL;
    return nftw(work, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

const char *contents(const char *name)
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
