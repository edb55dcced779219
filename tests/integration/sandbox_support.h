/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox_support.h: what the tests of the sandbox share: a sandbox, and code run in it.
 *
 * The plugin is loaded as a host does it, from CODE_EXECUTOR_SANDBOX or the build's folder. Whatever fails
 * outside of what a test asserts fails the test.
 */
#ifndef CODE_EXECUTOR_TESTS_SANDBOX_SUPPORT_H
#define CODE_EXECUTOR_TESTS_SANDBOX_SUPPORT_H

#include <code_executor.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * To be called first in main: loads the plugin and starts a sandbox once. Where that does not work, says
 * why and leaves the process: 77, a skip, or 1 where CODE_EXECUTOR_REQUIRE_ALL is 1.
 */
void sandbox_require(void);

/* The plugin's functions. */
const code_executor_v1 *sandbox_table(void);

typedef struct box {
    code_executor_instance *instance;
    char *work_dir;      /* of its own, unless the configuration names one */
    char warnings[4096]; /* of its log, each with a newline */
} box;

/* A sandbox with the members of a JSON object, such as "\"network\": \"host\"", or "". Not started. */
box *box_new(const char *configuration);
void box_free(box *self);

/* What came out of one block; lives until the box's next run or its end. */
typedef struct outcome {
    int32_t status; /* of execute */
    int32_t outcome;
    int32_t exit_code;
    char *output;
    char message[2048]; /* where status is not OK */
} outcome;

const outcome *box_run(box *self, const char *language, const char *code);

/* Runs a shell script that must end with exit code 0; its output without the last newline. */
const char *box_shell(box *self, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Puts the attack program into the workspace, and lets it make the attempt that ARGUMENTS say; the answer.
 * See attack/attack.h. */
const char *box_attack(box *self, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The description, or one member of it by a path such as "limits.pids.by"; free(). */
char *box_describe(box *self, const char *path);

/* Whether a process on this machine has WORD among its arguments; waits SECONDS for that to be PRESENT or
 * not. */
bool process_becomes(const char *word, bool present, int seconds);

/* A word that nobody else uses. */
const char *unique_word(void);

/* A new folder, removed with all in it by the end of the test program. */
const char *new_folder(void);

/* The text of a file, "" where there is none; free(). */
char *read_text(const char *path);
void write_text(const char *path, const char *text);
char *format_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif /* CODE_EXECUTOR_TESTS_SANDBOX_SUPPORT_H */
