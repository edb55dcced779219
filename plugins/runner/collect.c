/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect.c: walks the current folder and prints what changed; see collect.h.
 *
 * The code may change the folder meanwhile. What it could do, and what answers:
 *   - a link, to have files from elsewhere told to the host: no link is followed, at any depth;
 *   - a fifo or a device, to hang whoever opens it: opened without blocking, and passed over by its type;
 *   - a file that grows while it is read: no more is read than was announced;
 *   - folders in folders without end: deeper than DEPTH_MAX is told as skipped;
 *   - a debugger, to have other bytes told or none: we are not dumpable. Whoever stops us otherwise is answered by the
 *     supervisor and the runner, which expect something to come all the while.
 */
#include "collect.h"
#include "folders.h"
#include "protocol.h"
#include "system.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { DEPTH_MAX = 128, PIECE = 64 * 1024, ALIVE_EVERY_MS = 1000 };

static struct {
    uint64_t since;
    uint64_t left;                   /* bytes that may come */
    char path[COLLECT_PATH_MAX + 1]; /* of what is looked at */
    size_t length;
    bool broken;      /* nobody reads what is printed */
    uint64_t printed; /* when something was */
} collector;

static unsigned char piece[PIECE];

static void print(const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    collector.printed = now_ns();
    while (length > 0 && !collector.broken) {
        ssize_t count = write(STDOUT_FILENO, at, length);
        if (count < 0 && errno == EINTR)
            continue;
        collector.broken = count <= 0;
        at += count > 0 ? count : 0;
        length -= count > 0 ? (size_t)count : 0;
    }
}

static void print_record(uint32_t kind, uint32_t mode, uint64_t size)
{
    unsigned char record[COLLECT_RECORD_SIZE];
    if (kind == COLLECT_SKIPPED && collector.since == COLLECT_NOTHING)
        return; /* nobody asks for files */
    put_u32(record, kind);
    put_u32(record + 4, mode);
    put_u64(record + 8, size);
    bool has_path = kind == COLLECT_FILE || kind == COLLECT_SKIPPED;
    put_u32(record + 16, has_path ? (uint32_t)collector.length : 0);
    print(record, sizeof record);
    if (has_path)
        print(collector.path, collector.length);
}

static void show_life(void)
{
    if (now_ns() - collector.printed > ALIVE_EVERY_MS * NANOSECONDS_PER_MILLISECOND)
        print_record(COLLECT_ALIVE, 0, 0);
}

static void print_bytes(int file, uint64_t size)
{
    while (size > 0 && !collector.broken) {
        size_t wanted = size < PIECE ? (size_t)size : PIECE;
        ssize_t count = read(file, piece, wanted);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0) {
            memset(piece, 0, wanted);
            count = (ssize_t)wanted;
        }
        print(piece, (size_t)count);
        size -= (uint64_t)count;
    }
}

static void print_file(int file, uint32_t mode, uint64_t size)
{
    if (size > collector.left) {
        print_record(COLLECT_SKIPPED, EFBIG, 0);
        return;
    }
    collector.left -= size;
    print_record(COLLECT_FILE, mode, size);
    print_bytes(file, size);
}

static bool is_new(const struct stat *status)
{
    return (uint64_t)status->st_ctim.tv_sec * NANOSECONDS_PER_SECOND +
               (uint64_t)status->st_ctim.tv_nsec >=
           collector.since;
}

static void visit_file(int folder, const char *name)
{
    struct stat status;
    int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file < 0) {
        print_record(COLLECT_SKIPPED, (uint32_t)errno, 0);
        return;
    }
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode))
        print_file(file, status.st_mode & 0777, (uint64_t)status.st_size);
    close(file);
}

static void visit_folder(int folder, unsigned depth, bool whole);

/* A folder that was moved here brings files of any age; so does one that was opened up, whose status is newer than
 * its list of entries. */
static bool is_whole_news(const struct stat *status)
{
    bool was_here = folders_meet(collector.path, collector.length, status);
    return is_new(status) && (!was_here || status->st_mtim.tv_sec != status->st_ctim.tv_sec ||
                              status->st_mtim.tv_nsec != status->st_ctim.tv_nsec);
}

/* WHOLE: also files that are older. */
static void visit(int folder, const char *name, unsigned depth, bool whole)
{
    struct stat status;
    if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return; /* gone */
    if (S_ISREG(status.st_mode) && (whole || is_new(&status)))
        visit_file(folder, name);
    if (!S_ISDIR(status.st_mode))
        return;
    whole = is_whole_news(&status) || whole;
    int inner = -1;
    errno = ELOOP;
    if (depth < DEPTH_MAX)
        inner = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (inner >= 0)
        visit_folder(inner, depth + 1, whole);
    else
        print_record(COLLECT_SKIPPED, (uint32_t)errno, 0);
}

/* Closes FOLDER. */
static void visit_folder(int folder, unsigned depth, bool whole)
{
    DIR *entries = fdopendir(folder);
    size_t length = collector.length;
    struct dirent *entry;
    if (!entries) {
        print_record(COLLECT_SKIPPED, (uint32_t)errno, 0);
        close(folder);
        return;
    }
    while (!collector.broken && (entry = readdir(entries))) {
        size_t name_length = strlen(entry->d_name);
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            length + 1 + name_length > COLLECT_PATH_MAX)
            continue;
        char *at = collector.path + length;
        if (length > 0)
            *at++ = '/';
        memcpy(at, entry->d_name, name_length + 1);
        collector.length = (size_t)(at - collector.path) + name_length;
        visit(dirfd(entries), entry->d_name, depth, whole);
        show_life();
        collector.length = length;
        collector.path[length] = '\0';
    }
    closedir(entries);
}

static void print_head(void)
{
    /* The clock by which the kernel dates files. */
    struct timespec now;
    unsigned char head[COLLECT_HEAD_SIZE];
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    put_u32(head, COLLECT_MAGIC);
    put_u64(head + 4, (uint64_t)now.tv_sec * NANOSECONDS_PER_SECOND + (uint64_t)now.tv_nsec);
    print(head, sizeof head);
}

static void print_folders(void)
{
    size_t size = 0;
    const void *told = folders_told(&size);
    print_record(COLLECT_FOLDERS, 0, size);
    print(told, size);
}

int collect_main(int count, char **words)
{
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    for (int i = 2; i < count; i++)
        unlink(words[i]);
    collector.since = count > 0 ? strtoull(words[0], NULL, 10) : 0;
    collector.left = count > 1 ? strtoull(words[1], NULL, 10) : UINT64_MAX;
    print_head();
    int folder = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return 1;
    folders_read(STDIN_FILENO);
    visit_folder(folder, 0, false);
    print_folders();
    print_record(COLLECT_END, 0, 0);
    return collector.broken ? 1 : 0;
}

int share_main(void)
{
    return chmod(".", 0777) == 0 ? 0 : 1;
}
