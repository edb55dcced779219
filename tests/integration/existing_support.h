/* SPDX-License-Identifier: Apache-2.0 */
/*
 * existing_support.h: what the tests of code in a container that somebody else has started share: that
 * container, which the test starts.
 */
#ifndef CODE_EXECUTOR_TEST_EXISTING_SUPPORT_H
#define CODE_EXECUTOR_TEST_EXISTING_SUPPORT_H

#include "docker_support.h"

/* The one of the running test: its id. */
extern char container[80];

/* Members for the create request, in single quotes; the workspace is bound to /data unless Binds says
 * otherwise. */
void make_container(const char *members, const char *host_members);
/* The same, and starts it. */
void run_container(const char *members, const char *host_members);
/* A teardown. */
int remove_container(void **state);

/* The status of a POST request: "start", "restart?t=0" … */
long tell(const char *what);

/* An instance whose code runs in it. */
code_executor_instance *beside(const char *more);

/* The processes in it. */
size_t process_count(void);
void expect_process_count(size_t count);

/* What a status call on PATH of the container answers: 200 or 404. */
long status_of_path(const char *path);

#define TEST(name) cmocka_unit_test_teardown(name, remove_container)

#endif /* CODE_EXECUTOR_TEST_EXISTING_SUPPORT_H */
