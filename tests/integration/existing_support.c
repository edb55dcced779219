/* SPDX-License-Identifier: Apache-2.0 */
/*
 * existing_support.c: see existing_support.h.
 */
#include "existing_support.h"
#include "json.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

char container[80];

void make_container(const char *members, const char *host_members)
{
    char body[2048];
    struct answer CLEANUP_ANSWER answer = {0};
    int length = snprintf(body, sizeof body,
                          "{'Image': 'python:3-slim', 'Cmd': ['sleep', '1000000'], 'StopSignal': "
                          "'SIGKILL', 'Labels': {'code-executor-test': '%s'}%s%s, 'HostConfig': {",
                          strrchr(workspace, '/') + 1, members[0] ? ", " : "", members);
    if (!strstr(host_members, "'Binds'"))
        length += snprintf(body + length, sizeof body - (size_t)length, "'Binds': ['%s:/data']%s",
                           workspace, host_members[0] ? ", " : "");
    snprintf(body + length, sizeof body - (size_t)length, "%s}}", host_members);
    for (char *at = body; *at; at++)
        *at = *at == '\'' ? '"' : *at;
    assert_int_equal(ask("POST", "/containers/create", body, &answer), 201);
    snprintf(container, sizeof container, "%s", json_string(answer.json, "Id"));
}

long tell(const char *what)
{
    char path[160];
    snprintf(path, sizeof path, "/containers/%s/%s", container, what);
    return ask("POST", path, NULL, NULL);
}

void run_container(const char *members, const char *host_members)
{
    make_container(members, host_members);
    assert_int_equal(tell("start"), 204);
}

int remove_container(void **state)
{
    char path[160];
    (void)state;
    snprintf(path, sizeof path, "/containers/%s?force=1&v=1", container);
    if (container[0])
        ask("DELETE", path, NULL, NULL);
    container[0] = '\0';
    return 0;
}

code_executor_instance *beside(const char *more)
{
    return make_instance("'container': '%s'%s%s", container, more[0] ? ", " : "", more);
}

size_t process_count(void)
{
    char path[160];
    struct answer CLEANUP_ANSWER answer = {0};
    snprintf(path, sizeof path, "/containers/%s/top", container);
    assert_int_equal(ask("GET", path, NULL, &answer), 200);
    return json_object_array_length(json_member(answer.json, "Processes"));
}

void expect_process_count(size_t count)
{
    for (int waited = 0; waited < LONG_MS && process_count() != count; waited += 20)
        pause_ms(20);
    assert_int_equal(process_count(), count);
}

long status_of_path(const char *folder)
{
    char path[240];
    snprintf(path, sizeof path, "/containers/%s/archive?path=%s", container, folder);
    return ask("HEAD", path, NULL, NULL);
}
