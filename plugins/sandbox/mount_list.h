/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mount_list.h: what is mounted where, as /proc/self/mountinfo tells. The kernel takes a while to write that file, so
 * a start reads it once.
 */
#ifndef CODE_EXECUTOR_SANDBOX_MOUNT_LIST_H
#define CODE_EXECUTOR_SANDBOX_MOUNT_LIST_H

#include <stddef.h>

#define MOUNT_LIST_FILE "/proc/self/mountinfo"

typedef struct mount_entry {
    char *root;    /* the part of the file system that is mounted */
    char *place;   /* where */
    char *type;    /* of the file system */
    char *options; /* of the file system */
} mount_entry;

typedef struct mount_list {
    mount_entry *entries;
    size_t count;
    char *text; /* that the entries point into */
} mount_list;

/* Reads the FILE; what cannot be read has no entries. mount_list_free is due in any case. */
void mount_list_read(mount_list *list, const char *file);
void mount_list_free(mount_list *list);

#endif /* CODE_EXECUTOR_SANDBOX_MOUNT_LIST_H */
