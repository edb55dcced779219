/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox_diagnosis.c: what is said where bubblewrap fails names what is in the way, by a system that is made up
 * of files in a folder, and by words that bubblewrap really says.
 */
#include "diagnosis.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define NO_NAMESPACE                                                                               \
    "bwrap: No permissions to create new namespace, likely because the kernel does not allow "     \
    "non-privileged user namespaces."
#define TOO_MANY                                                                                   \
    "bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces "      \
    "exceeded (ENOSPC)"
#define NO_MAP      "bwrap: setting up uid map: Permission denied"
#define NO_LOOPBACK "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted"
#define NO_SLAVE    "bwrap: Failed to make / slave: Permission denied"

static char root[64];

static const char *const folders[] = {"proc",          "proc/self",       "proc/sys",
                                      "proc/sys/user", "proc/sys/kernel", "run"};

static int set_up(void **state)
{
    (void)state;
    strcpy(root, "/tmp/sandbox_diagnosis-XXXXXX");
    if (!mkdtemp(root))
        return -1;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", root, folders[i]);
        if (mkdir(path, 0755) != 0)
            return -1;
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", root);
    return system(command);
}

static void put(const char *file, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", root, file);
    FILE *stream = fopen(path, "we");
    assert_non_null(stream);
    fputs(text, stream);
    assert_int_equal(fclose(stream), 0);
}

/* What is said after WORDS; it must begin with them. */
static const char *say(const char *words, int32_t status)
{
    static code_executor_error error;
    error = (code_executor_error)CODE_EXECUTOR_ERROR_INIT;
    assert_int_equal(diagnose_failure(root, words, &error), status);
    assert_int_equal(error.status, status);
    static const char opening[] = "cannot start the sandbox: ";
    assert_memory_equal(error.message, opening, sizeof opening - 1);
    assert_memory_equal(error.message + sizeof opening - 1, words, strlen(words));
    return error.message;
}

static void expect(const char *words, int32_t status, const char *said)
{
    const char *message = say(words, status);
    if (!strstr(message, said))
        fail_msg("no \"%s\" in: %s", said, message);
}

static void expect_not(const char *words, int32_t status, const char *said)
{
    const char *message = say(words, status);
    if (strstr(message, said))
        fail_msg("\"%s\" in: %s", said, message);
}

/* ------------------------------------------------------------------------------------------------
 * Switches
 * --------------------------------------------------------------------------------------------- */

static void debians_switch_is_named(void **state)
{
    (void)state;
    put("proc/sys/kernel/unprivileged_userns_clone", "0\n");
    expect(NO_NAMESPACE, CODE_EXECUTOR_DENIED, "kernel.unprivileged_userns_clone = 0");
    expect(NO_NAMESPACE, CODE_EXECUTOR_DENIED, "sysctl -w kernel.unprivileged_userns_clone=1");
    put("proc/sys/kernel/unprivileged_userns_clone", "1\n");
    expect_not(NO_NAMESPACE, CODE_EXECUTOR_DENIED, "unprivileged_userns_clone =");
}

static void a_switch_that_spares_root_is_not_blamed_by_root(void **state)
{
    (void)state;
    put("proc/sys/kernel/unprivileged_userns_clone", "0\n");
    put("proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");
    put("proc/self/status", "CapEff:\t000001ffffffffff\nSeccomp:\t2\n");
    expect_not(NO_NAMESPACE, CODE_EXECUTOR_DENIED, "sysctl kernel.");
    expect(NO_NAMESPACE, CODE_EXECUTOR_DENIED, "seccomp profile");
    put("proc/self/status", "CapEff:\t00000000a80425fb\nSeccomp:\t2\n"); /* as in a container */
    expect(NO_NAMESPACE, CODE_EXECUTOR_DENIED, "sysctl kernel.unprivileged_userns_clone");
}

static void a_limit_of_namespaces_is_named(void **state)
{
    static const char *const names[] = {"user", "mnt", "pid", "net"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char file[64];
        char said[64];
        snprintf(file, sizeof file, "proc/sys/user/max_%s_namespaces", names[i]);
        snprintf(said, sizeof said, "user.max_%s_namespaces = 0", names[i]);
        put(file, "0\n");
        expect(TOO_MANY, CODE_EXECUTOR_DENIED, said);
        put(file, "15000\n");
        expect_not(TOO_MANY, CODE_EXECUTOR_DENIED, said);
    }
}

static void apparmor_is_named_whatever_it_refused(void **state)
{
    static const char *const words[] = {NO_MAP, NO_LOOPBACK, NO_SLAVE,
                                        "bwrap: Can't open /proc/1/ns: Permission denied"};
    (void)state;
    put("proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        expect(words[i], CODE_EXECUTOR_DENIED, "kernel.apparmor_restrict_unprivileged_userns = 1");
        expect(words[i], CODE_EXECUTOR_DENIED, "bwrap-userns-restrict");
        expect(words[i], CODE_EXECUTOR_DENIED,
               "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0");
    }
}

static void where_no_switch_is_off_a_profile_is_suspected(void **state)
{
    (void)state;
    put("proc/self/status", "CapEff:\t0000000000000000\nSeccomp:\t0\n");
    expect(NO_MAP, CODE_EXECUTOR_DENIED, "security profile (AppArmor, SELinux)");
    expect_not("bwrap: Can't read /x: Permission denied", CODE_EXECUTOR_DENIED, "AppArmor");
}

/* ------------------------------------------------------------------------------------------------
 * Containers
 * --------------------------------------------------------------------------------------------- */

static void a_seccomp_filter_is_suspected_where_there_is_one(void **state)
{
    (void)state;
    put("proc/self/status", "Name:\tx\nCapEff:\t0000000000000000\nSeccomp:\t2\n");
    expect(NO_NAMESPACE, CODE_EXECUTOR_DENIED, "--security-opt seccomp=unconfined");
    expect("bwrap: Failed to mount tmpfs: Operation not permitted", CODE_EXECUTOR_DENIED,
           "--security-opt seccomp=unconfined");
}

static void a_covered_proc_is_explained(void **state)
{
    static const char words[] = "bwrap: Can't mount proc on /newroot/proc: Operation not permitted";
    (void)state;
    expect(words, CODE_EXECUTOR_DENIED, "systempaths=unconfined");
    expect_not(words, CODE_EXECUTOR_DENIED, "this container");
    put("run/.containerenv", "");
    expect(words, CODE_EXECUTOR_DENIED, "this container covers parts of it");
}

/* ------------------------------------------------------------------------------------------------
 * bubblewrap itself
 * --------------------------------------------------------------------------------------------- */

static void an_old_bubblewrap_is_told(void **state)
{
    (void)state;
    expect("bwrap: Unknown option --size", CODE_EXECUTOR_UNSUPPORTED, "0.7 or later");
}

static void a_set_user_id_bubblewrap_is_told(void **state)
{
    (void)state;
    expect("bwrap: The --size option is not permitted in setuid mode", CODE_EXECUTOR_UNSUPPORTED,
           "chmod u-s");
}

static void capabilities_without_root_are_told(void **state)
{
    (void)state;
    expect("bwrap: Unexpected capabilities but not setuid, old file caps config?",
           CODE_EXECUTOR_DENIED, "ambient");
}

static void a_bind_that_fails_leads_to_the_configuration(void **state)
{
    (void)state;
    expect("bwrap: Can't find source path /x: No such file or directory", CODE_EXECUTOR_INVALID,
           "bind_ro and bind_rw");
}

static void silence_is_told(void **state)
{
    (void)state;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    assert_int_equal(diagnose_failure(root, "", &error), CODE_EXECUTOR_UNAVAILABLE);
    assert_string_equal(error.message, "cannot start the sandbox: bubblewrap ended without a word");
}

#define FIXTURE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FIXTURE(debians_switch_is_named),
        FIXTURE(a_switch_that_spares_root_is_not_blamed_by_root),
        FIXTURE(a_limit_of_namespaces_is_named),
        FIXTURE(apparmor_is_named_whatever_it_refused),
        FIXTURE(where_no_switch_is_off_a_profile_is_suspected),
        FIXTURE(a_seccomp_filter_is_suspected_where_there_is_one),
        FIXTURE(a_covered_proc_is_explained),
        FIXTURE(an_old_bubblewrap_is_told),
        FIXTURE(a_set_user_id_bubblewrap_is_told),
        FIXTURE(capabilities_without_root_are_told),
        FIXTURE(a_bind_that_fails_leads_to_the_configuration),
        FIXTURE(silence_is_told),
    };
    return cmocka_run_group_tests_name("sandbox_diagnosis", tests, NULL, NULL);
}
