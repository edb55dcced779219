/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lifecycle_support.c: see lifecycle_support.h.
 */
#include "lifecycle_support.h"
#include "folder_removal.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

const code_executor_v1 *table;
code_executor_instance *instance;
char logged[4096];
char current_folder[4096];
atomic_int progressed;

static void keep_log(void *user_data, int32_t level, const char *message)
{
    (void)user_data;
    (void)level;
    size_t used = strlen(logged);
    snprintf(logged + used, sizeof logged - used, "%s\n", message);
}

static void count_progress(void *user_data, const char *what, uint64_t done, uint64_t total)
{
    (void)user_data;
    atomic_fetch_add(&progressed, strcmp(what, "launching") == 0 && done == 1 && total == 2);
}

void create(const char *config)
{
    const code_executor_host host = {
        .struct_size = sizeof host, .log = keep_log, .progress = count_progress};
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    table = code_executor_plugin_v1();
    logged[0] = '\0';
    if (table->create(&host, config, &instance, &error) != CODE_EXECUTOR_OK)
        fail_msg("%s", error.message);
}

int enter_folder(void **state)
{
    (void)state;
    strcpy(current_folder, "/tmp/code_executor_unit-XXXXXX");
    return mkdtemp(current_folder) && chdir(current_folder) == 0 ? 0 : -1;
}

int leave_folder(void **state)
{
    (void)state;
    return chdir("/") == 0 && folder_remove(current_folder) == 0 ? 0 : -1;
}

int set_up(void **state)
{
    (void)state;
    memset(&fake, 0, sizeof fake);
    atomic_store(&fake.answers_reset, true);
    atomic_store(&progressed, 0);
    create("{}");
    return 0;
}

int tear_down(void **state)
{
    (void)state;
    atomic_store(&fake.behaviour, SUCCEEDS);
    table->destroy(instance);
    assert_int_equal(atomic_load(&fake.inside), 0);
    return atomic_load(&fake.crowded) ? -1 : 0;
}

void call_now(struct call *call)
{
    static const char *const environment[] = {"STAY=1"};
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    call->outcome = -1;
    if (call->id == 0) {
        call->status = table->start(instance, &error);
        return;
    }
    const code_executor_block block = {sizeof block, "sh", "true", 4};
    const code_executor_block *const blocks[] = {&block};
    const code_executor_request request = {.struct_size = sizeof request,
                                           .blocks = blocks,
                                           .block_count = 1,
                                           .execution_id = call->id,
                                           .environment = environment,
                                           .environment_count = call->stays};
    code_executor_result *result;
    call->status = table->execute(instance, &request, &result, &error);
    if (result) {
        call->outcome = result->outcome;
        table->result_free(result);
    }
}

void *call_on_thread(void *call)
{
    call_now(call);
    return NULL;
}

void call_begin(struct call *call, uint64_t id)
{
    *call = (struct call){.id = id};
    assert_int_equal(pthread_create(&call->thread, NULL, call_on_thread, call), 0);
}

void call_join(struct call *call)
{
    pthread_join(call->thread, NULL);
}

void await_value(atomic_int *value, int expected)
{
    for (int i = 0; i < 60000 && atomic_load(value) != expected; i++)
        usleep(1000);
    assert_int_equal(atomic_load(value), expected);
}

void let_them_wait(void)
{
    usleep(50000);
}
