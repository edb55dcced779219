/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demo_words.h: short words for what most tests of host_demo do: run a message on the executor of plugin_echo.c,
 * or call a command, and look at what it says.
 */
#ifndef CODE_EXECUTOR_TEST_DEMO_WORDS_H
#define CODE_EXECUTOR_TEST_DEMO_WORDS_H

#include "demo_process.h"
#include <json-c/json.h>

#define BLOCK(language, code) "```" language "\n" code "\n```\n\n"

/* Runs MESSAGE on echo, with up to six more arguments. */
struct demo_result demo_run_message(const char *message, const char *const *more);
struct demo_result demo_call_with(const char *const *arguments);
#define RUN(message, ...)                                                                          \
    demo_run_message(message, (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})
#define CALL(...) demo_call_with((const char *const[]){__VA_ARGS__, NULL})

/* Its standard error holds WORDS. */
void assert_says(const struct demo_result *result, const char *words);

/* The JSON that its standard output is. */
json_object *document_of(const struct demo_result *result);
/* The member at a path such as "/blocks/0/executor". */
json_object *at(json_object *document, const char *path);
void assert_text_at(json_object *document, const char *path, const char *text);

#endif /* CODE_EXECUTOR_TEST_DEMO_WORDS_H */
