/* SPDX-License-Identifier: Apache-2.0 */
/*
 * router_memory.c: wherever memory ends, the router and the search for plugins say so, free what the
 * executors gave, and leave nothing behind.
 */
#include "host_memory.h"
#include "router_executor.h"
#include <code_executor_host.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* A step that is tried with less memory than it needs; true where it failed for that. */
typedef bool (*step)(void);

static void try_with_too_little_memory(step tried)
{
    for (int only_one = 0; only_one <= 1; only_one++) {
        size_t count = 0;
        for (bool failed = true; failed; count++) {
            host_memory_end_after(count, only_one != 0);
            bool refused = tried();
            failed = host_memory_restore();
            assert_int_equal(refused, failed);
        }
        assert_true(count > 3);
    }
}

static bool execute(code_executor_router *router)
{
    static const code_executor_block blocks[] = {
        {sizeof(code_executor_block), "python", "1", 1},
        {sizeof(code_executor_block), "sh", "2", 1},
        {sizeof(code_executor_block), "cobol", "3", 1},
    };
    static const code_executor_block *const pointers[] = {&blocks[0], &blocks[1], &blocks[2]};
    const code_executor_request request = {
        .struct_size = sizeof(request),
        .blocks = pointers,
        .block_count = 3,
        .execution_id = 1,
    };
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    code_executor_routed_result *result = NULL;
    int32_t status = code_executor_router_execute(router, &request, &result, &error);
    assert_int_equal(status, error.status);
    code_executor_routed_result_free(result);
    return status == CODE_EXECUTOR_NO_MEMORY;
}

static bool route(void)
{
    code_executor_instance a = {.name = "a"};
    code_executor_instance b = {.name = "b"};
    code_executor_router *router = NULL;
    bool refused = code_executor_router_create(&router, NULL) != CODE_EXECUTOR_OK ||
                   code_executor_router_add(router, "python", "A", &router_executor, &a, NULL) ||
                   code_executor_router_add(router, "py", "A2", &router_executor, &a, NULL) ||
                   code_executor_router_add(router, "sh", "B", &router_executor, &b, NULL) ||
                   execute(router);
    code_executor_router_free(router);
    assert_int_equal(a.live + b.live, 0);
    return refused;
}

static bool list_plugins(void)
{
    code_executor_plugin_list *list = NULL;
    int32_t status = code_executor_plugin_list_make(&list, NULL);
    assert_int_equal(status == CODE_EXECUTOR_OK, list != NULL);
    code_executor_plugin_list_free(list);
    return status == CODE_EXECUTOR_NO_MEMORY;
}

static bool load_plugin(void)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    code_executor_plugin *plugin = NULL;
    int32_t status = code_executor_plugin_load("good", &plugin, &error);
    assert_int_equal(status, error.status);
    assert_int_equal(status == CODE_EXECUTOR_OK, plugin != NULL);
    code_executor_plugin_unload(plugin);
    return status == CODE_EXECUTOR_NO_MEMORY;
}

static void test_routing_without_memory(void **state)
{
    (void)state;
    try_with_too_little_memory(route);
}

static void test_listing_without_memory(void **state)
{
    (void)state;
    try_with_too_little_memory(list_plugins);
}

static void test_loading_without_memory(void **state)
{
    (void)state;
    try_with_too_little_memory(load_plugin);
}

int main(void)
{
    setenv("CODE_EXECUTOR_PLUGIN_PATH", SAMPLES, 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_routing_without_memory),
        cmocka_unit_test(test_listing_without_memory),
        cmocka_unit_test(test_loading_without_memory),
    };
    return cmocka_run_group_tests_name("router_memory", tests, NULL, NULL);
}
