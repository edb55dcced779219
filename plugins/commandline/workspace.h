/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workspace.h: files in a folder whose contents are hostile.
 *
 * The code that runs in a workspace writes to it, before this process saves the next block there
 * and while it does. What it can plant is listed with the answer to each:
 *
 *     a link, in the place of the file or of a folder above it, that leads out of the workspace
 *         each folder is opened by itself, from the one above, without following links; a link
 *         is refused, wherever it leads. Names have no `..` (file_name.c), so there is no other way
 *         up, however folders are moved meanwhile
 *     a hard link to a file outside; a file that something else has open or mapped
 *         nothing that exists is ever opened: the bytes go to a new file, which then takes its place
 *     a fifo, a device or a socket, where a write blocks or does something
 *         the same; and what stands in the file's place is refused when it is no regular file
 *     a link or a file under the new file's temporary name
 *         that name is random, and O_EXCL takes nothing that is there
 *     a link in the place of the workspace itself, or of a folder above it, where code can write
 *     there (it was given the parent, or runs without isolation)
 *         the path was resolved once, by create, and no link is followed on it since
 *     the folder renamed, deleted, made anew while a file is saved
 *         the workspace is opened by its path for each file; what vanished is made again, a few
 *         times
 *
 * Who reads sees the old file or the whole new one, also when the disk fills up. New files and
 * folders get their mode from the process' umask, as from any program of the user; but see
 * workspace_share.h.
 */
#ifndef CODE_EXECUTOR_WORKSPACE_H
#define CODE_EXECUTOR_WORKSPACE_H

#include "error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WORKSPACE_OBJECTION_SIZE 256

/* PATH is absolute and without links here and below. */

/* Makes PATH's last folder when it is not there. DENIED, NOT_FOUND, IO say why it cannot be had. */
int32_t workspace_make(const char *path, code_executor_error *error);

/*
 * Saves LENGTH bytes as the file NAME (of file_name_read, or without a slash) in the folder PATH,
 * both made as needed. OK with words in OBJECTION where the file cannot have that name and nothing
 * was saved: the block's fault, or that of the code before it. An error where nothing could be
 * saved at all, a full disk for one.
 */
int32_t workspace_save(const char *path, const char *name, const char *bytes, size_t length,
                       char objection[WORKSPACE_OBJECTION_SIZE], code_executor_error *error);

/*
 * The same piece by piece. PATH and NAME must live as long. After a begin that gave OK and no objection
 * comes one of end and abandon. Set KEEPS_SAME and RUNS before the end.
 */
typedef struct workspace_file {
    const char *path;
    const char *name;
    const char *base; /* NAME in its folder */
    int folder;
    int fd;
    int problem; /* errno, or one of workspace_folder.h; 0: none so far */
    char temporary[32];
    bool exists;     /* there was a file of that name */
    bool runs;       /* it can be executed; true where it replaces one that can */
    bool keeps_same; /* a file that holds the same bytes already stays as it is */
} workspace_file;

int32_t workspace_file_begin(const char *path, const char *name, uint64_t size,
                             workspace_file *file, char objection[WORKSPACE_OBJECTION_SIZE],
                             code_executor_error *error);
void workspace_file_append(workspace_file *file, const char *bytes, size_t length);
int32_t workspace_file_end(workspace_file *file, char objection[WORKSPACE_OBJECTION_SIZE],
                           code_executor_error *error);
void workspace_file_abandon(workspace_file *file);

/* Removes the file NAME, if it is there. */
void workspace_remove(const char *path, const char *name);

#endif /* CODE_EXECUTOR_WORKSPACE_H */
