/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rule.h: host_demo check: does an executor keep the rules of code_executor.h?
 *
 *     check.c ──▶ rules.c, the table: a name, what it proves, a function
 *        │            words.c configuration.c life.c blocks.c requests.c together.c manners.c: the functions
 *        ▼
 *     trial.c: a rule in a child process of its own ──▶ subject.c: the plugin, loaded there
 *        │                                              execution.c: an execute, and all that came of it
 *        ▼                                              probes.c: the code that is run
 *     a line, or an element of the JSON document
 *
 * Invariants. The plugin is never loaded in host_demo itself, nor in the child of another rule: one that
 * crashes, hangs or spoils its process spoils one answer. A rule asks what the header promises, of any
 * executor, and knows no executor by name. Code that a plugin cannot be given, because nobody knows any
 * in its languages, makes a rule not applicable, never a failure.
 */
#ifndef HOST_DEMO_CHECK_RULE_H
#define HOST_DEMO_CHECK_RULE_H

#include "probes.h"
#include "text.h"
#include <code_executor_host.h>

enum verdict { VERDICT_NONE, VERDICT_HOLDS, VERDICT_FAILED, VERDICT_NOT_APPLICABLE };

/* What a child tells, in memory that both see, so that it is there even when the child crashed. */
struct report {
    int32_t verdict; /* enum verdict; NONE: it was not finished */
    int32_t status;  /* of the load, enum code_executor_status */
    char step[64];   /* the call that was begun last */
    char expected[512];
    char seen[1536]; /* instead of it; or why the rule is not applicable */
};

/* What to check, as it was asked for. */
struct checked {
    const char *name;   /* or path */
    const char *config; /* JSON, or "" */
    struct probes probes;
};

/* The plugin in the child that runs a rule. */
struct subject {
    const struct checked *checked;
    struct report *report;
    const char *folder; /* a temporary one, of this rule alone */
    int words;          /* the file that stdout and stderr go to */
    code_executor_plugin *plugin;
    const code_executor_v1 *table;
    struct bytes config; /* with a workspace */
    struct probes probes;
};

struct rule {
    const char *name;
    const char *proves;
    void (*run)(struct subject *subject); /* returns when the rule holds */
};

extern const struct rule rules[];
extern const size_t rule_count;

/* Says what should happen next; one of the three below ends a rule that does not hold, or cannot be
 * asked, in this child. */
void expect(struct subject *subject, const char *format, ...) __attribute__((format(printf, 2, 3)));
__attribute__((noreturn, format(printf, 2, 3))) void saw(struct subject *subject,
                                                         const char *format, ...);
__attribute__((noreturn)) void saw_status(struct subject *subject, int32_t status,
                                          const code_executor_error *error);
__attribute__((noreturn, format(printf, 2, 3))) void not_applicable(struct subject *subject,
                                                                    const char *format, ...);

/* Notes which call is about to be made. */
void step(struct subject *subject, const char *call);

/* ---- rules, by what they are about -------------------------------------------------------------- */

/* words.c: what the table says of itself */
void rule_loads(struct subject *subject);
void rule_table_is_whole(struct subject *subject);
void rule_words_are_set(struct subject *subject);
void rule_entry_is_constant(struct subject *subject);
void rule_schema_is_one(struct subject *subject);
void rule_schema_explains(struct subject *subject);
void rule_unknown_extension(struct subject *subject);
void rule_languages(struct subject *subject);
void rule_leftovers(struct subject *subject);

/* configuration.c */
void rule_defaults_pass(struct subject *subject);
void rule_no_configuration(struct subject *subject);
void rule_refuses_what_is_no_object(struct subject *subject);
void rule_refuses_unknown_keys(struct subject *subject);
void rule_refuses_wrong_types(struct subject *subject);
void rule_host_is_copied(struct subject *subject);
void rule_newer_host(struct subject *subject);
void rule_create_touches_nothing(struct subject *subject);
void rule_error_is_kept_within(struct subject *subject);
void rule_success_clears_error(struct subject *subject);
void rule_error_may_be_null(struct subject *subject);

/* life.c */
void rule_null_is_freed(struct subject *subject);
void rule_describe(struct subject *subject);
void rule_start_twice(struct subject *subject);
void rule_stop_twice(struct subject *subject);
void rule_start_again(struct subject *subject);
void rule_restart(struct subject *subject);
void rule_destroy_implies_stop(struct subject *subject);
void rule_two_instances(struct subject *subject);
void rule_cancel_of_nothing(struct subject *subject);

/* requests.c */
void rule_no_blocks(struct subject *subject);
void rule_id_zero(struct subject *subject);
void rule_short_timeout(struct subject *subject);
void rule_newer_request(struct subject *subject);
void rule_unknown_language(struct subject *subject);
void rule_saved_language(struct subject *subject);

/* blocks.c */
void rule_execute_starts(struct subject *subject);
void rule_stdout(struct subject *subject);
void rule_stderr(struct subject *subject);
void rule_exit_code(struct subject *subject);
void rule_several_blocks(struct subject *subject);
void rule_stops_at_failure(struct subject *subject);
void rule_bytes(struct subject *subject);
void rule_stdin(struct subject *subject);
void rule_environment(struct subject *subject);
void rule_output_is_bounded(struct subject *subject);
void rule_time_limit(struct subject *subject);
void rule_result_outlives(struct subject *subject);
void rule_begin_cancels(struct subject *subject);
void rule_output_cancels(struct subject *subject);

/* together.c: calls from several threads */
void rule_cancel(struct subject *subject);
void rule_cancel_spares_others(struct subject *subject);
void rule_cancel_all(struct subject *subject);
void rule_overlap(struct subject *subject);
void rule_id_in_flight(struct subject *subject);
void rule_stop_ends_executions(struct subject *subject);
void rule_restart_ends_executions(struct subject *subject);

/* manners.c */
void rule_closes_on_exec(struct subject *subject);
void rule_leaves_nothing(struct subject *subject);
void rule_hides_children(struct subject *subject);
void rule_changes_nothing(struct subject *subject);
void rule_prints_nothing(struct subject *subject);
void rule_forked_host(struct subject *subject);
void rule_unloads(struct subject *subject);

#endif /* HOST_DEMO_CHECK_RULE_H */
