/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demo_process.h: calls the host_demo that was built, as a shell would, and keeps what comes of it.
 *
 * Every call ends: one that takes longer than its deadline is killed, and its status is
 * DEMO_TOO_LATE.
 */
#ifndef DEMO_PROCESS_H
#define DEMO_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { DEMO_TOO_LATE = -1000, DEMO_DEADLINE_SECONDS = 120 };

struct demo_call {
    const char *arguments[16]; /* NULL-terminated, without the program's name */
    const char *input;         /* what stands on stdin; NULL: /dev/null */
    size_t input_length;       /* 0: that of the text */
    const char *output_path;   /* stdout goes to this file instead */
    const char *plugin_path;   /* instead of the folder of the tests' plugins */
    int drop_output_after;     /* closes the reading end of stdout after so many bytes; 0: never */
    int signal_after_output;   /* sent once, as soon as stdout has anything; 0: none */
};

struct demo_result {
    int status; /* exit status; minus the number of the signal that killed it */
    char *output;
    size_t output_length;
    char *words; /* stderr */
    size_t words_length;
    double seconds;
    long peak_kilobytes; /* resident set, of the host itself */
};

void demo_run(const struct demo_call *call, struct demo_result *result);
void demo_result_free(struct demo_result *result);

/* Starts it with three descriptors (-1: closed), for tests that talk to it. Where INPUT is a
 * terminal, it becomes the one that controls it. */
pid_t demo_start(const char *const *arguments, int input, int output, int words);

/* Waits for a process that demo_start (or forkpty) gave; kills it when it is late. */
int demo_wait(pid_t process, double seconds);

/* A folder of the test program's own, removed with all that is in it when the program ends. */
const char *demo_folder(void);

/* Writes a file into it; returns its path, which lives as long as the program. */
const char *demo_file(const char *name, const char *text, size_t length);

/* Whether a process runs whose command line is this, arguments separated by blanks. Waits up to
 * SECONDS for it to go. */
bool demo_process_stays(const char *command_line, double seconds);

double demo_now(void);

#endif /* DEMO_PROCESS_H */
