/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_support.h: a run opposite the fake session, with callbacks that note what they hear.
 */
#ifndef CODE_EXECUTOR_TESTS_RUN_SUPPORT_H
#define CODE_EXECUTOR_TESTS_RUN_SUPPORT_H

#include "commandline.h"
#include "fake_session.h"
#include "run.h"

extern run_settings settings;
extern code_executor_request request;
extern code_executor_result *result;
extern code_executor_error error;
extern char heard[4000]; /* what callbacks and log said */
extern int32_t begin_answer;
extern int32_t output_answer;

int32_t on_begin(void *user_data, size_t block);
int32_t on_output(void *user_data, size_t block, int32_t stream, const char *bytes, size_t length);
void configure(const char *json);
/* Runs BLOCKS, language and code in turn, up to a NULL. */
int32_t run_list(const char *const *words);
void expect_result(int32_t outcome, int32_t exit_code, const char *text);
/* Of a file of the workspace; NULL where there is none. */
const char *contents(const char *name);
#define RUN(...) run_list((const char *const[]){__VA_ARGS__, NULL})

int set_up(void **state);
int tear_down(void **state);
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif /* CODE_EXECUTOR_TESTS_RUN_SUPPORT_H */
