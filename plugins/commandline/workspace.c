/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workspace.c: find the file's own folder (workspace_folder.h), write beside the file, change places. The attacks
 * that this answers are listed in workspace.h.
 */
#include "workspace.h"
#include "file_name.h"
#include "text.h"
#include "workspace_folder.h"
#include "workspace_share.h"
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* How often what vanished is made again, and a temporary name that is taken is chosen anew. */
#define ATTEMPTS 8

/* ------------------------------------------------------------------------------------------------
 * The workspace itself
 * --------------------------------------------------------------------------------------------- */

static int32_t status_of(int reason)
{
    switch (reason) {
    case EACCES:
    case EPERM:
    case EROFS:
        return CODE_EXECUTOR_DENIED;
    case ENOENT:
    case ENOTDIR:
        return CODE_EXECUTOR_NOT_FOUND;
    case ENOMEM:
        return CODE_EXECUTOR_NO_MEMORY;
    default:
        return CODE_EXECUTOR_IO;
    }
}

static int32_t refuse_workspace(const char *path, code_executor_error *error)
{
    if (errno == ELOOP)
        return error_set(
            error, CODE_EXECUTOR_DENIED,
            "%s was replaced by a link, or lies behind one by now, which may lead anywhere: "
            "put the folder back, or make a new executor on where the link leads",
            path);
    return error_set_errno(error, status_of(errno), errno, "cannot use %s as the workspace", path);
}

int32_t workspace_make(const char *path, code_executor_error *error)
{
    int fd = workspace_folder_open(path, true);
    if (fd < 0)
        return refuse_workspace(path, error);
    close(fd);
    return CODE_EXECUTOR_OK;
}

/* ------------------------------------------------------------------------------------------------
 * Files
 * --------------------------------------------------------------------------------------------- */

/* Errno, or 0. */
static int write_all(int fd, const char *bytes, size_t length)
{
    while (length) {
        ssize_t written = write(fd, bytes, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return written < 0 ? errno : EIO;
        bytes += written;
        length -= (size_t)written;
    }
    return 0;
}

/* Whether BASE in FOLDER is what may be replaced; whether there is something, and whether it can be
 * run, which its successor then can too. */
static int look_at(int folder, const char *base, bool *exists, bool *runs)
{
    struct stat status;
    *exists = *runs = false;
    if (fstatat(folder, base, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0 : errno;
    if (S_ISLNK(status.st_mode))
        return WORKSPACE_ELSEWHERE;
    if (S_ISDIR(status.st_mode))
        return EISDIR;
    *exists = true;
    *runs = status.st_mode & 0111;
    return S_ISREG(status.st_mode) ? 0 : WORKSPACE_IRREGULAR;
}

static void add_permission_to_run(int fd)
{
    struct stat status;
    if (fstat(fd, &status) == 0)
        (void)!fchmod(fd, (status.st_mode & 0777) | ((status.st_mode & 0444) >> 2));
}

/* A new file in FOLDER under a random name. */
static int create_temporary(int folder, char *name, size_t size)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        unsigned long long random;
        if (getrandom(&random, sizeof random, 0) != sizeof random)
            return -1;
        snprintf(name, size, ".tmp_code_%016llx", random);
        int fd = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (fd >= 0)
            workspace_share_file(folder, fd);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/*
 * Puts TEMPORARY in the place of BASE. Over a file that EXISTS a rename would make ext4 and others write the
 * new one to the disk at once, for those who rename in order to survive a crash; that takes as long as all
 * the rest of a block. The two change places instead, which no reader can tell from a rename, and the old
 * one goes. Errno, or 0; TEMPORARY is left where it fails.
 */
static int put_in_place(int folder, const char *temporary, const char *base, bool exists)
{
    /* Not every file system can, and by now there may be nothing to exchange. */
    if (!exists || renameat2(folder, temporary, folder, base, RENAME_EXCHANGE) != 0)
        return renameat(folder, temporary, folder, base) == 0 ? 0 : errno;
    if (unlinkat(folder, temporary, 0) == 0 || errno == ENOENT)
        return 0;
    /* Code has put a folder there since we looked. It stays, as with a rename. */
    int problem = errno;
    if (renameat2(folder, temporary, folder, base, RENAME_EXCHANGE) != 0)
        (void)!renameat(folder, temporary, folder, base);
    return problem;
}

/* Beyond the limit a write would send SIGXFSZ, and end the host. */
static bool is_too_large(uint64_t size)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
           size > limit.rlim_cur;
}

/* A problem, or 0. */
static int begin_in(workspace_file *file, uint64_t size)
{
    int problem = look_at(file->folder, file->base, &file->exists, &file->runs);
    if (problem)
        return problem;
    if (is_too_large(size))
        return EFBIG;
    file->fd = create_temporary(file->folder, file->temporary, sizeof file->temporary);
    return file->fd < 0 ? errno : 0;
}

static void release(workspace_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    if (file->folder >= 0)
        close(file->folder);
    file->fd = file->folder = -1;
}

static bool reads_same(int left, int right)
{
    char pieces[2][16384];
    for (off_t at = 0;;) {
        ssize_t count = pread(left, pieces[0], sizeof pieces[0], at);
        if (count <= 0)
            return count == 0;
        if (pread(right, pieces[1], (size_t)count, at) != count ||
            memcmp(pieces[0], pieces[1], (size_t)count) != 0)
            return false;
        at += count;
    }
}

/* Opens a file for reading. Attack: code puts a device there after a look, and to open that does something.
 * So its place is taken first, without opening it. */
static int open_regular(int folder, const char *base)
{
    struct stat status;
    char path[32];
    int fd = -1;
    int place = openat(folder, base, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (place < 0)
        return -1;
    snprintf(path, sizeof path, "/proc/self/fd/%d", place);
    if (fstat(place, &status) == 0 && S_ISREG(status.st_mode))
        fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    close(place);
    return fd;
}

/* Whether the file that the new one would replace holds the same. */
static bool is_there_already(const workspace_file *file)
{
    struct stat fresh, old;
    int fd = open_regular(file->folder, file->base);
    if (fd < 0)
        return false;
    bool same = fstat(fd, &old) == 0 && fstat(file->fd, &fresh) == 0 &&
                old.st_size == fresh.st_size && !(old.st_mode & 0111) == !(fresh.st_mode & 0111) &&
                reads_same(fd, file->fd);
    close(fd);
    return same;
}

/* Puts the file in its place. */
static void finish_in(workspace_file *file)
{
    if (file->runs)
        add_permission_to_run(file->fd);
    bool needless = file->keeps_same && !file->problem && is_there_already(file);
    /* A network's file system may tell only here that the disk is full. */
    int fd = file->fd;
    file->fd = -1;
    if (close(fd) != 0 && !file->problem && errno != EINTR)
        file->problem = errno;
    if (!needless && !file->problem)
        file->problem = put_in_place(file->folder, file->temporary, file->base, file->exists);
    if (needless || file->problem)
        unlinkat(file->folder, file->temporary, 0);
}

/* ------------------------------------------------------------------------------------------------
 * Verdicts
 * --------------------------------------------------------------------------------------------- */

/* Whether PROBLEM would meet any file, and not only this name. */
static bool is_ours(int problem, bool in_folder)
{
    static const int general[] = {ENOSPC, EDQUOT, EIO,   EROFS, ENOMEM,
                                  EMFILE, ENFILE, EFBIG, ESTALE};
    for (size_t i = 0; i < sizeof general / sizeof general[0]; i++)
        if (problem == general[i])
            return true;
    /* Code may have locked a folder that it made; the workspace itself is the user's. */
    return !in_folder && (problem == EACCES || problem == EPERM);
}

static int32_t judge(int problem, const char *path, const char *name, char *objection,
                     code_executor_error *error)
{
    char brief[128];
    text_shorten(name, brief, sizeof brief);
    if (problem == 0)
        return error_clear(error);
    if (is_ours(problem, strchr(name, '/') != NULL))
        return error_set_errno(error, status_of(problem), problem, "cannot save %s in %s", brief,
                               path);
    code_executor_error words = CODE_EXECUTOR_ERROR_INIT;
    if (problem == WORKSPACE_ELSEWHERE)
        error_set(&words, CODE_EXECUTOR_INVALID, "%s", file_name_outside);
    else if (problem == EISDIR || problem == WORKSPACE_IRREGULAR)
        error_set(&words, CODE_EXECUTOR_INVALID, "Cannot save %s: there is a %s of that name",
                  brief, problem == EISDIR ? "folder" : "special file");
    else
        error_set_errno(&words, CODE_EXECUTOR_INVALID, problem, "Cannot save %s", brief);
    text_shorten(words.message, objection, WORKSPACE_OBJECTION_SIZE);
    return error_clear(error);
}

int32_t workspace_file_begin(const char *path, const char *name, uint64_t size,
                             workspace_file *file, char objection[WORKSPACE_OBJECTION_SIZE],
                             code_executor_error *error)
{
    *file = (workspace_file){.path = path, .name = name, .folder = -1, .fd = -1, .problem = ENOENT};
    objection[0] = '\0';
    /* Whoever deletes folders while a file is saved in them wins a few times at most. */
    for (int i = 0; i < ATTEMPTS && file->problem == ENOENT; i++) {
        int workspace = workspace_folder_open(path, true);
        if (workspace < 0)
            return refuse_workspace(path, error);
        file->folder = workspace_folder_walk(workspace, name, true, &file->base, &file->problem);
        if (file->folder < 0)
            continue;
        file->problem = begin_in(file, size);
        if (file->problem)
            release(file);
    }
    return judge(file->problem, path, name, objection, error);
}

void workspace_file_append(workspace_file *file, const char *bytes, size_t length)
{
    if (!file->problem)
        file->problem = write_all(file->fd, bytes, length);
}

int32_t workspace_file_end(workspace_file *file, char objection[WORKSPACE_OBJECTION_SIZE],
                           code_executor_error *error)
{
    objection[0] = '\0';
    finish_in(file);
    release(file);
    return judge(file->problem, file->path, file->name, objection, error);
}

void workspace_file_abandon(workspace_file *file)
{
    if (file->fd >= 0)
        unlinkat(file->folder, file->temporary, 0);
    release(file);
}

int32_t workspace_save(const char *path, const char *name, const char *bytes, size_t length,
                       char objection[WORKSPACE_OBJECTION_SIZE], code_executor_error *error)
{
    workspace_file file;
    int32_t status = CODE_EXECUTOR_OK;
    for (int i = 0; i < ATTEMPTS; i++) {
        status = workspace_file_begin(path, name, length, &file, objection, error);
        if (status != CODE_EXECUTOR_OK || objection[0])
            return status;
        workspace_file_append(&file, bytes, length);
        status = workspace_file_end(&file, objection, error);
        if (file.problem != ENOENT)
            break;
    }
    return status;
}

void workspace_remove(const char *path, const char *name)
{
    int workspace = workspace_folder_open(path, false);
    if (workspace < 0)
        return;
    const char *base;
    int problem;
    int folder = workspace_folder_walk(workspace, name, false, &base, &problem);
    if (folder < 0)
        return;
    unlinkat(folder, base, 0);
    close(folder);
}
