/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command.h: the command line of bubblewrap, and the files that go with it.
 *
 *     bwrap NAMESPACES MOUNTS -- sandbox_enter LIMITS LANDLOCK SECCOMP -- runner
 *           command.c  mounts.c    enter.c
 *
 * bubblewrap acts on its arguments in their order; what is mounted later lies on top.
 */
#ifndef CODE_EXECUTOR_SANDBOX_COMMAND_H
#define CODE_EXECUTOR_SANDBOX_COMMAND_H

#include "helper_process.h"
#include "options.h"
#include "prerequisites.h"
#include "resource_limits.h"

typedef struct command_line {
    char **words; /* NULL-terminated once built */
    size_t word_count;
    size_t word_room;
    int files[HELPER_PROCESS_FILES_MAX]; /* handed on to bubblewrap; the command's own */
    size_t file_count;
    int errnum; /* the first thing that went wrong, or 0 */
} command_line;

/* What is known only when a sandbox is started. */
typedef struct command_parts {
    const prerequisites *found;
    const char *work_dir;
    const char *runner;
    const enum limit_means *means;
    const cgroup *group;
    int filter;  /* where sandbox_enter reads the seccomp filter from; -1: there is none */
    int ready;   /* where it reports */
    int info[2]; /* where bubblewrap tells the number of the process inside: a pipe, both ends */
} command_parts;

int32_t command_build(const sandbox_options *options, const command_parts *parts,
                      command_line *built, code_executor_error *error);
void command_free(command_line *built);

/* What it and all inside starts with, NULL-terminated; the configuration's env comes with each run. */
extern const char *const command_environment[];

/* For mounts.c. Failures are kept in errnum, and make the later calls do nothing. */
void command_add(command_line *built, const char *word, ...) __attribute__((sentinel));
void command_add_number(command_line *built, const char *word, uint64_t number);
/* A copy of FD; the number that bubblewrap knows it by is added as a word. */
void command_add_descriptor(command_line *built, const char *word, int fd);
/* The file at PATH, opened for reading; the same. */
void command_add_file(command_line *built, const char *word, const char *path);
/* A file in memory that holds BYTES; the same. */
void command_add_bytes(command_line *built, const char *word, const void *bytes, size_t length);

/* Adds everything that is seen inside. */
void mounts_add(command_line *built, const sandbox_options *options, const command_parts *parts);

#endif /* CODE_EXECUTOR_SANDBOX_COMMAND_H */
