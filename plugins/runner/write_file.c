/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_file.c: see write_file.h.
 *
 *     "a/b/c.py":  open a, a/b beneath the folder ─▶ a/b/.code_executor-N (new) ─▶ bytes ─▶ rename
 *
 * The folder belongs to code that is not trusted, which may be running now. Attacks, and what answers:
 *   - a link in place of a parent, or "..", leads outside: parents are opened beneath the folder
 *     without following links (openat2; kernels without it: one component at a time, O_NOFOLLOW);
 *   - the name is a link, a fifo or a device: it is never opened, rename takes its place;
 *   - the temporary name is taken, by a link or otherwise: O_EXCL, and the next number is tried;
 *   - a parent is moved away meanwhile: the descriptors go with it, the file ends up where it went.
 */
#include "write_file.h"
#include "system.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Temporary names that are tried. */
#define TRIES_MAX 1000u

static int root = -1;

static struct write_in_progress {
    uint32_t number; /* 0: free */
    int folder;
    int file;
    int error;
    char name[NAME_MAX + 1];
    char temporary[48];
} writes[WRITES_MAX];

void write_file_open(void)
{
    root = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static struct write_in_progress *find_write(uint32_t number)
{
    for (size_t i = 0; i < WRITES_MAX; i++)
        if (writes[i].number == number)
            return &writes[i];
    return NULL;
}

/* The folder NAME, one component, in FOLDER; made where it is not there. */
static int open_component(int folder, const char *name)
{
    if (mkdirat(folder, name, 0777) != 0 && errno != EEXIST)
        return -1;
    struct open_how_v0 how = {
        .flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
        .resolve = OPENAT2_BENEATH | OPENAT2_NO_SYMLINKS | OPENAT2_NO_MAGICLINKS,
    };
    int opened = (int)syscall(SYS_openat2, folder, name, &how, sizeof how);
    if (opened < 0 && errno == ENOSYS)
        opened = openat(folder, name, (int)how.flags); /* NAME is one component, and not ".." */
    return opened;
}

/*
 * Opens the parent of PATH beneath the root, making what is missing; *NAME is the last component. -1 with
 * errno.
 */
static int open_parent(const char *path, char name[NAME_MAX + 1])
{
    int folder = fcntl(root, F_DUPFD_CLOEXEC, 0);
    name[0] = '\0';
    while (folder >= 0 && *path != '\0') {
        size_t length = (size_t)(strchrnul(path, '/') - path);
        const char *component = path;
        bool last = path[length] == '\0';
        path += last ? length : length + 1;
        if (length == 0 || length > NAME_MAX || (length == 1 && component[0] == '.') ||
            (length == 2 && component[0] == '.' && component[1] == '.')) {
            close(folder);
            errno = length > NAME_MAX ? ENAMETOOLONG : EINVAL;
            return -1;
        }
        memcpy(name, component, length);
        name[length] = '\0';
        if (last)
            return folder;
        int next = open_component(folder, name);
        int error = errno;
        close(folder);
        errno = error;
        folder = next;
    }
    if (folder >= 0) {
        close(folder);
        errno = EINVAL; /* the path ends in a slash */
    }
    return -1;
}

static int open_temporary(int folder, char name[48])
{
    static unsigned counter;
    for (unsigned i = 0; i < TRIES_MAX; i++) {
        snprintf(name, 48, ".code_executor-%ld-%u", (long)getpid(), counter++);
        int file = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (file >= 0 || errno != EEXIST)
            return file;
    }
    return -1;
}

static void begin_write(struct write_in_progress *write, uint32_t number,
                        const struct write_request *request)
{
    *write = (struct write_in_progress){.number = number, .folder = -1, .file = -1};
    write->folder = open_parent(request->path, write->name);
    if (write->folder >= 0)
        write->file = open_temporary(write->folder, write->temporary);
    if (write->file < 0)
        write->error = errno;
}

static void append_bytes(struct write_in_progress *state, const struct write_request *request)
{
    const unsigned char *bytes = request->bytes;
    size_t left = request->length;
    while (left > 0 && state->error == 0) {
        ssize_t count = write(state->file, bytes, left);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0) {
            state->error = count < 0 ? errno : EIO;
            return;
        }
        bytes += count;
        left -= (size_t)count;
    }
}

static int end_write(struct write_in_progress *write, uint32_t mode)
{
    if (write->error == 0 &&
        (fchmod(write->file, (mode_t)mode) != 0 ||
         renameat(write->folder, write->temporary, write->folder, write->name) != 0))
        write->error = errno;
    if (write->file >= 0) {
        if (write->error != 0)
            (void)unlinkat(write->folder, write->temporary, 0);
        close(write->file);
    }
    if (write->folder >= 0)
        close(write->folder);
    write->number = 0;
    return write->error;
}

enum write_outcome write_file_frame(uint32_t number, uint16_t flags,
                                    const struct write_request *request, int *error)
{
    struct write_in_progress *write = find_write(number);
    if (!write == !(flags & WRITE_FIRST))
        return WRITE_MISPLACED;
    if (flags & WRITE_FIRST) {
        write = find_write(0);
        if (!write)
            return WRITE_MISPLACED;
        begin_write(write, number, request);
    }
    append_bytes(write, request);
    if (!(flags & WRITE_LAST))
        return WRITE_GOES_ON;
    *error = end_write(write, request->mode);
    return WRITE_FINISHED;
}

void write_file_close(void)
{
    for (size_t i = 0; i < WRITES_MAX; i++) {
        if (writes[i].number == 0)
            continue;
        writes[i].error = ECANCELED;
        (void)end_write(&writes[i], 0);
    }
}
