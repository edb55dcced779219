/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_demo.c: `host_demo check`, on executors that keep the rules and on one that breaks each of them:
 * every fault of plugin_faulty.c is found by the rule that is about it.
 *
 * check_demo EXECUTOR [RULES]: that executor keeps the rules, or these of them. One that is not there (no
 * daemon, say) is skipped.
 */
#include "demo_process.h"
#include <dirent.h>
#include <json-c/json.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { SKIPPED = 77 };

#define FAULTY       TEST_PLUGIN_FOLDER "/faulty.so"
#define PROBES(name) "@" TEST_CASES_FOLDER "/check/" name ".json"

static struct demo_result call(const char *const *arguments)
{
    struct demo_call call = {.input = NULL};
    struct demo_result result;
    for (size_t i = 0; arguments[i] != NULL; i++)
        call.arguments[i] = arguments[i];
    demo_run(&call, &result);
    return result;
}

#define CALL(...) call((const char *const[]){__VA_ARGS__, NULL})

static json_object *member(json_object *object, const char *key)
{
    json_object *found = NULL;
    if (!json_object_object_get_ex(object, key, &found))
        fail_msg("no %s in %s", key, json_object_to_json_string(object));
    return found;
}

static const char *text(json_object *object, const char *key)
{
    return json_object_get_string(member(object, key));
}

static bool has_entries(const char *folder)
{
    size_t count = 0;
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;)
        count += strncmp(entry->d_name, "host_demo-", 10) == 0;
    closedir(entries);
    return count > 0;
}

/* ------------------------------------------------------------------------------------------------
 * Faults
 * --------------------------------------------------------------------------------------------- */

struct fault_case {
    const char *fault;
    const char *rule;
    const char *seen; /* words that must be in what was seen, or NULL */
};

static void expect_found(const struct fault_case *fault, const char *seconds)
{
    setenv("CODE_EXECUTOR_TEST_FAULT", fault->fault, 1);
    struct demo_result result = CALL("check", FAULTY, "--probes", PROBES("faulty"), "--rules",
                                     fault->rule, "--json", "--timeout", seconds);
    unsetenv("CODE_EXECUTOR_TEST_FAULT");
    json_object *document = json_tokener_parse(result.output);
    if (result.status != 1 || document == NULL)
        fail_msg("%s, status %d: %s%s", fault->fault, result.status, result.output, result.words);
    assert_false(json_object_get_boolean(member(document, "holds")));
    json_object *rule = json_object_array_get_idx(member(document, "rules"), 0);
    assert_string_equal(text(rule, "rule"), fault->rule);
    assert_string_equal(text(rule, "verdict"), "failed");
    assert_true(strlen(text(rule, "expected")) > 0);
    const char *seen = text(rule, "seen");
    if (*seen == '\0' || (fault->seen != NULL && strstr(seen, fault->seen) == NULL))
        fail_msg("%s: seen: %s", fault->fault, seen);
    json_object_put(document);
    demo_result_free(&result);
}

static const struct fault_case table_faults[] = {
    {"table_small", "load", "struct_size"},
    {"table_reserved", "table", "1"},
    {"name_upper", "words", "Faulty"},
    {"entry_alternates", "entry", "another"},
    {"schema_nonsense", "schema", NULL},
    {"schema_undescribed", "schema-words", "none"},
    {"extension_for_anyone", "extension", NULL},
    {"language_nameless", "languages", "no name"},
    {"leftover_short", "leftovers", "container"},
};

static const struct fault_case create_faults[] = {
    {"default_refused", "config-defaults", "not this one"},
    {"null_config_refused", "config-none", "invalid"},
    {"text_taken", "config-text", "ok"},
    {"key_taken", "config-key", "ok"},
    {"type_taken", "config-type", "ok"},
    {"host_kept", "host-copy", "crashed"},
    {"newer_host_taken", "host-newer", "ok"},
    {"create_makes_folder", "create", "workspace"},
    {"error_overrun", "error-size", "byte 0"},
    {"success_keeps_error", "error-clear", "message \"x"},
    {"error_needed", "error-null", "crashed (SIGSEGV) in create"},
};

static const struct fault_case life_faults[] = {
    {"null_not_freed", "free-null", "crashed (SIGSEGV) in result_free"},
    {"describe_is_short", "describe", "none"},
    {"start_twice_fails", "start-twice", "it is up"},
    {"stop_twice_fails", "stop-twice", "it is down"},
    {"never_again", "start-again", "it was stopped"},
    {"restart_needs_start", "restart", "it is down"},
    {"instances_shared", "instances", "stopped"},
    {"cancel_unknown_fine", "cancel-nothing", "ok"},
    {"no_demand", "start-on-demand", "it is down"},
};

static const struct fault_case request_faults[] = {
    {"result_not_set", "request-blocks", "as it was before"},
    {"zero_id_fine", "request-id", "ok"},
    {"short_timeout_fine", "request-timeout", "ok"},
    {"newer_request_taken", "request-newer", "ok"},
    {"unknown_is_error", "language-unknown", "unsupported"},
    {"saved_runs", "language-saved", "completed"},
    {"id_reused", "id-in-flight", "ok"},
};

static const struct fault_case block_faults[] = {
    {"stdout_changed", "stdout", "hi"},
    {"text_not_ended", "stdout", "another byte"},
    {"output_not_joined", "stdout", "differs"},
    {"callback_elsewhere", "stdout", "another thread"},
    {"stderr_as_stdout", "stderr", NULL},
    {"exit_code_is_error", "exit-code", "the code failed"},
    {"block_begins_twice", "blocks", "times"},
    {"failure_ignored", "blocks-failure", "3 were begun"},
    {"bytes_as_text", "bytes", "\"a\""},
    {"stdin_ignored", "stdin", "\"\""},
    {"environment_ignored", "environment", "\"\""},
    {"dropped_unsaid", "output-bound", "0"},
    {"result_borrowed", "result", "xxxxxx"},
    {"output_ignored", "output-cancels", "completed"},
    {"cancel_ends_all", "cancel-one", "cancelled"},
    {"crashes", "stdout", "crashed (SIGSEGV) in execute"},
    {"ends_the_process", "stdout", "exit code 3"},
};

static const struct fault_case manner_faults[] = {
    {"descriptor_inherited", "close-on-exec", "/dev/null"},
    {"descriptor_stays", "leaves-nothing", "/dev/null"},
    {"thread_stays", "leaves-nothing", "2"},
    {"child_seen", "children", "a child"},
    {"signal_handled", "manners", "another handler"},
    {"signal_blocked", "manners", "is blocked"},
    {"folder_changed", "manners", "/"},
    {"umask_changed", "manners", "000"},
    {"environment_changed", "manners", "LC_NUMERIC"},
    {"prints", "silence", "to the host"},
    {"fork_unseen", "fork", "ok"},
    {"thread_stays", "unload", "crashed (SIGSEGV) in dlclose"},
};

/* What never returns. */
static const struct fault_case hanging_faults[] = {
    {"destroy_hangs", "destroy", "destroy had not returned after 1 s"},
    {"begin_ignored", "begin-cancels", "execute had not returned"},
    {"timeout_ignored", "timeout", "execute had not returned"},
    {"cancel_ignored", "cancel", "execute had not returned"},
    {"cancel_all_ignored", "cancel-all", "execute had not returned"},
    {"one_at_a_time", "overlap", "execute had not returned"},
    {"stop_spares", "stop-running", "execute had not returned"},
    {"restart_spares", "restart-running", "execute had not returned"},
};

#define FIND(name, faults, seconds)                                                                \
    static void name(void **state)                                                                 \
    {                                                                                              \
        (void)state;                                                                               \
        for (size_t i = 0; i < sizeof(faults) / sizeof *(faults); i++)                             \
            expect_found(&(faults)[i], seconds);                                                   \
    }

FIND(faults_of_the_table_are_found, table_faults, "30")
FIND(faults_of_create_are_found, create_faults, "30")
FIND(faults_of_life_are_found, life_faults, "30")
FIND(faults_of_requests_are_found, request_faults, "30")
FIND(faults_of_blocks_are_found, block_faults, "30")
FIND(faults_of_manners_are_found, manner_faults, "30")
FIND(what_hangs_is_ended_and_told, hanging_faults, "1")

/* ------------------------------------------------------------------------------------------------
 * Executors that keep the rules
 * --------------------------------------------------------------------------------------------- */

static void expect_to_hold(const struct demo_result *result)
{
    if (result->status != 0 || strstr(result->output, "FAILED") != NULL)
        fail_msg("status %d: %s%s", result->status, result->output, result->words);
    assert_non_null(strstr(result->output, ": it can be unloaded"));
    assert_non_null(strstr(result->words, " rules hold, 0 do not, "));
}

static void expect_all_to_hold(const char *name, const char *probes)
{
    struct demo_result result =
        probes == NULL ? CALL("check", name) : CALL("check", name, "--probes", probes);
    expect_to_hold(&result);
    assert_non_null(strstr(result.output, "ok      load: "));
    demo_result_free(&result);
}

static void faulty_without_a_fault_keeps_all_rules(void **state)
{
    (void)state;
    expect_all_to_hold(FAULTY, PROBES("faulty"));
}

static void echo_keeps_all_rules(void **state)
{
    (void)state;
    expect_all_to_hold("echo", PROBES("echo"));
}

static void local_keeps_all_rules(void **state)
{
    (void)state;
    expect_all_to_hold("local", NULL);
}

static const char *executor, *chosen; /* of the command line */

static void executor_keeps_the_rules(void **state)
{
    (void)state;
    struct demo_result result =
        chosen == NULL ? CALL("check", executor) : CALL("check", executor, "--rules", chosen);
    expect_to_hold(&result);
    demo_result_free(&result);
}

static bool executor_works(void)
{
    struct demo_call call = {.arguments = {"run", "-e", executor, "-"},
                             .input = "```sh\necho here\n```\n"};
    struct demo_result result;
    demo_run(&call, &result);
    bool works = result.status == 0;
    if (!works)
        fprintf(stderr, "%s", result.words);
    demo_result_free(&result);
    return works;
}

static int check_executor(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(executor_keeps_the_rules)};
    if (!executor_works())
        return getenv("CODE_EXECUTOR_REQUIRE_ALL") == NULL ? SKIPPED : 1;
    return cmocka_run_group_tests_name("check_demo", tests, NULL, NULL);
}

/* ------------------------------------------------------------------------------------------------
 * The command
 * --------------------------------------------------------------------------------------------- */

static void what_does_not_load_is_told_and_nothing_else_asked(void **state)
{
    (void)state;
    const char *path = demo_file("none.so", "no plugin", 9);
    struct demo_result result = CALL("check", path);
    assert_int_equal(result.status, 1);
    assert_non_null(strstr(result.output, "FAILED  load: "));
    assert_non_null(strstr(result.output, "not a plugin"));
    assert_null(strstr(result.output, "table: "));
    demo_result_free(&result);
    result = CALL("check", "nowhere");
    assert_int_equal(result.status, 125);
    assert_string_equal(result.output, "");
    assert_non_null(strstr(result.words, "There is no plugin \"nowhere\""));
    demo_result_free(&result);
}

static void code_that_nobody_knows_makes_rules_not_applicable(void **state)
{
    (void)state;
    struct demo_result result = CALL("check", FAULTY);
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.output, "/       stdout: not applicable: "));
    assert_non_null(strstr(result.output, "--probes"));
    demo_result_free(&result);
}

static void control_characters_of_a_plugin_are_shown(void **state)
{
    (void)state;
    struct demo_result result = CALL("check", "echo", "--rules", "stdout", "--probes",
                                     "{\"language\": \"echo\", \"print\": {\"code\": \"fail "
                                     "\\u001b[31mred\", \"stdout\": \"x\"}}");
    assert_int_equal(result.status, 1);
    assert_null(strchr(result.output, '\x1b'));
    assert_non_null(strstr(result.output, "^[[31mred"));
    demo_result_free(&result);
}

static void quiet_names_failures_alone(void **state)
{
    (void)state;
    setenv("CODE_EXECUTOR_TEST_FAULT", "name_upper", 1);
    struct demo_result result = CALL("check", FAULTY, "-q");
    unsetenv("CODE_EXECUTOR_TEST_FAULT");
    assert_int_equal(result.status, 1);
    assert_int_equal(strncmp(result.output, "FAILED  words: ", 15), 0);
    assert_null(strstr(result.output, "ok  "));
    assert_string_equal(result.words, "");
    demo_result_free(&result);
}

static void code_that_only_prints_is_run_by_the_rules_of_manners(void **state)
{
    (void)state;
    setenv("CODE_EXECUTOR_TEST_FAULT", "prints", 1);
    struct demo_result result = CALL(
        "check", FAULTY, "--rules", "silence", "--probes",
        "{\"language\": \"order\", \"print\": {\"code\": \"print\", \"stdout\": \"hello\\n\"}}");
    unsetenv("CODE_EXECUTOR_TEST_FAULT");
    assert_int_equal(result.status, 1);
    assert_non_null(strstr(result.output, "to the host"));
    assert_non_null(strstr(result.words, "0 rules hold, 1 does not, 0 are not applicable."));
    demo_result_free(&result);
}

static void wrong_usage_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *arguments[6];
        int status;
        const char *words;
    } calls[] = {
        {{"check"}, 2, "needs to know which"},
        {{"check", "echo", "local"}, 2, "one argument too many"},
        {{"check", "echo", "--rules", "load,sdtout"}, 2, "Did you mean `stdout`?"},
        {{"check", "echo", "--rules", ""}, 2, "There is no rule ``"},
        {{"check", "echo", "--timeout", "0.5"}, 2, "greater than or equal to 1"},
        {{"check", "echo", "-w", "/tmp"}, 2, "not for `check`"},
        {{"run", "--probes", "{}"}, 2, "not for `run`"},
        {{"check", "echo", "--probes", "{}"}, 125, "the key \"language\" is missing"},
        {{"check", "echo", "--probes", "nonsense"}, 125, "not JSON"},
        {{"check", "echo", "--probes", "@/nowhere"}, 125, "Cannot open /nowhere"},
        {{"check", "echo", "--probes", "{\"language\": \"a\", \"pint\": {}}"}, 125, "\"print\"?"},
        {{"check", "echo", "--probes", "{\"language\": \"a\", \"exit\": {\"code\": \"\"}}"},
         125,
         "needs an \"exit_code\""},
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct demo_result result = call(calls[i].arguments);
        if (result.status != calls[i].status || strstr(result.words, calls[i].words) == NULL)
            fail_msg("call %zu: status %d: %s", i, result.status, result.words);
        assert_string_equal(result.output, "");
        demo_result_free(&result);
    }
}

static void a_configuration_that_is_wrong_is_the_plugins_to_tell(void **state)
{
    (void)state;
    struct demo_result result =
        CALL("check", "echo", "-c", "{\"greting\": 1}", "--rules", "describe");
    assert_int_equal(result.status, 1);
    assert_non_null(strstr(result.output, "greeting"));
    demo_result_free(&result);
}

static void an_interrupt_leaves_nothing(void **state)
{
    (void)state;
    setenv("CODE_EXECUTOR_TEST_FAULT", "destroy_hangs", 1);
    struct demo_call call = {.arguments = {"check", FAULTY, "--timeout", "100"},
                             .signal_after_output = SIGINT};
    struct demo_result result;
    demo_run(&call, &result);
    unsetenv("CODE_EXECUTOR_TEST_FAULT");
    assert_int_equal(result.status, 130);
    assert_false(has_entries(demo_folder()));
    demo_result_free(&result);
}

static void nothing_is_left_behind(void **state)
{
    (void)state;
    assert_false(has_entries(demo_folder()));
}

int main(int argument_count, char **arguments)
{
    if (argument_count > 1) {
        executor = arguments[1];
        chosen = argument_count > 2 ? arguments[2] : NULL;
        return check_executor();
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_of_the_table_are_found),
        cmocka_unit_test(faults_of_create_are_found),
        cmocka_unit_test(faults_of_life_are_found),
        cmocka_unit_test(faults_of_requests_are_found),
        cmocka_unit_test(faults_of_blocks_are_found),
        cmocka_unit_test(faults_of_manners_are_found),
        cmocka_unit_test(what_hangs_is_ended_and_told),
        cmocka_unit_test(faulty_without_a_fault_keeps_all_rules),
        cmocka_unit_test(echo_keeps_all_rules),
        cmocka_unit_test(local_keeps_all_rules),
        cmocka_unit_test(what_does_not_load_is_told_and_nothing_else_asked),
        cmocka_unit_test(code_that_nobody_knows_makes_rules_not_applicable),
        cmocka_unit_test(code_that_only_prints_is_run_by_the_rules_of_manners),
        cmocka_unit_test(control_characters_of_a_plugin_are_shown),
        cmocka_unit_test(quiet_names_failures_alone),
        cmocka_unit_test(wrong_usage_is_refused),
        cmocka_unit_test(a_configuration_that_is_wrong_is_the_plugins_to_tell),
        cmocka_unit_test(an_interrupt_leaves_nothing),
        cmocka_unit_test(nothing_is_left_behind),
    };
    return cmocka_run_group_tests_name("check_demo", tests, NULL, NULL);
}
