/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lifecycle_support.h: an instance of the plugin that has the fake launcher, and calls on threads of their own.
 */
#ifndef CODE_EXECUTOR_TESTS_LIFECYCLE_SUPPORT_H
#define CODE_EXECUTOR_TESTS_LIFECYCLE_SUPPORT_H

#include "fake_launcher.h"
#include <code_executor.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

extern const code_executor_v1 *table;
extern code_executor_instance *instance;
extern char logged[4096];
extern atomic_int progressed; /* how often what a launch says of its progress has come */

void create(const char *config);

/* Of the group: a folder of its own is the current one. */
extern char current_folder[4096];
int enter_folder(void **state);
int leave_folder(void **state);

/* Of each test: an instance with no configuration; and whether the launcher was never entered twice at a time. */
int set_up(void **state);
int tear_down(void **state);
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

struct call {
    pthread_t thread;
    uint64_t id; /* 0: start */
    bool stays;  /* it runs until it is killed */
    int32_t status;
    int32_t outcome; /* -1: no result */
};

void call_now(struct call *call);
void *call_on_thread(void *call);
void call_begin(struct call *call, uint64_t id);
void call_join(struct call *call);

void await_value(atomic_int *value, int expected);
/* Long enough for a thread to have got where it waits; nothing breaks when it was not. */
void let_them_wait(void);

#endif /* CODE_EXECUTOR_TESTS_LIFECYCLE_SUPPORT_H */
