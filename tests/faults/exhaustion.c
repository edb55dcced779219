/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exhaustion.c: a host that has run out of descriptors or memory at any point of a plugin's life: an error
 * at worst, nothing left behind, and everything works once there is some again. On any executor; see
 * executor_client.h for the command line.
 */
#include "executor_client.h"

#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

/* ------------------------------------------------------------------------------------------------
 * Memory. These stand in the place of libc's, for the plugin too, whose own allocations alone fail: the
 * libraries that it uses (json-c) end the process themselves. A sanitizer has its own.
 * --------------------------------------------------------------------------------------------- */

static atomic_long allocations_left = -1; /* until one fails; negative: none does */
static atomic_bool one_failed;

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && defined(__GLIBC__) &&       \
    __GLIBC_PREREQ(2, 33)
#define CAN_FAIL_ALLOCATIONS 1

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void __libc_free(void *memory);

static atomic_long in_use; /* allocations, anybody's */

static bool is_the_plugins(void *caller)
{
    Dl_info info;
    return dladdr(caller, &info) != 0 && info.dli_fname && strcmp(info.dli_fname, host.plugin) == 0;
}

static bool fails(void *caller)
{
    if (atomic_load(&allocations_left) < 0 || !is_the_plugins(caller) ||
        atomic_fetch_sub(&allocations_left, 1) != 0)
        return false;
    atomic_store(&one_failed, true);
    errno = ENOMEM;
    return true;
}

static void *counted(void *memory)
{
    atomic_fetch_add(&in_use, memory != NULL);
    return memory;
}

__attribute__((visibility("default"))) void *malloc(size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : counted(__libc_malloc(size));
}

__attribute__((visibility("default"))) void *calloc(size_t count, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : counted(__libc_calloc(count, size));
}

__attribute__((visibility("default"))) void *realloc(void *memory, size_t size)
{
    if (fails(__builtin_return_address(0)))
        return NULL;
    return memory ? __libc_realloc(memory, size) : counted(__libc_malloc(size));
}

__attribute__((visibility("default"))) void free(void *memory)
{
    atomic_fetch_sub(&in_use, memory != NULL);
    __libc_free(memory);
}
#else
#define CAN_FAIL_ALLOCATIONS 0

static atomic_long in_use;
#endif

/* ------------------------------------------------------------------------------------------------
 * A life
 * --------------------------------------------------------------------------------------------- */

static void expect_error(int32_t status, const code_executor_error *error)
{
    if (status == CODE_EXECUTOR_OK) {
        assert_string_equal(error->message, "");
    } else {
        assert_string_not_equal(error->message, "");
        assert_int_equal(error->status, status);
    }
}

/* Create, run, describe, list, destroy, as far as it goes. Whether all went well. */
static bool live(void)
{
    code_executor_instance *instance = NULL;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    int32_t status = host.table->create(NULL, host.configuration, &instance, &error);
    expect_error(status, &error);
    assert_true((status == CODE_EXECUTOR_OK) == (instance != NULL));
    if (!instance)
        return false;
    question asked;
    question_set(&asked, "sh", "echo out; echo error >&2");
    reply answer = client_execute(instance, &asked.request);
    expect_error(answer.status, &answer.error);
    bool fine = answer.status == CODE_EXECUTOR_OK && answer.result->exit_code == 0;
    reply_release(&answer);
    char *json = NULL;
    fine = host.table->describe(instance, &json, &error) == CODE_EXECUTOR_OK && fine;
    host.table->string_free(json);
    const code_executor_languages_v1 *extension =
        host.table->get_extension(instance, CODE_EXECUTOR_EXTENSION_LANGUAGES);
    const code_executor_language *const *languages;
    size_t count;
    fine = extension->list(instance, &languages, &count, &error) == CODE_EXECUTOR_OK && fine;
    fine = host.table->restart(instance, &error) == CODE_EXECUTOR_OK && fine;
    host.table->destroy(instance);
    return fine;
}

static void every_descriptor_may_be_the_one_too_many(void **state)
{
    (void)state;
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    size_t descriptors = count_descriptors();
    bool fine = false;
    for (rlim_t limit = 3; limit < 64 && !fine; limit++) {
        struct rlimit less = {.rlim_cur = limit, .rlim_max = before.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &less), 0);
        fine = live();
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        assert_int_equal(count_descriptors(), descriptors);
    }
    assert_true(fine);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    if (!CAN_FAIL_ALLOCATIONS)
        skip();
    assert_true(live());
    assert_true(live());
    size_t descriptors = count_descriptors();
    long used = atomic_load(&in_use);
    bool failed = true;
    for (long number = 0; failed && number < 5000; number++) {
        atomic_store(&one_failed, false);
        atomic_store(&allocations_left, number);
        (void)live();
        atomic_store(&allocations_left, -1);
        failed = atomic_load(&one_failed);
        assert_int_equal(atomic_load(&in_use), used);
        assert_int_equal(count_descriptors(), descriptors);
    }
    assert_false(failed); /* all have had their turn */
    assert_true(live());
}

int main(int argc, char **argv)
{
    client_begin(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_descriptor_may_be_the_one_too_many),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return client_end(cmocka_run_group_tests_name("exhaustion", tests, NULL, NULL));
}
