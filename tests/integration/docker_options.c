/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_options.c: each option of the docker executor, by what it does as seen from inside the container.
 */
#include "docker_support.h"
#include "json.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* The effect of most options fits a row: with OPTIONS the shell CODE prints OUTPUT. */
static const struct row {
    const char *options;
    const char *code;
    const char *output;
} rows[] = {
    {"'memory': '64m'",
     "cat /sys/fs/cgroup/memory/memory.limit_in_bytes 2> /dev/null || cat "
     "/sys/fs/cgroup/memory.max",
     "67108864\n"},
    {"'memory': 67108864",
     "cat /sys/fs/cgroup/memory/memory.limit_in_bytes 2> /dev/null || cat "
     "/sys/fs/cgroup/memory.max",
     "67108864\n"},
    {"'cpus': 0.5",
     "if [ -e /sys/fs/cgroup/cpu.max ]; then cat /sys/fs/cgroup/cpu.max;"
     "else echo $(cat /sys/fs/cgroup/cpu/cpu.cfs_quota_us /sys/fs/cgroup/cpu/cpu.cfs_period_us); "
     "fi",
     "50000 100000\n"},
    {"", "cat /sys/fs/cgroup/pids/pids.max 2> /dev/null || cat /sys/fs/cgroup/pids.max", "4096\n"},
    {"'pids_limit': 100",
     "cat /sys/fs/cgroup/pids/pids.max 2> /dev/null || cat /sys/fs/cgroup/pids.max", "100\n"},
    {"'network': 'none'", "ls /sys/class/net", "lo\n"},
    {"'read_only': true",
     "touch /root/x 2> /dev/null || echo refused; touch here /tmp/there && rm here && echo allowed",
     "refused\nallowed\n"},
    {"'tmpfs': {'/scratch': 'size=1m'}", "grep -c '^tmpfs /scratch .*size=1024k' /proc/mounts",
     "1\n"},
    {"'cap_drop': ['ALL']", "grep CapBnd /proc/self/status | tr -d '\\t'",
     "CapBnd:0000000000000000\n"},
    {"'cap_drop': ['ALL'], 'cap_add': ['CHOWN']", "grep CapBnd /proc/self/status | tr -d '\\t'",
     "CapBnd:0000000000000001\n"},
    {"", "grep NoNewPrivs /proc/self/status | tr -d '\\t'", "NoNewPrivs:1\n"},
    {"'security_opt': ['no-new-privileges:false']",
     "grep NoNewPrivs /proc/self/status | tr -d '\\t'", "NoNewPrivs:0\n"},
    {"'security_opt': ['seccomp=unconfined']", "grep 'Seccomp:' /proc/self/status | tr -d '\\t'",
     "Seccomp:0\n"},
    {"'runtime': 'runc'", "echo runs", "runs\n"},
    {"'extra_hosts': {'db.test': '10.1.2.3'}", "grep db.test /etc/hosts | tr '\\t' ' '",
     "10.1.2.3 db.test\n"},
    {"'dns': ['10.1.2.4'], 'network': 'bridge'", "grep nameserver /etc/resolv.conf",
     "nameserver 10.1.2.4\n"},
    {"'env': {'GREETING': 'good day'}", "echo $GREETING", "good day\n"},
    {"'user': '1234:5678'", "echo $(id -u):$(id -g)", "1234:5678\n"},
    {"'user': 'nobody'", "id -un", "nobody\n"},
    {"'container_create': {'Hostname': 'merged', 'HostConfig': {'ShmSize': 1048576}}",
     "hostname; grep -c '/dev/shm .*size=1024k' /proc/mounts", "merged\n1\n"},
    {"'platform': 'linux/amd64', 'pull': 'missing'", "uname -m", "x86_64\n"},
};

static void each_option_shows_inside(void **state)
{
    (void)state;
    chmod(workspace, 0777);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strstr(rows[i].options, "amd64") && !strstr(rows[i].output, "x86_64"))
            continue;
        code_executor_instance *instance = make_instance("%s", rows[i].options);
        code_executor_result *result = run(instance, "sh", rows[i].code);
        if (result->exit_code != 0 || strcmp(result->output, rows[i].output) != 0)
            fail_msg("{%s} %s: exit code %d, output %s", rows[i].options, rows[i].code,
                     result->exit_code, result->output);
        docker->result_free(result);
        docker->destroy(instance);
    }
    chmod(workspace, 0700);
}

static void network_none_is_offline(void **state)
{
    (void)state;
    code_executor_instance *instance = make_instance("'network': 'none'");
    code_executor_result *result =
        run(instance, "python",
            "import socket\n"
            "try:\n    socket.create_connection(('10.0.0.1', 80), 5)\n    print('online')\n"
            "except OSError as error:\n    print('offline')\n");
    assert_string_equal(result->output, "offline\n");
    docker->result_free(result);
    docker->destroy(instance);
}

static void user_auto_gives_files_to_the_host_user(void **state)
{
    (void)state;
    code_executor_instance *instance = make_instance("'user': 'auto'");
    char path[300];
    struct stat status;
    expect_output(instance, "touch owned; touch $HOME/writable && echo home", "home\n");
    docker->destroy(instance);
    snprintf(path, sizeof path, "%s/owned", workspace);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_uid, geteuid());
}

static void extra_volumes_are_mounted_as_they_say(void **state)
{
    (void)state;
    char folder[300], path[340];
    snprintf(folder, sizeof folder, "%s/extra", workspace);
    assert_int_equal(mkdir(folder, 0777), 0);
    snprintf(path, sizeof path, "%s/file", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("there\n", file);
    fclose(file);
    code_executor_instance *instance = make_instance("'extra_volumes': ['%s:/extra:ro']", folder);
    expect_output(instance, "cat /extra/file; touch /extra/x 2> /dev/null || echo read-only",
                  "there\nread-only\n");
    docker->destroy(instance);
    instance = make_instance("'extra_volumes': {'%s': {'bind': '/extra', 'mode': 'rw'}}", folder);
    expect_output(instance, "touch /extra/x && echo writable", "writable\n");
    docker->destroy(instance);
}

static void labels_are_on_the_container(void **state)
{
    (void)state;
    code_executor_instance *instance = make_instance("'labels': {'team': 'red'}");
    char id[256], path[300];
    struct answer CLEANUP_ANSWER answer = {0};
    start(instance);
    described(instance, "container", "id", id, sizeof id);
    snprintf(path, sizeof path, "/containers/%s/json", id);
    assert_int_equal(ask("GET", path, NULL, &answer), 200);
    json_object *labels = json_member(json_member(answer.json, "Config"), "Labels");
    assert_string_equal(json_string(labels, "team"), "red");
    assert_non_null(json_string(labels, "code-executor.pid"));
    docker->destroy(instance);
}

static void ptrace_is_held_back_unless_asked_for(void **state)
{
    (void)state;
    static const char code[] = "python3 -c 'print(int(open(\"/proc/self/status\").read()"
                               ".split(\"CapBnd:\")[1].split()[0], 16) >> 19 & 1)'";
    code_executor_instance *instance = make_instance("%s", "");
    expect_output(instance, code, "0\n");
    docker->destroy(instance);
    instance = make_instance("'cap_add': ['SYS_PTRACE']");
    expect_output(instance, code, "1\n");
    docker->destroy(instance);
}

static void bind_dir_is_bound_in_place_of_work_dir(void **state)
{
    (void)state;
    char other[300], path[340];
    snprintf(other, sizeof other, "%s/other", workspace);
    assert_int_equal(mkdir(other, 0777), 0);
    snprintf(path, sizeof path, "%s/marker", other);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    code_executor_instance *instance =
        make_instance("'bind_dir': '%s', 'execution_policies': {}", other);
    start(instance);
    char text[512];
    described(instance, NULL, "bind_dir", text, sizeof text);
    assert_string_equal(text, other);
    docker->destroy(instance);
}

static void init_command_runs_once_before_the_first_block(void **state)
{
    (void)state;
    code_executor_instance *instance =
        make_instance("'env': {'A': 'b'}, 'init_command': 'echo $A >> /tmp/init; sleep 0.2'");
    expect_output(instance, "cat /tmp/init", "b\n");
    expect_output(instance, "cat /tmp/init", "b\n");
    assert_int_equal(docker->restart(instance, NULL), CODE_EXECUTOR_OK);
    expect_output(instance, "cat /tmp/init", "b\n");
    docker->stop(instance, NULL);
    expect_output(instance, "cat /tmp/init", "b\n");
    docker->destroy(instance);
}

static void init_command_that_fails_fails_the_start(void **state)
{
    (void)state;
    size_t before = container_count();
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    code_executor_instance *instance =
        make_instance("'init_command': 'echo no such package >&2; exit 7'");
    assert_int_equal(docker->start(instance, &error), CODE_EXECUTOR_UNAVAILABLE);
    assert_non_null(strstr(error.message, "exit code 7"));
    assert_non_null(strstr(error.message, "no such package"));
    expect_container_count(before);
    docker->destroy(instance);
}

static void container_of_a_failed_start_is_not_kept(void **state)
{
    (void)state;
    static const char *const options[] = {"'auto_remove': false", "'stop_container': false"};
    for (size_t i = 0; i < 2; i++) {
        size_t before = container_count();
        code_executor_instance *instance =
            make_instance("%s, 'init_command': 'test -e go'", options[i]);
        assert_int_equal(docker->start(instance, NULL), CODE_EXECUTOR_UNAVAILABLE);
        expect_container_count(before);
        docker->destroy(instance);
        expect_container_count(before);
    }
}

static void *cancel_soon(void *instance)
{
    pause_ms(2000);
    docker->cancel(instance, 0, NULL);
    return NULL;
}

static void init_command_can_be_cancelled(void **state)
{
    (void)state;
    size_t before = container_count();
    pthread_t thread;
    code_executor_instance *instance = make_instance("'init_command': 'sleep 1000'");
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, instance), 0);
    assert_int_equal(docker->start(instance, NULL), CODE_EXECUTOR_CANCELLED);
    pthread_join(thread, NULL);
    expect_container_count(before);
    docker->destroy(instance);
}

/* What the engine does not like comes back in its words, with the status of a wrong configuration. */
static void options_that_the_engine_refuses_are_explained(void **state)
{
    (void)state;
    static const struct {
        const char *options;
        int32_t status;
        const char *words;
    } table[] = {
        {"'network': 'no-such-network'", CODE_EXECUTOR_NOT_FOUND, "docker network ls"},
        {"'runtime': 'no-such-runtime'", CODE_EXECUTOR_INVALID, "docker info"},
        {"'cap_add': ['FLY']", CODE_EXECUTOR_INVALID, "cap_add"},
        {"'user': 'no-such-user'", CODE_EXECUTOR_INVALID, "user must exist"},
        {"'memory': '1k'", CODE_EXECUTOR_INVALID, "Raise memory"},
        {"'cpus': 100000", CODE_EXECUTOR_INVALID, "Lower cpus"},
        {"'security_opt': ['nonsense']", CODE_EXECUTOR_INVALID, "security_opt"},
        {"'extra_volumes': ['/tmp:/workspace']", CODE_EXECUTOR_INVALID, "/workspace"},
        {"'bind_dir': '/no/such/folder'", CODE_EXECUTOR_NOT_FOUND, "bind_dir"},
        {"'container_create': {'HostConfig': {'Memory': 'lots'}}", CODE_EXECUTOR_INVALID,
         "container_create"},
        {"'gpus': 'all'", CODE_EXECUTOR_UNAVAILABLE, "gpus"},
    };
    size_t before = container_count();
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
        code_executor_instance *instance = make_instance("%s", table[i].options);
        int32_t status = docker->start(instance, &error);
        if (status != table[i].status || !strstr(error.message, table[i].words))
            fail_msg("{%s}: status %d, %s", table[i].options, status, error.message);
        docker->destroy(instance);
    }
    expect_container_count(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_option_shows_inside),
        cmocka_unit_test(network_none_is_offline),
        cmocka_unit_test(user_auto_gives_files_to_the_host_user),
        cmocka_unit_test(extra_volumes_are_mounted_as_they_say),
        cmocka_unit_test(labels_are_on_the_container),
        cmocka_unit_test(ptrace_is_held_back_unless_asked_for),
        cmocka_unit_test(bind_dir_is_bound_in_place_of_work_dir),
        cmocka_unit_test(init_command_runs_once_before_the_first_block),
        cmocka_unit_test(init_command_that_fails_fails_the_start),
        cmocka_unit_test(container_of_a_failed_start_is_not_kept),
        cmocka_unit_test(init_command_can_be_cancelled),
        cmocka_unit_test(options_that_the_engine_refuses_are_explained),
    };
    return docker_test_main("docker_options", tests, sizeof tests / sizeof tests[0]);
}
