/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runner_forge.c: code beside the runner, of the same user and be that root, can neither write frames of
 * its own nor look into the runner and the supervisors.
 *
 * Each attack (runner_attacker.c) is first shown to come through where the runner was told to keep
 * CAP_SYS_PTRACE, so that it is known to be one.
 */
#include "runner_client.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char *const victims[] = {"runner", "supervisor"};

static client_exit attack(client *runner, const char *name, const char *victim)
{
    const char *const arguments[] = {ATTACKER, name, victim, NULL};
    const char *const *const candidates[] = {arguments, NULL};
    return client_run(runner, &(client_command){.candidates = candidates});
}

static void assert_turned_down(const char *name)
{
    client runner = client_start(NULL);
    for (size_t i = 0; i < 2; i++) {
        client_exit result = attack(&runner, name, victims[i]);
        if (result.how != EXIT_EXITED || result.exit_code != 1)
            print_error("%s on the %s: %u, %u\n", name, victims[i], result.how, result.exit_code);
        assert_int_equal(result.how, EXIT_EXITED);
        assert_int_equal(result.exit_code, 1);
        client_exit_free(&result);
    }
    client_end(&runner);
}

static void assert_comes_through_with_the_capability(const char *name)
{
    if (geteuid() != 0)
        return; /* nobody else has the capability to keep */
    client runner = client_start(&(client_options){.flags = HELLO_KEEP_PTRACE});
    for (size_t i = 0; i < 2; i++) {
        client_exit result = attack(&runner, name, victims[i]);
        assert_int_equal(result.exit_code, 0);
        client_exit_free(&result);
    }
    client_end(&runner);
}

#define ATTACK_TEST(function, name)                                                                \
    static void function(void **state)                                                             \
    {                                                                                              \
        (void)state;                                                                               \
        assert_comes_through_with_the_capability(name);                                            \
        assert_turned_down(name);                                                                  \
    }

ATTACK_TEST(descriptors_cannot_be_opened_through_proc, "open-descriptors")
ATTACK_TEST(memory_cannot_be_opened_through_proc, "open-memory")
ATTACK_TEST(ptrace_cannot_attach, "attach")
ATTACK_TEST(ptrace_cannot_seize, "seize")
ATTACK_TEST(descriptors_cannot_be_taken_by_pidfd, "take-descriptor")
ATTACK_TEST(memory_cannot_be_read, "read-memory")

static void a_user_namespace_does_not_help(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    client_exit result = attack(&runner, "from-user-namespace", "runner");
    client_end(&runner);
    if (result.exit_code == 2)
        skip_because("this machine makes no user namespaces");
    assert_int_equal(result.exit_code, 1);
    client_exit_free(&result);
}

static void the_capability_cannot_be_regained(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip_because("only root has the capability, and may drop it");
    assert_turned_down("regain-capability");
}

static void frames_that_a_command_prints_are_plain_output(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    /* An EXIT frame of execution 1: 48 bytes, type 66. */
    client_exit result = client_run_script(
        &runner, "printf '0\\0\\0\\0B\\0\\0\\0\\001\\0\\0\\0'; head -c 48 /dev/zero; "
                 "printf '0\\0\\0\\0B\\0\\0\\0\\001\\0\\0\\0' > /dev/stderr; exit 5");
    assert_int_equal(result.how, EXIT_EXITED);
    assert_int_equal(result.exit_code, 5);
    assert_int_equal(result.length[1], 60);
    assert_int_equal(result.length[2], 12);
    assert_memory_equal(result.output[1], "0\0\0\0B\0\0\0\1\0\0\0", 12);
    client_exit_free(&result);
    client_end(&runner);
}

static void reading_its_own_output_away_confuses_nobody(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    for (int i = 0; i < 10; i++) {
        client_exit result = client_run_script(
            &runner, "cat < /proc/self/fd/1 > /dev/null & head -c 500000 /dev/zero; echo end >&2");
        assert_int_equal(result.how, EXIT_EXITED);
        assert_string_equal(result.output[2], "end\n");
        assert_true(result.length[1] <= 500000);
        client_exit_free(&result);
    }
    client_reset(&runner);
    client_end(&runner);
}

static void changing_its_own_pipes_confuses_nobody(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    const char *const arguments[] = {"python3", "-c",
                                     "import fcntl, os\n"
                                     "fcntl.fcntl(1, 1031, 4096)\n" /* F_SETPIPE_SZ */
                                     "fcntl.fcntl(2, 1031, 1048576)\n"
                                     "fcntl.fcntl(2, fcntl.F_SETFL, os.O_NONBLOCK)\n"
                                     "n = os.write(2, b'e' * 1000000)\n"
                                     "os.write(1, b'o' * 100000)\n"
                                     "os._exit(n != 1000000)\n",
                                     NULL};
    const char *const *const candidates[] = {arguments, NULL};
    client_exit result = client_run(&runner, &(client_command){.candidates = candidates});
    client_end(&runner);
    if (result.how == EXIT_NOT_STARTED)
        skip_because("there is no python3");
    assert_int_equal(result.exit_code, 0);
    assert_int_equal(result.length[1], 100000);
    assert_int_equal(result.length[2], 1000000);
    client_exit_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUNNER_TEST(descriptors_cannot_be_opened_through_proc),
        RUNNER_TEST(memory_cannot_be_opened_through_proc),
        RUNNER_TEST(ptrace_cannot_attach),
        RUNNER_TEST(ptrace_cannot_seize),
        RUNNER_TEST(descriptors_cannot_be_taken_by_pidfd),
        RUNNER_TEST(memory_cannot_be_read),
        RUNNER_TEST(a_user_namespace_does_not_help),
        RUNNER_TEST(the_capability_cannot_be_regained),
        RUNNER_TEST(frames_that_a_command_prints_are_plain_output),
        RUNNER_TEST(reading_its_own_output_away_confuses_nobody),
        RUNNER_TEST(changing_its_own_pipes_confuses_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
