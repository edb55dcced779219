/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cases.c EXECUTOR [CONFIGURATION [FILE]]: every case of a FILE of tests/cases/execute (cases.json)
 * through `host_demo run --json` on one executor. One test a case, named after it.
 *
 *     blocks ──▶ Markdown, with long enough fences ──▶ host_demo ──▶ JSON ──▶ a check a key
 *
 * What a case may ask for, and how it is checked, is the table at the end. An executor that is not
 * there (no daemon, say) skips all, and says why. A case that needs a program which is not where the
 * executor runs code is skipped too, or fails where nothing may be skipped.
 */
#include "demo_process.h"
#include <json-c/json.h>
#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Time limits of cases hold on an idle machine; what they tell apart differs by more than this. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { PATIENCE = 12 };
#else
enum { PATIENCE = 6 };
#endif
enum { SKIPPED = 77 };

static const char *executor;
static json_object *configuration; /* of the executor, for all cases */
static double start_seconds;       /* how long a run of nothing takes */
static char *programs;             /* those that cases need and that are there, one a line */

struct run {
    json_object *one;
    double slack; /* seconds more than the case gives */
    struct demo_result demo;
    json_object *document;
    char *gone; /* the command line of no_process_left, made unique */
};

/* ------------------------------------------------------------------------------------------------
 * From a case to a message
 * --------------------------------------------------------------------------------------------- */

static size_t longest_run(const char *text, char byte)
{
    size_t longest = 0, run = 0;
    for (; *text != '\0'; text++) {
        run = *text == byte ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest;
}

/* Other tests may run the same command: each program waits for one of its own. */
static char *make_unique(const char *code, const char *command, const char *unique)
{
    size_t size = strlen(code) * 2 + 4096, length = 0;
    char *made = calloc(1, size);
    assert_non_null(made);
    while (*code != '\0') {
        bool here = *command != '\0' && strncmp(code, command, strlen(command)) == 0;
        length += (size_t)snprintf(made + length, size - length, "%.*s", here ? 64 : 1,
                                   here ? unique : code);
        code += here ? strlen(command) : 1;
    }
    return made;
}

static const char *text_of(json_object *object, const char *key)
{
    json_object *member = NULL;
    return json_object_object_get_ex(object, key, &member) ? json_object_get_string(member) : NULL;
}

static void write_block(FILE *message, json_object *block, const char *command, const char *unique)
{
    const char *language = json_object_get_string(json_object_array_get_idx(block, 0));
    char *code =
        make_unique(json_object_get_string(json_object_array_get_idx(block, 1)), command, unique);
    size_t length = longest_run(code, '`') + 1;
    length = length < 3 ? 3 : length;
    char fence[64] = {0};
    memset(fence, '`', length);
    size_t code_length = strlen(code);
    fprintf(message, "Next:\n\n%s%s\n%s%s%s\n\n", fence, language, code,
            code_length > 0 && code[code_length - 1] == '\n' ? "" : "\n", fence);
    free(code);
}

static char *write_message(struct run *run)
{
    char *text = NULL;
    size_t length = 0;
    FILE *message = open_memstream(&text, &length);
    assert_non_null(message);
    const char *command = text_of(run->one, "no_process_left");
    if (command != NULL)
        assert_true(asprintf(&run->gone, "%s.%d", command, (int)getpid()) > 0);
    json_object *blocks = NULL;
    assert_true(json_object_object_get_ex(run->one, "blocks", &blocks));
    for (size_t i = 0; i < json_object_array_length(blocks); i++) {
        write_block(message, json_object_array_get_idx(blocks, i), command == NULL ? "" : command,
                    run->gone == NULL ? "" : run->gone);
    }
    fclose(message);
    return text;
}

/* The executor's configuration with the case's over it, as JSON text; free(). */
static char *write_config(json_object *one)
{
    json_object *merged = json_object_new_object();
    json_object *own = NULL;
    json_object_object_get_ex(one, "config", &own);
    json_object *layers[] = {configuration, own};
    for (size_t i = 0; i < 2; i++) {
        if (layers[i] == NULL)
            continue;
        json_object_object_foreach(layers[i], key, value)
        {
            json_object_object_add(merged, key, json_object_get(value));
        }
    }
    char *text = strdup(json_object_to_json_string(merged));
    json_object_put(merged);
    return text;
}

static void run_case(struct run *run)
{
    char *message = write_message(run);
    char *config = write_config(run->one);
    json_object *given = NULL;
    char timeout[32];
    bool timed = json_object_object_get_ex(run->one, "timeout", &given);
    snprintf(timeout, sizeof timeout, "%g", json_object_get_double(given) + run->slack);
    const struct demo_call call = {
        .arguments = {"run", "--json", "--quiet", "-e", executor, "-c", config, "-",
                      timed ? "--timeout" : NULL, timeout},
        .input = message,
    };
    demo_run(&call, &run->demo);
    run->document = json_tokener_parse(run->demo.output);
    free(message);
    free(config);
}

static void end_case(struct run *run)
{
    json_object_put(run->document);
    demo_result_free(&run->demo);
    free(run->gone);
}

/* ------------------------------------------------------------------------------------------------
 * The checks; each gets what the case says, and returns whether it came out so
 * --------------------------------------------------------------------------------------------- */

static const char *output_of(const struct run *run)
{
    const char *output = text_of(run->document, "output");
    return output == NULL ? "" : output;
}

static bool matches(const char *pattern, const char *text)
{
    regex_t expression;
    if (regcomp(&expression, pattern, REG_EXTENDED | REG_NOSUB) != 0)
        return false;
    bool found = regexec(&expression, text, 0, NULL, 0) == 0;
    regfree(&expression);
    return found;
}

static bool check_exit_code(const struct run *run, json_object *expected)
{
    json_object *got = NULL;
    return json_object_object_get_ex(run->document, "exit_code", &got) &&
           json_object_equal(got, expected) && run->demo.status == json_object_get_int(expected);
}

static bool check_output(const struct run *run, json_object *expected)
{
    return strcmp(output_of(run), json_object_get_string(expected)) == 0;
}

static bool check_output_matches(const struct run *run, json_object *expected)
{
    return matches(json_object_get_string(expected), output_of(run));
}

static bool check_not_in_output(const struct run *run, json_object *expected)
{
    return strstr(output_of(run), json_object_get_string(expected)) == NULL;
}

static bool check_output_at_most(const struct run *run, json_object *expected)
{
    return strlen(output_of(run)) <= (size_t)json_object_get_int64(expected);
}

static bool check_code_file(const struct run *run, json_object *expected)
{
    const char *path = text_of(run->document, "code_file");
    return path != NULL && *path == '/' && matches(json_object_get_string(expected), path);
}

static bool check_seconds(const struct run *run, json_object *expected)
{
    double most = json_object_get_double(expected) * PATIENCE + run->slack;
    return run->demo.seconds - start_seconds <= most;
}

static bool check_no_process_left(const struct run *run, json_object *expected)
{
    (void)expected;
    return !demo_process_stays(run->gone, 5);
}

static bool check_nothing(const struct run *run, json_object *expected)
{
    (void)run;
    (void)expected;
    return true;
}

static const struct {
    const char *key;
    bool (*check)(const struct run *run, json_object *expected);
} checks[] = {
    {"name", check_nothing},
    {"needs", check_nothing},
    {"blocks", check_nothing},
    {"timeout", check_nothing},
    {"config", check_nothing},
    {"exit_code", check_exit_code},
    {"output", check_output},
    {"output_matches", check_output_matches},
    {"not_in_output", check_not_in_output},
    {"output_at_most", check_output_at_most},
    {"code_file_matches", check_code_file},
    {"max_seconds", check_seconds},
    {"no_process_left", check_no_process_left},
};

static bool check_key(const struct run *run, const char *key, json_object *expected)
{
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        if (strcmp(checks[i].key, key) == 0)
            return checks[i].check(run, expected);
    print_error("no check for the key %s\n", key);
    return false;
}

/* Runs a case; says what came out otherwise than it should. */
static bool comes_out(json_object *one, double slack)
{
    struct run run = {.one = one, .slack = slack};
    run_case(&run);
    bool fine = run.document != NULL;
    json_object_object_foreach(one, key, expected)
    {
        if (fine && !check_key(&run, key, expected)) {
            print_error("%s: expected %s\n", key, json_object_to_json_string(expected));
            fine = false;
        }
    }
    if (!fine) {
        print_error("exit status %d after %.2f s\n%.2000s\n%.2000s\n", run.demo.status,
                    run.demo.seconds, run.demo.output, run.demo.words);
    }
    end_case(&run);
    return fine;
}

/* Whether one of the programs that the case needs is there. */
static bool has_needs(json_object *one)
{
    json_object *needs = NULL;
    if (!json_object_object_get_ex(one, "needs", &needs))
        return true;
    for (size_t i = 0; i < json_object_array_length(needs); i++) {
        char line[64];
        snprintf(line, sizeof line, "\n%s\n",
                 json_object_get_string(json_object_array_get_idx(needs, i)));
        if (strstr(programs, line) != NULL)
            return true;
    }
    return false;
}

static void comes_out_as_expected(void **state)
{
    enum { SLACK = 4 };
    json_object *one = *state;
    if (!has_needs(one)) {
        print_message("none of the programs is there: %s\n", text_of(one, "needs"));
        assert_null(getenv("CODE_EXECUTOR_REQUIRE_ALL"));
        skip();
    }
    if (comes_out(one, 0))
        return;
    /* What a case does before its time is up takes longer on a machine that is busy. */
    json_object *timeout = NULL;
    assert_true(json_object_object_get_ex(one, "timeout", &timeout));
    print_message("once more, with more time\n");
    assert_true(comes_out(one, SLACK));
}

/* ------------------------------------------------------------------------------------------------
 * All of them
 * --------------------------------------------------------------------------------------------- */

/* Whether the executor is there at all; says why not. The first run may pull or start something
 * that later ones find, so the second is what is measured. */
static bool executor_works(void)
{
    json_object *nothing = json_tokener_parse("{\"blocks\":[[\"sh\",\":\"]]}");
    bool works = true;
    for (int i = 0; i < 2 && works; i++) {
        struct run run = {.one = nothing};
        run_case(&run);
        json_object *error = NULL;
        const char *status = json_object_object_get_ex(run.document, "error", &error)
                                 ? text_of(error, "status")
                                 : "";
        if (strcmp(status, "unavailable") == 0 || strcmp(status, "denied") == 0) {
            fprintf(stderr, "The executor %s is not there: %s\n", executor,
                    text_of(error, "message"));
            works = false;
        }
        start_seconds = run.demo.seconds;
        end_case(&run);
    }
    json_object_put(nothing);
    return works;
}

/* Asks the executor, which may run code anywhere, for the programs that the cases need. */
static void find_programs(json_object *cases)
{
    char *code = NULL;
    size_t length = 0;
    FILE *script = open_memstream(&code, &length);
    assert_non_null(script);
    fputs("echo\nfor p in", script);
    for (size_t i = 0; i < json_object_array_length(cases); i++) {
        json_object *needs = NULL;
        json_object_object_get_ex(json_object_array_get_idx(cases, i), "needs", &needs);
        for (size_t j = 0; needs != NULL && j < json_object_array_length(needs); j++)
            fprintf(script, " %s", json_object_get_string(json_object_array_get_idx(needs, j)));
    }
    fputs("; do command -v $p > /dev/null && echo $p; done; true", script);
    fclose(script);
    json_object *one = json_object_new_object(), *blocks = json_object_new_array(),
                *block = json_object_new_array();
    json_object_array_add(block, json_object_new_string("sh"));
    json_object_array_add(block, json_object_new_string(code));
    json_object_array_add(blocks, block);
    json_object_object_add(one, "blocks", blocks);
    struct run run = {.one = one};
    run_case(&run);
    programs = strdup(output_of(&run));
    assert_non_null(programs);
    end_case(&run);
    json_object_put(one);
    free(code);
}

static int run_all(json_object *cases)
{
    size_t count = json_object_array_length(cases);
    struct CMUnitTest *tests = calloc(count, sizeof *tests);
    if (tests == NULL)
        return 1;
    for (size_t i = 0; i < count; i++) {
        json_object *one = json_object_array_get_idx(cases, i);
        tests[i] = (struct CMUnitTest){
            .name = text_of(one, "name"), .test_func = comes_out_as_expected, .initial_state = one};
    }
    int failed = _cmocka_run_group_tests("cases", tests, count, NULL, NULL);
    free(tests);
    return failed;
}

int main(int argument_count, char **arguments)
{
    if (argument_count < 2) {
        fprintf(stderr, "usage: %s EXECUTOR [CONFIGURATION [FILE]]\n", arguments[0]);
        return 2;
    }
    executor = arguments[1];
    configuration = argument_count > 2 ? json_tokener_parse(arguments[2]) : NULL;
    char path[4096];
    snprintf(path, sizeof path, "%s/execute/%s", TEST_CASES_FOLDER,
             argument_count > 3 ? arguments[3] : "cases.json");
    json_object *cases = json_object_from_file(path);
    if (cases == NULL) {
        fprintf(stderr, "%s\n", json_util_get_last_err());
        return 1;
    }
    int status = 1;
    if (executor_works()) {
        find_programs(cases);
        status = run_all(cases);
        free(programs);
    } else if (getenv("CODE_EXECUTOR_REQUIRE_ALL") == NULL) {
        status = SKIPPED;
    }
    json_object_put(cases);
    json_object_put(configuration);
    return status;
}
