/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folders.h: which folders a workspace had, and where, when it was last collected.
 *
 * A folder that was moved brings files that are older than the last collect; once something in it was changed as
 * well, its times are those of one that has only been changed. So each collect tells of all folders, by a
 * digest of the path and by their numbers, and is given that of the one before. The host keeps it and
 * looks at nothing in it.
 */
#ifndef CODE_EXECUTOR_RUNNER_FOLDERS_H
#define CODE_EXECUTOR_RUNNER_FOLDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* Reads from FILE what the last collect told. */
void folders_read(int file);

/* Notes that the folder of STATUS is at PATH now. Whether the same one was there before. */
bool folders_meet(const char *path, size_t length, const struct stat *status);

/* What those that were met come to, for the next collect; valid until another is met. */
const void *folders_told(size_t *size);

#endif /* CODE_EXECUTOR_RUNNER_FOLDERS_H */
