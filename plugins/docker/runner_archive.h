/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runner_archive.h: the runner's file, in the form in which an engine takes files in: a tar archive.
 */
#ifndef CODE_EXECUTOR_DOCKER_RUNNER_ARCHIVE_H
#define CODE_EXECUTOR_DOCKER_RUNNER_ARCHIVE_H

#include "engine.h"

struct runner_archive {
    char *bytes;
    size_t size;
};

/* Reads the runner's file at PATH as it is. NOT_FOUND: it is not there. */
int32_t runner_archive_read(const char *path, struct runner_archive *file,
                            code_executor_error *error);

/* The same as an archive with one file NAME, which belongs to root and which all may execute, and behind it
 * LINK (NULL: none), a hard link to it. */
int32_t runner_archive_make(const char *path, const char *name, const char *link,
                            struct runner_archive *archive, code_executor_error *error);

/* Adds a folder to which every user may write. */
int32_t runner_archive_add_folder(struct runner_archive *archive, const char *name,
                                  code_executor_error *error);

/* Unpacks ARCHIVE into FOLDER of a container. ANSWER is overwritten: its status says whether it was. */
int32_t runner_archive_put(const struct runner_archive *archive, struct engine *engine,
                           const char *container, const char *folder, struct answer *answer,
                           code_executor_error *error);

void runner_archive_clear(struct runner_archive *archive);

#define CLEANUP_ARCHIVE __attribute__((cleanup(runner_archive_clear)))

#endif /* CODE_EXECUTOR_DOCKER_RUNNER_ARCHIVE_H */
