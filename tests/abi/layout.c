/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.c: prints where each member of the ABI lies and what each constant is. The test compares that with
 * layout.txt, the layout that version 1 has: once released it may only grow at the ends of structures. The
 * same file is compiled as C and as C++.
 */
#include <code_executor.h>
#include <stdio.h>

#ifdef __cplusplus
#define ASSERT(condition, words) static_assert(condition, words)
#else
#define ASSERT(condition, words) _Static_assert(condition, words)
#endif

/* A field that is appended must not land in padding, which older code never zeroed. */
#define ENDS_WITH(type, member)                                                                    \
    ASSERT(sizeof(type) == offsetof(type, member) + sizeof(((type *)0)->member),                   \
           #type " has padding at its end");                                                       \
    ASSERT(offsetof(type, struct_size) == 0, #type " does not begin with its size")

ENDS_WITH(code_executor_error, message);
ENDS_WITH(code_executor_host, progress);
ENDS_WITH(code_executor_block, code_length);
ENDS_WITH(code_executor_request, on_output);
ENDS_WITH(code_executor_block_result, peak_memory_bytes);
ENDS_WITH(code_executor_result, block_count);
ENDS_WITH(code_executor_v1, get_extension);
ENDS_WITH(code_executor_language, interpreter);
ENDS_WITH(code_executor_languages_v1, list);
ENDS_WITH(code_executor_leftovers_v1, prune);

#define STRUCT(type) printf("%s: %zu bytes\n", #type, sizeof(type))
#define MEMBER(type, member)                                                                       \
    printf("    %-20s at %4zu, %4zu bytes\n", #member, offsetof(type, member),                     \
           sizeof(((type *)0)->member))
#define CONSTANT(name) printf("%s = %d\n", #name, (int)(name))

static void print_inputs(void)
{
    STRUCT(code_executor_error);
    MEMBER(code_executor_error, struct_size);
    MEMBER(code_executor_error, status);
    MEMBER(code_executor_error, reserved);
    MEMBER(code_executor_error, message);
    STRUCT(code_executor_host);
    MEMBER(code_executor_host, struct_size);
    MEMBER(code_executor_host, user_data);
    MEMBER(code_executor_host, log);
    MEMBER(code_executor_host, progress);
    STRUCT(code_executor_block);
    MEMBER(code_executor_block, struct_size);
    MEMBER(code_executor_block, language);
    MEMBER(code_executor_block, code);
    MEMBER(code_executor_block, code_length);
    STRUCT(code_executor_request);
    MEMBER(code_executor_request, struct_size);
    MEMBER(code_executor_request, blocks);
    MEMBER(code_executor_request, block_count);
    MEMBER(code_executor_request, execution_id);
    MEMBER(code_executor_request, timeout);
    MEMBER(code_executor_request, stdin_bytes);
    MEMBER(code_executor_request, stdin_length);
    MEMBER(code_executor_request, environment);
    MEMBER(code_executor_request, environment_count);
    MEMBER(code_executor_request, user_data);
    MEMBER(code_executor_request, on_begin);
    MEMBER(code_executor_request, on_output);
}

static void print_results(void)
{
    STRUCT(code_executor_block_result);
    MEMBER(code_executor_block_result, struct_size);
    MEMBER(code_executor_block_result, language);
    MEMBER(code_executor_block_result, outcome);
    MEMBER(code_executor_block_result, exit_code);
    MEMBER(code_executor_block_result, signal);
    MEMBER(code_executor_block_result, reserved);
    MEMBER(code_executor_block_result, stdout_bytes);
    MEMBER(code_executor_block_result, stdout_length);
    MEMBER(code_executor_block_result, stderr_bytes);
    MEMBER(code_executor_block_result, stderr_length);
    MEMBER(code_executor_block_result, output);
    MEMBER(code_executor_block_result, output_length);
    MEMBER(code_executor_block_result, dropped_bytes);
    MEMBER(code_executor_block_result, code_file);
    MEMBER(code_executor_block_result, wall_ns);
    MEMBER(code_executor_block_result, cpu_ns);
    MEMBER(code_executor_block_result, peak_memory_bytes);
    STRUCT(code_executor_result);
    MEMBER(code_executor_result, struct_size);
    MEMBER(code_executor_result, exit_code);
    MEMBER(code_executor_result, outcome);
    MEMBER(code_executor_result, output);
    MEMBER(code_executor_result, output_length);
    MEMBER(code_executor_result, code_file);
    MEMBER(code_executor_result, blocks);
    MEMBER(code_executor_result, block_count);
}

static void print_tables(void)
{
    STRUCT(code_executor_v1);
    MEMBER(code_executor_v1, struct_size);
    MEMBER(code_executor_v1, abi_version);
    MEMBER(code_executor_v1, reserved);
    MEMBER(code_executor_v1, name);
    MEMBER(code_executor_v1, version);
    MEMBER(code_executor_v1, description);
    MEMBER(code_executor_v1, config_schema);
    MEMBER(code_executor_v1, create);
    MEMBER(code_executor_v1, start);
    MEMBER(code_executor_v1, stop);
    MEMBER(code_executor_v1, restart);
    MEMBER(code_executor_v1, execute);
    MEMBER(code_executor_v1, cancel);
    MEMBER(code_executor_v1, describe);
    MEMBER(code_executor_v1, result_free);
    MEMBER(code_executor_v1, string_free);
    MEMBER(code_executor_v1, destroy);
    MEMBER(code_executor_v1, get_extension);
    STRUCT(code_executor_language);
    MEMBER(code_executor_language, struct_size);
    MEMBER(code_executor_language, name);
    MEMBER(code_executor_language, aliases);
    MEMBER(code_executor_language, alias_count);
    MEMBER(code_executor_language, runs);
    MEMBER(code_executor_language, reserved);
    MEMBER(code_executor_language, command);
    MEMBER(code_executor_language, interpreter);
    STRUCT(code_executor_languages_v1);
    MEMBER(code_executor_languages_v1, struct_size);
    MEMBER(code_executor_languages_v1, list);
    STRUCT(code_executor_leftovers_v1);
    MEMBER(code_executor_leftovers_v1, struct_size);
    MEMBER(code_executor_leftovers_v1, list);
    MEMBER(code_executor_leftovers_v1, prune);
}

static void print_constants(void)
{
    printf("CODE_EXECUTOR_ENTRY_SYMBOL = %s\n", CODE_EXECUTOR_ENTRY_SYMBOL);
    printf("CODE_EXECUTOR_EXTENSION_LANGUAGES = %s\n", CODE_EXECUTOR_EXTENSION_LANGUAGES);
    printf("CODE_EXECUTOR_EXTENSION_LEFTOVERS = %s\n", CODE_EXECUTOR_EXTENSION_LEFTOVERS);
    CONSTANT(CODE_EXECUTOR_ABI_VERSION);
    CONSTANT(CODE_EXECUTOR_OK);
    CONSTANT(CODE_EXECUTOR_INVALID);
    CONSTANT(CODE_EXECUTOR_UNSUPPORTED);
    CONSTANT(CODE_EXECUTOR_UNAVAILABLE);
    CONSTANT(CODE_EXECUTOR_DENIED);
    CONSTANT(CODE_EXECUTOR_NOT_FOUND);
    CONSTANT(CODE_EXECUTOR_CONFLICT);
    CONSTANT(CODE_EXECUTOR_CANCELLED);
    CONSTANT(CODE_EXECUTOR_LOST);
    CONSTANT(CODE_EXECUTOR_TIMED_OUT);
    CONSTANT(CODE_EXECUTOR_NO_MEMORY);
    CONSTANT(CODE_EXECUTOR_IO);
    CONSTANT(CODE_EXECUTOR_PROTOCOL);
    CONSTANT(CODE_EXECUTOR_INTERNAL);
    CONSTANT(CODE_EXECUTOR_LOG_ERROR);
    CONSTANT(CODE_EXECUTOR_LOG_WARNING);
    CONSTANT(CODE_EXECUTOR_LOG_INFO);
    CONSTANT(CODE_EXECUTOR_LOG_DEBUG);
    CONSTANT(CODE_EXECUTOR_STREAM_STDOUT);
    CONSTANT(CODE_EXECUTOR_STREAM_STDERR);
    CONSTANT(CODE_EXECUTOR_STREAM_EXECUTOR);
    CONSTANT(CODE_EXECUTOR_OUTCOME_COMPLETED);
    CONSTANT(CODE_EXECUTOR_OUTCOME_SAVED);
    CONSTANT(CODE_EXECUTOR_OUTCOME_REFUSED);
    CONSTANT(CODE_EXECUTOR_OUTCOME_TIMED_OUT);
    CONSTANT(CODE_EXECUTOR_OUTCOME_CANCELLED);
    CONSTANT(CODE_EXECUTOR_OUTCOME_OUT_OF_MEMORY);
    CONSTANT(CODE_EXECUTOR_OUTCOME_FAILED);
}

int main(void)
{
    print_inputs();
    print_results();
    print_tables();
    print_constants();
    return 0;
}
