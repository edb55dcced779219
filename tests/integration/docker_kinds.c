/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_kinds.c: images of all kinds: with settings of their own, with next to nothing in them, and for
 * other machines.
 */
#include "docker_images.h"
#include "docker_support.h"
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define NAME "localhost/code-executor-test-kind:1"
#define PATH "ENV PATH=/bin\n"

/* With the image NAME, MORE options and MODE for the workspace: shell CODE prints OUTPUT. */
static void expect_prints(const char *more, const char *code, const char *output)
{
    code_executor_instance *instance = make_instance("'image': '" NAME "'%s", more);
    expect_output(instance, code, output);
    docker->destroy(instance);
}

static int remove_it(void **state)
{
    (void)state;
    image_remove(NAME);
    chmod(workspace, 0700);
    return 0;
}

static void expect_refused(const char *more, int32_t status, const char *const *words)
{
    size_t before = container_count();
    expect_start_fails(make_instance("'image': '" NAME "'%s", more), status, words);
    expect_container_count(before);
}

/* ---- settings ---------------------------------------------------------------------------------- */

/* What Podman does not take in an import. */
static const char *const not_on_podman[] = {"HEALTHCHECK", NULL};

/* Each is in the way of a program that is to be the first process, or of one that runs in the workspace. */
static void settings_of_an_image_do_not_get_in_the_way(void **state)
{
    (void)state;
    static const struct {
        const char *change;
        const char *code;
        const char *output;
    } table[] = {
        {"ENTRYPOINT [\"/bin/false\"]", "cat /proc/1/comm", "runner\n"},
        {"ENTRYPOINT [\"/bin/no-such-program\"]", "echo runs", "runs\n"},
        {"ENTRYPOINT exec /bin/false", "echo runs", "runs\n"},
        {"CMD [\"/bin/false\"]", "cat /proc/1/cmdline | cat", "/.code_executor/runner"},
        {"WORKDIR /no/such/folder", "pwd", "/workspace\n"},
        {"USER 1234:1235", "echo $(id -u):$(id -g)", "1234:1235\n"},
        {"HEALTHCHECK --interval=1s CMD [\"/bin/touch\", \"/workspace/health\"]",
         "sleep 2; ls health 2> /dev/null || echo unasked", "unasked\n"},
        {"VOLUME /data", "echo x > /data/y; cat /data/y", "x\n"},
        {"VOLUME /workspace", "echo x > seen; cat seen", "x\n"},
        {"ENV A=b", "echo $A", "b\n"},
        {"LABEL code-executor.launch=forged", "echo runs", "runs\n"},
        {"ONBUILD RUN false", "echo runs", "runs\n"},
    };
    chmod(workspace, 0777);
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        char changes[256];
        if (podman_differs(table[i].change, not_on_podman))
            continue;
        snprintf(changes, sizeof changes, PATH "%s\n", table[i].change);
        image_make(NAME, BUSYBOX, changes);
        expect_prints("", table[i].code, table[i].output);
        image_remove(NAME);
    }
}

static void anonymous_volumes_of_an_image_go_with_the_container(void **state)
{
    (void)state;
    char volume[128];
    image_make(NAME, BUSYBOX, PATH "VOLUME /data\n");
    code_executor_instance *instance = make_instance("'image': '" NAME "'");
    expect_output(instance, "echo x > /data/y", "");
    volume_at(instance, "/data", volume);
    docker->destroy(instance);
    expect_volume_gone(volume);
}

static void user_that_the_image_only_names_is_explained(void **state)
{
    (void)state;
    image_make(NAME, BUSYBOX, PATH "USER nobody\n");
    expect_refused("", CODE_EXECUTOR_INVALID, WORDS("nobody", "user must exist"));
    expect_prints(", 'user': '0:0'", "id -u", "0\n");
}

/* ---- next to nothing --------------------------------------------------------------------------- */

static void image_without_python_runs_shells(void **state)
{
    (void)state;
    image_make(NAME, BUSYBOX, PATH);
    code_executor_instance *instance = make_instance("'image': '" NAME "'");
    expect_output(instance, "echo runs", "runs\n");
    code_executor_result *result = run(instance, "python", "print(1)");
    assert_int_equal(result->exit_code, 127);
    assert_non_null(strstr(result->output, "python"));
    docker->result_free(result);
    docker->destroy(instance);
}

/* Nothing but a program that code is written for. */
static void image_without_a_shell_runs_what_it_has(void **state)
{
    (void)state;
    image_make(NAME, "mkdir bin && cp /bin/busybox bin/awk", PATH);
    code_executor_instance *instance =
        make_instance("'image': '" NAME "', 'languages': {'awk': {'commands': [['awk', '-f', "
                      "'{file}']]}}");
    code_executor_result *result = run(instance, "awk", "BEGIN { print 6 * 7 }");
    assert_string_equal(result->output, "42\n");
    docker->result_free(result);
    result = run(instance, "sh", "echo runs");
    assert_int_equal(result->exit_code, 127);
    assert_non_null(strstr(result->output, "sh"));
    docker->result_free(result);
    docker->destroy(instance);
    expect_refused(", 'init_command': 'true'", CODE_EXECUTOR_UNAVAILABLE,
                   WORDS("init_command needs sh"));
}

static void image_without_any_file_starts(void **state)
{
    (void)state;
    image_make(NAME, "true", "");
    code_executor_instance *instance = make_instance("'image': '" NAME "', 'profile': 'strict'");
    start(instance);
    code_executor_result *result = run(instance, "sh", "echo runs");
    assert_int_equal(result->exit_code, 127);
    docker->result_free(result);
    docker->destroy(instance);
}

static void folders_that_an_image_has_at_our_places_are_covered(void **state)
{
    (void)state;
    image_make(NAME,
               BUSYBOX "mkdir workspace .code_executor && echo theirs > workspace/file && "
                       "cp bin/busybox .code_executor/runner",
               PATH);
    expect_prints("", "cat /workspace/file 2> /dev/null || echo hidden; cat /proc/1/comm",
                  "hidden\nrunner\n");
}

/* ---- for other machines ------------------------------------------------------------------------ */

/* busybox, with the mark of another machine in its head (e_machine). */
#ifdef __aarch64__
#define OURS  "arm64"
#define OTHER "amd64"
#define MARK  "\\076"
#else
#define OURS  "amd64"
#define OTHER "arm64"
#define MARK  "\\267"
#endif
#define FOREIGN                                                                                    \
    BUSYBOX "printf '" MARK "' | dd of=bin/busybox bs=1 seek=18 conv=notrunc 2> /dev/null"

static void image_for_another_machine_is_told_apart(void **state)
{
    (void)state;
    image_make_foreign(NAME, FOREIGN, OTHER);
    expect_refused("", CODE_EXECUTOR_UNSUPPORTED,
                   WORDS(NAME, "linux/" OTHER, "linux/" OURS, "binfmt"));
    expect_refused(", 'platform': 'linux/" OTHER "'", CODE_EXECUTOR_UNSUPPORTED,
                   WORDS("linux/" OTHER, "linux/" OURS));
}

/* As with an emulator: what counts is whether its programs run. */
static void image_for_another_machine_that_runs_is_used(void **state)
{
    (void)state;
    image_make_foreign(NAME, BUSYBOX, OTHER);
    expect_prints("", "echo runs", "runs\n");
    expect_prints(", 'platform': 'linux/" OTHER "'", "echo runs", "runs\n");
}

static void platform_that_the_engine_does_not_have_is_pulled(void **state)
{
    (void)state;
    if (engine->is_podman) /* which uses the image that is there */
        skip();
    image_make(NAME, BUSYBOX, PATH);
    expect_refused(", 'platform': 'linux/" OTHER "', 'pull': 'never'", CODE_EXECUTOR_UNSUPPORTED,
                   WORDS(NAME, "linux/" OTHER, OURS));
    image_remove(NAME);
    image_make("localhost:1/kind:1", BUSYBOX, PATH);
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    code_executor_instance *instance =
        make_instance("'image': 'localhost:1/kind:1', 'platform': 'linux/" OTHER "'");
    assert_int_equal(docker->start(instance, &error), CODE_EXECUTOR_UNAVAILABLE);
    if (!strstr(error.message, "cannot pull the image") || !strstr(error.message, OURS))
        fail_msg("%s", error.message);
    docker->destroy(instance);
    image_remove("localhost:1/kind:1");
}

static void platform_that_is_none_is_refused(void **state)
{
    (void)state;
    if (engine->is_podman) /* which uses the image that is there */
        skip();
    image_make(NAME, BUSYBOX, PATH);
    expect_refused(", 'platform': 'no such platform', 'pull': 'never'", CODE_EXECUTOR_INVALID,
                   WORDS("platform"));
}

/* ---- engines on other machines ----------------------------------------------------------------- */

/* The plugin as it is installed in another folder, where SCRIPT arranges its runners; the folder is the
 * current one there. */
static void install_elsewhere(const char *script, const code_executor_v1 **elsewhere)
{
    Dl_info here;
    char command[2048], path[300];
    static int number;
    assert_true(dladdr((const void *)docker, &here) != 0);
    snprintf(command, sizeof command,
             "set -e; mkdir %s/plugin%d; cd %s/plugin%d; cp '%s' docker.so; "
             "cp \"$(dirname '%s')/runner\" runner; %s",
             workspace, number, workspace, number, here.dli_fname, here.dli_fname, script);
    assert_int_equal(system(command), 0); /* NOLINT: a script of the test */
    snprintf(path, sizeof path, "%s/plugin%d/docker.so", workspace, number++);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    code_executor_entry_v1 entry;
    *(void **)&entry = dlsym(library, CODE_EXECUTOR_ENTRY_SYMBOL);
    *elsewhere = entry();
}

#define BREAK_RUNNER "printf '" MARK "' | dd of=runner bs=1 seek=18 conv=notrunc 2> /dev/null"
#define SAY(architecture)                                                                          \
    "HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n{\"Arch\":\"" architecture "\"}"

/* The engine says that its machine is another; the runner for that is one that works here. */
static void engine_on_another_machine_gets_the_runner_for_that(void **state)
{
    (void)state;
    const code_executor_v1 *ours = docker;
    struct relay relay = relay_start(
        (struct relay_options){.tcp = true, .answer_for = "/version", .answer = SAY(OTHER)});
    install_elsewhere("cp runner runner-" OTHER "; " BREAK_RUNNER, &docker);
    code_executor_instance *instance = make_instance("'docker_host': '%s'", relay.address);
    expect_output(instance, "cat /proc/1/comm", "runner\n");
    docker->destroy(instance);
    docker = ours;
    relay_kill(&relay);
}

static void engine_on_another_machine_for_which_there_is_no_runner_is_refused(void **state)
{
    (void)state;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    struct relay relay = relay_start(
        (struct relay_options){.tcp = true, .answer_for = "/version", .answer = SAY(OTHER)});
    code_executor_instance *instance = make_instance("'docker_host': '%s'", relay.address);
    assert_int_equal(docker->start(instance, &error), CODE_EXECUTOR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "/runner-" OTHER));
    assert_non_null(strstr(error.message, "made for " OURS));
    docker->destroy(instance);
    relay_kill(&relay);
}

/* What an engine tells becomes a part of a path. */
static void engine_cannot_choose_a_file_elsewhere(void **state)
{
    (void)state;
    struct relay relay = relay_start(
        (struct relay_options){.tcp = true, .answer_for = "/version", .answer = SAY("/../x")});
    code_executor_instance *instance = make_instance("'docker_host': '%s'", relay.address);
    expect_output(instance, "cat /proc/1/comm", "runner\n");
    docker->destroy(instance);
    relay_kill(&relay);
}

static void runner_for_another_machine_is_told(void **state)
{
    (void)state;
    const code_executor_v1 *ours = docker;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    install_elsewhere(BREAK_RUNNER, &docker);
    code_executor_instance *instance = make_instance("%s", "");
    assert_int_not_equal(docker->start(instance, &error), CODE_EXECUTOR_OK);
    if (!strstr(error.message, "exec format error") || !strstr(error.message, "runner"))
        fail_msg("%s", error.message);
    docker->destroy(instance);
    docker = ours;
}

#define TEST(name) cmocka_unit_test_teardown(name, remove_it)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(settings_of_an_image_do_not_get_in_the_way),
        TEST(anonymous_volumes_of_an_image_go_with_the_container),
        TEST(user_that_the_image_only_names_is_explained),
        TEST(image_without_python_runs_shells),
        TEST(image_without_a_shell_runs_what_it_has),
        TEST(image_without_any_file_starts),
        TEST(folders_that_an_image_has_at_our_places_are_covered),
        TEST(image_for_another_machine_is_told_apart),
        TEST(image_for_another_machine_that_runs_is_used),
        TEST(platform_that_the_engine_does_not_have_is_pulled),
        TEST(platform_that_is_none_is_refused),
        TEST(engine_on_another_machine_gets_the_runner_for_that),
        TEST(engine_on_another_machine_for_which_there_is_no_runner_is_refused),
        TEST(engine_cannot_choose_a_file_elsewhere),
        TEST(runner_for_another_machine_is_told),
    };
    if (access("/bin/busybox", X_OK) != 0)
        return docker_test_skip("there is no static busybox (busybox-static)");
    return docker_test_main("docker_kinds", tests, sizeof tests / sizeof tests[0]);
}
