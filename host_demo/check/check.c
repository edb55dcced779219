/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.c: `host_demo check NAME|PATH`: every rule tried, a line for each on stdout, or one JSON document.
 */
#include "commands.h"
#include "configuration.h"
#include "terminal.h"
#include "trial.h"
#include <json-c/json.h>
#include <string.h>
#include <unistd.h>

enum { LIMIT_SECONDS = 60, EXIT_DOES_NOT_HOLD = 1 };

struct tally {
    size_t of[VERDICT_NOT_APPLICABLE + 1]; /* by enum verdict */
    json_object *rules;                    /* NULL: they are told in lines */
    bool lost;                             /* stdout takes no more */
    bool no_memory;
};

/* ------------------------------------------------------------------------------------------------
 * Telling
 * --------------------------------------------------------------------------------------------- */

/* Text that a plugin had a say in. */
static bool append_foreign(struct bytes *to, const char *text)
{
    return bytes_append_visible(to, text, strlen(text), false);
}

static bool append_line(struct bytes *text, const struct rule *rule, const struct report *report)
{
    static const struct {
        const char *word;
        enum tone tone;
    } marks[] = {
        [VERDICT_HOLDS] = {"ok", TONE_GREEN},
        [VERDICT_FAILED] = {"FAILED", TONE_RED},
        [VERDICT_NOT_APPLICABLE] = {"/", TONE_DIM},
    };
    enum verdict verdict = (enum verdict)report->verdict;
    bool whole = bytes_format(text, "%s%-6s%s  %s: ", tone_on(STDOUT_FILENO, marks[verdict].tone),
                              marks[verdict].word, tone_off(STDOUT_FILENO), rule->name);
    if (verdict == VERDICT_NOT_APPLICABLE)
        return whole && bytes_append_text(text, "not applicable: ") &&
               append_foreign(text, report->seen) && bytes_append_text(text, "\n");
    whole = whole && bytes_format(text, "%s\n", rule->proves);
    if (verdict == VERDICT_HOLDS)
        return whole;
    return whole && bytes_append_text(text, "        expected: ") &&
           append_foreign(text, report->expected) &&
           bytes_append_text(text, "\n        seen:     ") && append_foreign(text, report->seen) &&
           bytes_append_text(text, "\n");
}

static void tell_line(struct tally *tally, const struct rule *rule, const struct report *report)
{
    CLEANUP(bytes_free) struct bytes text = {0};
    if (terminal_is_quiet() && report->verdict != VERDICT_FAILED)
        return;
    tally->no_memory = !append_line(&text, rule, report) || tally->no_memory;
    tally->lost = !terminal_write_plain(STDOUT_FILENO, bytes_text(&text), text.length);
}

static json_object *text_or_null(const char *text)
{
    CLEANUP(bytes_free) struct bytes visible = {0};
    if (*text == '\0' || !append_foreign(&visible, text))
        return NULL;
    return json_object_new_string(visible.data);
}

static bool add_member(json_object *object, const char *key, json_object *value)
{
    return json_object_object_add(object, key, value) == 0;
}

static void add_rule(struct tally *tally, const struct rule *rule, const struct report *report)
{
    static const char *const words[] = {
        [VERDICT_HOLDS] = "holds",
        [VERDICT_FAILED] = "failed",
        [VERDICT_NOT_APPLICABLE] = "not_applicable",
    };
    bool failed = report->verdict == VERDICT_FAILED;
    json_object *object = json_object_new_object();
    bool whole = object != NULL && add_member(object, "rule", json_object_new_string(rule->name)) &&
                 add_member(object, "proves", json_object_new_string(rule->proves)) &&
                 add_member(object, "verdict", json_object_new_string(words[report->verdict])) &&
                 add_member(object, "expected", failed ? text_or_null(report->expected) : NULL) &&
                 add_member(object, "seen",
                            report->verdict == VERDICT_HOLDS ? NULL : text_or_null(report->seen)) &&
                 json_object_array_add(tally->rules, object) == 0;
    tally->no_memory = !whole || tally->no_memory;
}

static bool write_document(const struct tally *tally, const char *name)
{
    CLEANUP(free_json) json_object *document = json_object_new_object();
    CLEANUP(bytes_free) struct bytes text = {0};
    if (document == NULL || !add_member(document, "plugin", json_object_new_string(name)) ||
        !add_member(document, "holds", json_object_new_boolean(tally->of[VERDICT_FAILED] == 0)) ||
        !add_member(document, "rules", json_object_get(tally->rules)))
        return false;
    const char *json = json_object_to_json_string_ext(document, JSON_C_TO_STRING_PRETTY |
                                                                    JSON_C_TO_STRING_NOSLASHESCAPE);
    return json != NULL && bytes_append_json(&text, json) && bytes_append_text(&text, "\n") &&
           terminal_write_plain(STDOUT_FILENO, text.data, text.length);
}

static int finish(const struct tally *tally, const char *name)
{
    size_t failed = tally->of[VERDICT_FAILED];
    if (tally->no_memory) {
        say_problem("No memory.");
        return EXIT_HOST_FAILED;
    }
    if (tally->lost || (tally->rules != NULL && !write_document(tally, name)))
        return terminal_lost_stdout();
    size_t held = tally->of[VERDICT_HOLDS], left = tally->of[VERDICT_NOT_APPLICABLE];
    say_note("%zu %s, %zu %s not, %zu %s not applicable.", held,
             held == 1 ? "rule holds" : "rules hold", failed, failed == 1 ? "does" : "do", left,
             left == 1 ? "is" : "are");
    return failed == 0 ? EXIT_OK : EXIT_DOES_NOT_HOLD;
}

/* ------------------------------------------------------------------------------------------------
 * Trying
 * --------------------------------------------------------------------------------------------- */

/* Whether NAME, LENGTH bytes of it, is in a list that commas separate; NULL has all. */
static bool is_listed(const char *list, const char *name, size_t length)
{
    while (list != NULL && *list != '\0') {
        size_t item = strcspn(list, ",");
        if (item == length && strncmp(list, name, length) == 0)
            return true;
        list += item + (list[item] == ',');
    }
    return list == NULL;
}

static int try_rules(const struct checked *checked, const char *chosen, double limit,
                     struct tally *tally)
{
    for (size_t i = 0; i < rule_count && !tally->lost; i++) {
        if (!is_listed(chosen, rules[i].name, strlen(rules[i].name)))
            continue;
        code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
        struct report report = {0};
        if (trial_run(&rules[i], checked, limit, &report, &error) != CODE_EXECUTOR_OK) {
            say_problem("%s", error.message);
            return EXIT_HOST_FAILED;
        }
        if (report.status == CODE_EXECUTOR_NOT_FOUND) {
            say_problem("%s", report.seen);
            return EXIT_HOST_FAILED;
        }
        tally->of[report.verdict]++;
        if (tally->rules != NULL)
            add_rule(tally, &rules[i], &report);
        else
            tell_line(tally, &rules[i], &report);
        if (report.status != CODE_EXECUTOR_OK)
            break; /* what does not load can be asked nothing */
    }
    return finish(tally, checked->name);
}

static bool is_rule(const char *name)
{
    enum { NAMES_MAX = 128 };
    const char *names[NAMES_MAX];
    size_t count = rule_count < NAMES_MAX ? rule_count : NAMES_MAX;
    for (size_t i = 0; i < count; i++) {
        names[i] = rules[i].name;
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    const char *near = nearest_word(name, names, count);
    if (near != NULL)
        say_problem("There is no rule `%s`. Did you mean `%s`?", name, near);
    else
        say_problem("There is no rule `%s`; without --rules all are tried and named.", name);
    return false;
}

static bool are_rules(const char *list)
{
    bool fine = true;
    for (const char *at = list; fine && at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        CLEANUP(free_text) char *name = strndup(at, strcspn(at, ","));
        fine = name != NULL && is_rule(name);
    }
    return fine;
}

int check_command(const struct options *options)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    CLEANUP(bytes_free) struct bytes config = {0};
    CLEANUP(bytes_free) struct bytes probes = {0};
    struct checked checked = {.name = options->argument};
    if (!are_rules(options->rules))
        return EXIT_USAGE;
    if (configuration_read(options->config, &config, &error) != CODE_EXECUTOR_OK ||
        configuration_read(options->probes, &probes, &error) != CODE_EXECUTOR_OK ||
        (options->probes != NULL &&
         probes_read(bytes_text(&probes), &checked.probes, &error) != CODE_EXECUTOR_OK)) {
        say_problem("%s", error.message);
        return EXIT_HOST_FAILED;
    }
    checked.config = bytes_text(&config);
    struct tally tally = {.rules = options->json ? json_object_new_array() : NULL};
    double limit = options->timeout == 0 ? LIMIT_SECONDS : options->timeout;
    int status = options->json && tally.rules == NULL
                     ? EXIT_HOST_FAILED
                     : try_rules(&checked, options->rules, limit, &tally);
    json_object_put(tally.rules);
    return status;
}
