/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_options.c: each option of the docker executor, by what it does as seen from inside the container.
 */
#include "docker_support.h"
#include "json.h"
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#ifdef __aarch64__
#define OURS    "arm64"
#define MACHINE "aarch64"
#else
#define OURS    "amd64"
#define MACHINE "x86_64"
#endif

/* Podman leaves the first word as it is, has a limit of its own where none is asked for, does not look how
 * many processors there are, calls two mounts at one place a fault of its own, makes folders that are
 * missing, and leaves GPUs out without a word. A runtime it leaves out, see docker_podman.c. */
static const char *const not_on_podman[] = {"host-gateway",        "'pids_limit': null",
                                            "'cpus': 100000",      "/tmp:/workspace",
                                            "/no/such/folder",     "gpus",
                                            "'runtime': 'no-such", NULL};

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
    {"'tmpfs': ['/one', '/two']", "grep -cE '^tmpfs /(one|two) ' /proc/mounts", "2\n"},
    {"'read_only': true, 'tmpfs': {'/tmp': 'size=1m'}",
     "grep -c '^tmpfs /tmp .*size=1024k' /proc/mounts", "1\n"},
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
    {"'extra_hosts': ['a.test:10.1.2.5', 'b.test:10.1.2.6']",
     "grep -E '(a|b).test' /etc/hosts | tr '\\t' ' '", "10.1.2.5 a.test\n10.1.2.6 b.test\n"},
    {"'extra_hosts': {'machine.test': 'host-gateway'}, 'network': 'bridge'",
     "grep -cE '^[0-9.]+.machine.test' /etc/hosts", "1\n"},
    {"'dns': ['10.1.2.4'], 'network': 'bridge'", "grep nameserver /etc/resolv.conf",
     "nameserver 10.1.2.4\n"},
    {"'env': {'GREETING': 'good day'}", "echo $GREETING", "good day\n"},
    {"'pids_limit': null",
     "cat /sys/fs/cgroup/pids/pids.max 2> /dev/null || cat "
     "/sys/fs/cgroup/pids.max",
     "max\n"},
    {"'user': '1234:5678'", "echo $(id -u):$(id -g)", "1234:5678\n"},
    {"'user': 'nobody'", "id -un", "nobody\n"},
    {"'container_create': {'Hostname': 'merged', 'HostConfig': {'ShmSize': 1048576}}",
     "hostname; grep -c '/dev/shm .*size=1024k' /proc/mounts", "merged\n1\n"},
    {"'platform': 'linux/" OURS "', 'pull': 'missing'", "uname -m", MACHINE "\n"},
};

static void each_option_shows_inside(void **state)
{
    (void)state;
    chmod(workspace, 0777);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (podman_differs(rows[i].options, not_on_podman))
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

/* The last word is the user's own, also where it goes against an option. */
static void container_create_comes_last(void **state)
{
    (void)state;
    code_executor_instance *instance = make_instance(
        "'pids_limit': 100, 'network': 'none', 'container_create': {'Env': ['A=own'], "
        "'HostConfig': {'PidsLimit': 200, 'NetworkMode': 'bridge'}}");
    expect_output(instance,
                  "cat /sys/fs/cgroup/pids/pids.max 2> /dev/null || cat /sys/fs/cgroup/pids.max; "
                  "echo $A; ls /sys/class/net | grep -c eth0",
                  "200\nown\n1\n");
    docker->destroy(instance);
}

static void memory_limit_kills_and_is_named(void **state)
{
    (void)state;
    code_executor_instance *instance = make_instance("'memory': '64m'");
    code_executor_result *result =
        run(instance, "python", "held = []\nwhile True:\n    held.append(bytearray(1 << 22))\n");
    assert_int_equal(result->outcome, CODE_EXECUTOR_OUTCOME_OUT_OF_MEMORY);
    assert_int_equal(result->exit_code, 137);
    docker->result_free(result);
    expect_output(instance, "echo still there", "still there\n");
    docker->destroy(instance);
}

static void processes_beyond_the_limit_do_not_start(void **state)
{
    (void)state;
    code_executor_instance *instance = make_instance("'pids_limit': 40");
    code_executor_result *result = run(instance, "python",
                                       "import os, time\n"
                                       "count = 0\n"
                                       "try:\n"
                                       "    while count < 1000:\n"
                                       "        if os.fork() == 0:\n"
                                       "            time.sleep(1000)\n"
                                       "        count += 1\n"
                                       "except OSError:\n"
                                       "    print(20 < count < 40)\n");
    assert_string_equal(result->output, "True\n");
    docker->result_free(result);
    docker->destroy(instance);
}

/* Nothing that code prints is kept by the engine, where others could read it. */
static void nothing_is_logged_and_the_defaults_are_safe(void **state)
{
    (void)state;
    char id[256], path[300];
    struct answer CLEANUP_ANSWER answer = {0};
    code_executor_instance *instance = make_instance("%s", "");
    start(instance);
    described(instance, "container", "id", id, sizeof id);
    snprintf(path, sizeof path, "/containers/%s/json", id);
    assert_int_equal(ask("GET", path, NULL, &answer), 200);
    json_object *host_config = json_member(answer.json, "HostConfig");
    assert_string_equal(json_string(json_member(host_config, "LogConfig"), "Type"), "none");
    assert_int_equal(json_integer(host_config, "PidsLimit"), 4096);
    assert_false(json_object_get_boolean(json_member(host_config, "Privileged")));
    assert_string_equal(json_object_to_json_string_ext(json_member(host_config, "SecurityOpt"),
                                                       JSON_C_TO_STRING_PLAIN),
                        "[\"no-new-privileges\"]");
    docker->destroy(instance);
}

static size_t count_temporary_files(void)
{
    size_t count = 0;
    DIR *folder = opendir(workspace);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));)
        count += strncmp(entry->d_name, "tmp_code_", strlen("tmp_code_")) == 0;
    closedir(folder);
    return count;
}

static void delete_tmp_files_removes_those_without_a_name(void **state)
{
    (void)state;
    char path[300];
    size_t before = count_temporary_files();
    code_executor_instance *instance = make_instance("'delete_tmp_files': true");
    expect_output(instance, "echo never seen before", "never seen before\n");
    assert_int_equal(count_temporary_files(), before);
    expect_output(instance, "# filename: named.sh\necho named", "named\n");
    snprintf(path, sizeof path, "%s/named.sh", workspace);
    assert_int_equal(access(path, F_OK), 0);
    docker->destroy(instance);
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

enum { OTHER_USER = 4321, NOT_POSSIBLE = 77 };

/* In a process that is another user, who may speak to the engine at ADDRESS. */
static void be_another_user(const char *word, const char *address)
{
    char config[800];
    code_executor_instance *instance = NULL;
    code_executor_result *result = NULL;
    snprintf(config, sizeof config,
             "{\"user\": \"%s\", \"work_dir\": \"%s\", \"docker_host\": \"%s\"}", word, workspace,
             address);
    if (setegid(OTHER_USER) != 0 || seteuid(OTHER_USER) != 0)
        _exit(1);
    if (faccessat(AT_FDCWD, docker_plugin_path, R_OK, AT_EACCESS) != 0)
        _exit(NOT_POSSIBLE);
    if (docker->create(NULL, config, &instance, NULL) != CODE_EXECUTOR_OK ||
        execute_shell(instance, (struct shell){.code = "touch owned_by_another"}, &result, NULL) !=
            CODE_EXECUTOR_OK ||
        result->exit_code != 0)
        _exit(1);
    docker->destroy(instance);
    _exit(0);
}

static void files_belong_to_the_host_user_also_where_that_is_not_root(void **state)
{
    (void)state;
    static const char *const words[] = {"auto", "unprivileged"};
    if (geteuid() != 0)
        skip();
    struct relay relay = relay_start((struct relay_options){0});
    assert_int_equal(chmod(relay.address + strlen("unix://"), 0666), 0);
    int how = -1;
    for (size_t i = 0; i < 2; i++) {
        char path[300];
        struct stat status;
        assert_int_equal(chown(workspace, OTHER_USER, 0), 0);
        pid_t child = fork();
        if (child == 0)
            be_another_user(words[i], relay.address);
        assert_int_equal(waitpid(child, &how, 0), child);
        assert_int_equal(chown(workspace, 0, 0), 0);
        if (WEXITSTATUS(how) == NOT_POSSIBLE)
            break;
        assert_int_equal(how, 0);
        snprintf(path, sizeof path, "%s/owned_by_another", workspace);
        assert_int_equal(stat(path, &status), 0);
        assert_int_equal(status.st_uid, OTHER_USER);
        unlink(path);
    }
    relay_kill(&relay);
    if (WEXITSTATUS(how) == NOT_POSSIBLE) {
        print_message("another user cannot read the folder of the plugin\n");
        skip();
    }
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

/* The same folder by another path, as an engine elsewhere would know it. */
static void bind_dir_is_bound_in_place_of_work_dir(void **state)
{
    (void)state;
    char other[300], text[512];
    snprintf(other, sizeof other, "%s/../%s", workspace, strrchr(workspace, '/') + 1);
    code_executor_instance *instance = make_instance("'bind_dir': '%s'", other);
    expect_output(instance, "echo x > through_bind_dir; cat through_bind_dir", "x\n");
    described(instance, NULL, "bind_dir", text, sizeof text);
    assert_string_equal(text, other);
    docker->destroy(instance);
    snprintf(text, sizeof text, "%s/through_bind_dir", workspace);
    assert_int_equal(access(text, F_OK), 0);
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

static void *cancel_once_it_runs(void *instance)
{
    char path[300];
    snprintf(path, sizeof path, "%s/in_init", workspace);
    for (int waited = 0; waited < LONG_MS && access(path, F_OK) != 0; waited += 10)
        pause_ms(10);
    docker->cancel(instance, 0, NULL);
    return NULL;
}

static void init_command_can_be_cancelled(void **state)
{
    (void)state;
    size_t before = container_count();
    pthread_t thread;
    code_executor_instance *instance = make_instance("'init_command': 'touch in_init; sleep 1000'");
    assert_int_equal(pthread_create(&thread, NULL, cancel_once_it_runs, instance), 0);
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
        if (podman_differs(table[i].options, not_on_podman))
            continue;
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
        cmocka_unit_test(container_create_comes_last),
        cmocka_unit_test(memory_limit_kills_and_is_named),
        cmocka_unit_test(processes_beyond_the_limit_do_not_start),
        cmocka_unit_test(nothing_is_logged_and_the_defaults_are_safe),
        cmocka_unit_test(delete_tmp_files_removes_those_without_a_name),
        cmocka_unit_test(network_none_is_offline),
        cmocka_unit_test(user_auto_gives_files_to_the_host_user),
        cmocka_unit_test(files_belong_to_the_host_user_also_where_that_is_not_root),
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
