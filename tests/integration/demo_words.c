/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demo_words.c: see demo_words.h.
 */
#include "demo_words.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

struct demo_result demo_run_message(const char *message, const char *const *more)
{
    struct demo_call call = {.arguments = {"run", "-e", "echo"}, .input = message};
    for (size_t i = 0; more != NULL && more[i] != NULL; i++)
        call.arguments[i + 3] = more[i];
    struct demo_result result;
    demo_run(&call, &result);
    return result;
}

struct demo_result demo_call_with(const char *const *arguments)
{
    struct demo_call call = {0};
    for (size_t i = 0; arguments[i] != NULL; i++)
        call.arguments[i] = arguments[i];
    struct demo_result result;
    demo_run(&call, &result);
    return result;
}

void assert_says(const struct demo_result *result, const char *words)
{
    if (strstr(result->words, words) == NULL) {
        print_error("stderr lacks \"%s\":\n%s\n", words, result->words);
        fail();
    }
}

json_object *document_of(const struct demo_result *result)
{
    json_object *document = json_tokener_parse(result->output);
    if (document == NULL) {
        print_error("no JSON: %s\n", result->output);
        fail();
    }
    return document;
}

json_object *at(json_object *document, const char *path)
{
    json_object *found = NULL;
    if (json_pointer_get(document, path, &found) != 0) {
        print_error("no %s in %s\n", path, json_object_to_json_string(document));
        fail();
    }
    return found;
}

void assert_text_at(json_object *document, const char *path, const char *text)
{
    assert_string_equal(json_object_get_string(at(document, path)), text);
}
