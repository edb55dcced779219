/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bad_input.c: what a person, a model or a disk may hand to host_demo that is not what it should
 * be. Each is answered by words that say what is wrong, never by a crash.
 */
#include "demo_process.h"
#include <json-c/json.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MEGABYTE = 1000 * 1000 };

#define SH(code) "```sh\n" code "\n```\n"

static struct demo_result run_local(const char *config, const char *message)
{
    struct demo_result result;
    demo_run(
        &(struct demo_call){.arguments = {"run", "-e", "local", "-c", config}, .input = message},
        &result);
    return result;
}

static void assert_refused(const char *config, const char *words)
{
    struct demo_result result = run_local(config, SH("echo ran"));
    assert_int_equal(result.status, 125);
    assert_string_equal(result.output, "");
    if (strstr(result.words, words) == NULL) {
        print_error("stderr lacks \"%s\":\n%s\n", words, result.words);
        fail();
    }
    demo_result_free(&result);
}

static void a_configuration_that_is_no_json(void **state)
{
    (void)state;
    static const char *const wrong[] = {"{",   "nonsense", "{\"timeout\":1,}",
                                        "[1]", "{} {}",    "\xff\xfe"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct demo_result result = run_local(wrong[i], SH("echo ran"));
        assert_int_equal(result.status, 125);
        assert_string_equal(result.output, "");
        assert_non_null(strstr(result.words, "host_demo: "));
        demo_result_free(&result);
    }
}

static void an_unknown_key_is_named_with_the_nearest_known_one(void **state)
{
    (void)state;
    assert_refused("{\"timeot\":5}", "timeot");
    assert_refused("{\"timeot\":5}", "timeout");
}

static void a_wrong_type_is_named(void **state)
{
    (void)state;
    assert_refused("{\"timeout\":\"abc\"}", "timeout");
    assert_refused("{\"work_dir\":5}", "work_dir");
    assert_refused("{\"env\":[]}", "env");
}

static void a_timeout_below_one_is_refused_in_the_known_words(void **state)
{
    (void)state;
    assert_refused("{\"timeout\":0.5}", "Timeout must be greater than or equal to 1.");
}

static void a_configuration_file_that_is_not_there(void **state)
{
    (void)state;
    assert_refused("@/nonexistent/config.json", "/nonexistent/config.json");
}

static void a_file_without_an_end(void **state)
{
    (void)state;
    struct demo_result result;
    demo_run(&(struct demo_call){.arguments = {"extract", "/dev/zero"}}, &result);
    assert_int_equal(result.status, 125);
    assert_non_null(strstr(result.words, "more than"));
    demo_result_free(&result);
}

static void a_folder_instead_of_a_file(void **state)
{
    (void)state;
    struct demo_result result;
    demo_run(&(struct demo_call){.arguments = {"run", "/tmp"}}, &result);
    assert_int_equal(result.status, 125);
    assert_non_null(strstr(result.words, "/tmp"));
    demo_result_free(&result);
}

static void assert_plugin_refused(const char *path, const char *words)
{
    struct demo_result result;
    demo_run(&(struct demo_call){.arguments = {"run", "-e", path}, .input = SH("echo ran")},
             &result);
    assert_int_equal(result.status, 125);
    if (strstr(result.words, words) == NULL || strstr(result.words, path) == NULL) {
        print_error("stderr lacks \"%s\":\n%s\n", words, result.words);
        fail();
    }
    demo_result_free(&result);
}

static void a_plugin_that_is_a_text_file(void **state)
{
    (void)state;
    assert_plugin_refused(demo_file("text.so", "hello\n", 6), "text.so");
    assert_plugin_refused(demo_file("empty.so", "", 0), "empty.so");
}

static void a_library_without_the_entry_symbol(void **state)
{
    (void)state;
    assert_plugin_refused(BROKEN_PLUGIN_FOLDER "/no_entry.so", "code_executor_plugin_v1");
}

static void a_plugin_of_version_two(void **state)
{
    (void)state;
    assert_plugin_refused(BROKEN_PLUGIN_FOLDER "/version_two.so", "2");
}

static void broken_plugins_are_listed_with_what_is_wrong(void **state)
{
    (void)state;
    struct demo_result result;
    demo_run(&(struct demo_call){.arguments = {"plugins"}, .plugin_path = BROKEN_PLUGIN_FOLDER},
             &result);
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.output, "no_entry: "));
    assert_non_null(strstr(result.output, "version_two: "));
    assert_non_null(strstr(result.output, "local "));
    demo_result_free(&result);
}

/* ------------------------------------------------------------------------------------------------
 * Messages
 * --------------------------------------------------------------------------------------------- */

static void a_message_of_50_megabytes_runs(void **state)
{
    (void)state;
    static const char prose[] = "Some words, *with* `marks`, as models write them.\n\n";
    static const char block[] = SH("echo found");
    size_t length = 0, size = 50 * MEGABYTE + sizeof block;
    char *message = malloc(size);
    assert_non_null(message);
    while (length + sizeof prose < 50 * MEGABYTE) {
        memcpy(message + length, prose, sizeof prose - 1);
        length += sizeof prose - 1;
    }
    memcpy(message + length, block, sizeof block - 1);
    length += sizeof block - 1;
    struct demo_result result;
    demo_run(&(struct demo_call){.arguments = {"run", "-e", "local"},
                                 .input = message,
                                 .input_length = length},
             &result);
    assert_int_equal(result.status, 0);
    assert_string_equal(result.output, "found\n");
    demo_result_free(&result);
    free(message);
}

static void a_block_of_50_megabytes_is_extracted_whole(void **state)
{
    (void)state;
    size_t length = 50 * MEGABYTE;
    char *message = malloc(length + 16);
    assert_non_null(message);
    memset(message, 'x', length + 16);
    memcpy(message, "```sh\n", 6);
    memcpy(message + length - 5, "\n```\n", 5);
    struct demo_result result;
    demo_run(&(struct demo_call){.arguments = {"extract", "--json"},
                                 .input = message,
                                 .input_length = length},
             &result);
    assert_int_equal(result.status, 0);
    json_object *blocks = json_tokener_parse(result.output);
    json_object *code = NULL;
    assert_int_equal(json_pointer_get(blocks, "/0/code", &code), 0);
    assert_int_equal(json_object_get_string_len(code), length - 6 - 4);
    json_object_put(blocks);
    demo_result_free(&result);
    free(message);
}

static void a_hundred_thousand_blocks_are_extracted(void **state)
{
    (void)state;
    enum { BLOCKS = 100000 };
    static const char block[] = "```note\nx\n```\n\n";
    char *message = malloc(BLOCKS * sizeof block);
    assert_non_null(message);
    for (size_t i = 0; i < BLOCKS; i++)
        memcpy(message + i * (sizeof block - 1), block, sizeof block - 1);
    struct demo_result result;
    demo_run(&(struct demo_call){.arguments = {"run", "-e", "echo", "--json"},
                                 .input = message,
                                 .input_length = BLOCKS * (sizeof block - 1)},
             &result);
    assert_int_equal(result.status, 0);
    demo_result_free(&result);
    free(message);
}

static void a_language_of_10_kilobytes_is_refused_whole(void **state)
{
    (void)state;
    char message[10240 + 64] = "```";
    memset(message + 3, 'l', 10240);
    strcpy(message + 3 + 10240, "\nx\n```\n");
    struct demo_result result;
    demo_run(&(struct demo_call){.arguments = {"run", "-e", "local", "--json"}, .input = message},
             &result);
    assert_int_equal(result.status, 1);
    json_object *document = json_tokener_parse(result.output);
    json_object *language = NULL, *outcome = NULL;
    assert_int_equal(json_pointer_get(document, "/blocks/0/language", &language), 0);
    assert_int_equal(json_object_get_string_len(language), 10240);
    assert_int_equal(json_pointer_get(document, "/blocks/0/outcome", &outcome), 0);
    assert_string_equal(json_object_get_string(outcome), "refused");
    json_object_put(document);
    demo_result_free(&result);
}

static void nul_bytes_in_code_are_kept(void **state)
{
    (void)state;
    static const char message[] = "```python\nx = 'a\0b'\n```\n";
    struct demo_result result;
    demo_run(&(struct demo_call){.arguments = {"extract", "--json"},
                                 .input = message,
                                 .input_length = sizeof message - 1},
             &result);
    assert_non_null(strstr(result.output, "'a\\u0000b'"));
    demo_result_free(&result);
}

static void nul_bytes_in_code_run_to_an_end(void **state)
{
    (void)state;
    static const char message[] = "```python\nprint('before')\nx = 'a\0b'\n```\n" SH("echo a\0b");
    struct demo_result result;
    demo_run(&(struct demo_call){.arguments = {"run", "-e", "local", "--json"},
                                 .input = message,
                                 .input_length = sizeof message - 1},
             &result);
    assert_in_range(result.status, 0, 124);
    json_object *document = json_tokener_parse(result.output);
    assert_non_null(document);
    json_object_put(document);
    demo_result_free(&result);
}

static void a_truncated_block_does_not_run(void **state)
{
    (void)state;
    struct demo_result result = run_local("{}", "```sh\necho ran; rm -rf /");
    assert_int_equal(result.status, 1);
    assert_string_equal(result.output, "");
    assert_non_null(strstr(result.words, "not complete"));
    demo_result_free(&result);
}

static void noise_as_a_message(void **state)
{
    (void)state;
    enum { LENGTH = 200000, ROUNDS = 20 };
    char *noise = malloc(LENGTH);
    assert_non_null(noise);
    uint32_t seed = 1;
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < LENGTH; i++) {
            seed = seed * 1664525 + 1013904223;
            /* Half of the rounds from what Markdown gives a meaning, half from all bytes. */
            noise[i] = round % 2 == 0 ? "`~>- \n\r\t#a1.*"[(seed >> 16) % 14] : (char)(seed >> 16);
        }
        struct demo_result result;
        demo_run(&(struct demo_call){.arguments = {"extract", "--json"},
                                     .input = noise,
                                     .input_length = LENGTH},
                 &result);
        assert_int_equal(result.status, 0);
        json_object *blocks = json_tokener_parse(result.output);
        assert_true(json_object_is_type(blocks, json_type_array));
        json_object_put(blocks);
        demo_result_free(&result);
    }
    free(noise);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_configuration_that_is_no_json),
        cmocka_unit_test(an_unknown_key_is_named_with_the_nearest_known_one),
        cmocka_unit_test(a_wrong_type_is_named),
        cmocka_unit_test(a_timeout_below_one_is_refused_in_the_known_words),
        cmocka_unit_test(a_configuration_file_that_is_not_there),
        cmocka_unit_test(a_file_without_an_end),
        cmocka_unit_test(a_folder_instead_of_a_file),
        cmocka_unit_test(a_plugin_that_is_a_text_file),
        cmocka_unit_test(a_library_without_the_entry_symbol),
        cmocka_unit_test(a_plugin_of_version_two),
        cmocka_unit_test(broken_plugins_are_listed_with_what_is_wrong),
        cmocka_unit_test(a_message_of_50_megabytes_runs),
        cmocka_unit_test(a_block_of_50_megabytes_is_extracted_whole),
        cmocka_unit_test(a_hundred_thousand_blocks_are_extracted),
        cmocka_unit_test(a_language_of_10_kilobytes_is_refused_whole),
        cmocka_unit_test(nul_bytes_in_code_are_kept),
        cmocka_unit_test(nul_bytes_in_code_run_to_an_end),
        cmocka_unit_test(a_truncated_block_does_not_run),
        cmocka_unit_test(noise_as_a_message),
    };
    return cmocka_run_group_tests_name("bad_input", tests, NULL, NULL);
}
