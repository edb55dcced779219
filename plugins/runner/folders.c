/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folders.c: see folders.h. Where there is no memory or room for all, those that are left out count as new: they
 * come whole where they have changed, which is too much and not too little.
 */
#include "folders.h"
#include "collect.h"
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

struct folder {
    uint64_t path; /* its digest */
    uint64_t number;
};

enum { FOLDERS_MAX = COLLECT_FOLDERS_MAX / sizeof(struct folder) };

static struct folder *before; /* sorted */
static size_t before_count;
static struct folder *met;
static size_t met_count, met_capacity;

/* FNV-1a. */
static uint64_t digest(const char *bytes, size_t length)
{
    uint64_t value = 0xcbf29ce484222325u;
    for (size_t i = 0; i < length; i++)
        value = (value ^ (unsigned char)bytes[i]) * 0x100000001b3u;
    return value;
}

static int compare(const void *left, const void *right)
{
    const struct folder *one = left, *other = right;
    if (one->path != other->path)
        return one->path < other->path ? -1 : 1;
    return one->number < other->number ? -1 : one->number > other->number;
}

void folders_read(int file)
{
    size_t length = 0;
    ssize_t count = 1;
    before = malloc(COLLECT_FOLDERS_MAX);
    while (before && count > 0 && length < COLLECT_FOLDERS_MAX) {
        count = read(file, (char *)before + length, COLLECT_FOLDERS_MAX - length);
        if (count < 0 && errno == EINTR)
            count = 1;
        else if (count > 0)
            length += (size_t)count;
    }
    before_count = length / sizeof *before;
    if (before_count > 0)
        qsort(before, before_count, sizeof *before, compare);
}

static void note(const struct folder *folder)
{
    if (met_count == met_capacity && met_capacity < FOLDERS_MAX) {
        size_t capacity = met_capacity > 0 ? 2 * met_capacity : 256;
        struct folder *grown = realloc(met, capacity * sizeof *grown);
        if (grown) {
            met = grown;
            met_capacity = capacity;
        }
    }
    if (met_count < met_capacity && met_count < FOLDERS_MAX)
        met[met_count++] = *folder;
}

bool folders_meet(const char *path, size_t length, const struct stat *status)
{
    const struct folder folder = {
        .path = digest(path, length),
        .number = (uint64_t)status->st_ino ^ (uint64_t)status->st_dev << 32,
    };
    note(&folder);
    return before_count > 0 && bsearch(&folder, before, before_count, sizeof folder, compare);
}

const void *folders_told(size_t *size)
{
    *size = met_count * sizeof *met;
    return met;
}
