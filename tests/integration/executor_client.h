/* SPDX-License-Identifier: Apache-2.0 */
/*
 * executor_client.h: a host for tests, as small as one can be: loads a plugin with dlopen and calls its
 * table. Tests that use it run on any executor, which their command line names:
 *
 *     TEST PLUGIN [CONFIGURATION]      PLUGIN: a name, or a path to a file
 *
 * Every program works in a fresh folder of its own, which is the workspace of executors whose work_dir
 * is "."; one that another starts, in the folder that is in its environment.
 */
#ifndef CODE_EXECUTOR_TESTS_EXECUTOR_CLIENT_H
#define CODE_EXECUTOR_TESTS_EXECUTOR_CLIENT_H

#include <code_executor.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#define CLIENT_FOLDER_VARIABLE "CODE_EXECUTOR_TEST_FOLDER"

typedef struct client {
    char plugin[4096];         /* path */
    const char *configuration; /* JSON */
    char folder[64];           /* the current one */
    void *library;
    const code_executor_v1 *table;
} client;

extern client host;

/* Reads the command line, makes and enters the folder, loads the plugin. Exits when that fails; with 77
 * when the executor cannot work here and tests may be skipped. */
void client_begin(int argc, char **argv);
/* Removes the folder. Returns FAILED, for main. */
int client_end(int failed);

void client_load(void);
void client_unload(void);

/* An instance with the command line's configuration; fails the test otherwise. */
code_executor_instance *client_create(void);
code_executor_instance *client_create_for(const code_executor_host *callbacks);

/* Ends the test with the error's message unless STATUS is OK. */
void client_expect_ok(int32_t status, const code_executor_error *error);

/* What an execution came to. */
typedef struct reply {
    int32_t status;
    code_executor_error error;
    code_executor_result *result;
} reply;

/* A request for one block, to be changed before it is executed. */
typedef struct question {
    code_executor_block block;
    const code_executor_block *blocks[1];
    code_executor_request request;
} question;

void question_set(question *asked, const char *language, const char *code);
reply client_execute(code_executor_instance *instance, const code_executor_request *request);
/* One sh block under an id of its own. */
reply client_run(code_executor_instance *instance, const char *script);
void reply_release(reply *released);

/* Runs a script and fails the test unless it ends with 0 and this OUTPUT. */
void client_expect_output(code_executor_instance *instance, const char *script, const char *output);

/* The same on a thread of its own. */
typedef struct background {
    code_executor_instance *instance;
    question asked;
    reply answer;
    pthread_t thread;
} background;

void background_prepare(background *run, code_executor_instance *instance, const char *script);
void background_begin(background *run);
void background_join(background *run);

/* Waits for a condition that takes time, generously; false: it did not come. */
bool eventually(bool (*condition)(const void *argument), const void *argument);
bool file_exists(const void *path);
bool process_exists(const void *words); /* one whose command line holds WORDS */
bool no_process_exists(const void *words);

size_t count_descriptors(void);
size_t count_threads(void);

/* A line of /proc/self/status in kB: "VmHWM", "VmRSS". */
size_t memory_kb(const char *key);

/* Whether a sanitizer, or valgrind, makes everything slow and large. */
bool is_instrumented(void);

#endif /* CODE_EXECUTOR_TESTS_EXECUTOR_CLIENT_H */
