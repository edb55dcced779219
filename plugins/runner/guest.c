/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest.c: see guest.h.
 *
 * Who else is there is not trusted. Where it lies in "/", only root in the container can make names like ours;
 * in a workspace, everybody who may write there.
 * Attacks: a link in the place of a folder, or a mount on it, to have removed what lies elsewhere: a folder is
 * opened beneath the one above, without following links and without leaving the file system; a file goes by
 * its name alone. Another name like ours, to have that removed: only who made it loses by it. A lock that is
 * held on a folder for ever: then it stays, as long as that process does.
 */
#include "guest.h"
#include "remove_folder.h"
#include "remove_itself.h"
#include "system.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LOCK_ATTEMPTS = 100,
    LOCK_PAUSE_MS = 10,
    CLEAR_LIMIT_MS = 3000, /* the host waits; what is left then is cleared by the next */
    START_SECONDS = 600,   /* by then a host has started what it brought in, or given up */
    WAKE_LIMIT_MS = 8000,
    WAKE_PAUSE_MS = 20,
    ID_END = sizeof RUNNER_FILE_PREFIX - 1 + RUNNER_ID_LENGTH
};

static bool removes_folder; /* guest_leave does */

enum kind { NOT_OURS, OUR_FILE, OUR_FOLDER };

static enum kind kind_of(const char *name)
{
    const char *id = name + sizeof RUNNER_FILE_PREFIX - 1;
    if (strncmp(name, RUNNER_FILE_PREFIX, sizeof RUNNER_FILE_PREFIX - 1) != 0 ||
        strspn(id, "0123456789abcdef") != RUNNER_ID_LENGTH)
        return NOT_OURS;
    if (name[ID_END] == '\0')
        return OUR_FILE;
    return strcmp(name + ID_END, RUNNER_FOLDER_SUFFIX) == 0 ? OUR_FOLDER : NOT_OURS;
}

/* For as long as this process lives; nobody else gets it, as it is close-on-exec and supervisors close it. */
static void hold_folder(void)
{
    int folder = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const struct timespec pause = {0, LOCK_PAUSE_MS * (long)NANOSECONDS_PER_MILLISECOND};
    for (int i = 0; i < LOCK_ATTEMPTS && folder >= 0; i++) {
        if (flock(folder, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK)
            return;
        (void)nanosleep(&pause, NULL);
    }
}

static int open_folder(int above, const char *name)
{
    const struct open_how_v0 how = {
        .flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
        .resolve = OPENAT2_BENEATH | OPENAT2_NO_SYMLINKS | OPENAT2_NO_XDEV,
    };
    return (int)syscall(SYS_openat2, above, name, &how, sizeof how);
}

static bool has_file(int above, const char *folder_name)
{
    struct stat status;
    char name[ID_END + 1] = "";
    memcpy(name, folder_name, ID_END);
    return fstatat(above, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

static void clear_folder(int above, const char *name, uint64_t deadline)
{
    if (has_file(above, name))
        return;
    int folder = open_folder(above, name);
    if (folder < 0)
        return;
    if (flock(folder, LOCK_EX | LOCK_NB) != 0 || has_file(above, name)) {
        close(folder);
        return;
    }
    remove_contents(folder, deadline);
    (void)unlinkat(above, name, AT_REMOVEDIR);
}

/* It is dated by the kernel, which nobody can make believe that it is older. */
static void clear_file(int above, const char *name)
{
    struct stat status;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (fstatat(above, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode) &&
        now.tv_sec - status.st_ctim.tv_sec > START_SECONDS)
        (void)unlinkat(above, name, 0);
}

static void clear(int above, enum kind kind, uint64_t deadline)
{
    int again = openat(above, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = again >= 0 ? fdopendir(again) : NULL;
    struct dirent *entry;
    while (entries && now_ns() < deadline && (entry = readdir(entries))) {
        if (kind_of(entry->d_name) != kind)
            continue;
        if (kind == OUR_FILE)
            clear_file(above, entry->d_name);
        else
            clear_folder(above, entry->d_name, deadline);
    }
    if (entries)
        closedir(entries);
    else if (again >= 0)
        close(again);
}

/* The caretaker's work: FILE_NAME's folder. */
static void await_end_of_folder(int above, const char *file_name)
{
    char name[ID_END + sizeof RUNNER_FOLDER_SUFFIX];
    if (kind_of(file_name) != OUR_FILE)
        return;
    memcpy(name, file_name, ID_END);
    memcpy(name + ID_END, RUNNER_FOLDER_SUFFIX, sizeof RUNNER_FOLDER_SUFFIX);
    int folder = open_folder(above, name);
    if (folder < 0)
        return;
    while (flock(folder, LOCK_EX) != 0)
        if (errno != EINTR) {
            close(folder);
            return;
        }
    remove_contents(folder, NEVER);
    (void)unlinkat(above, name, AT_REMOVEDIR);
}

/* Whether the process was started by the name PROGRAM, as far as it says so itself. */
static bool has_name(const char *number, const char *program)
{
    char path[64], words[256];
    snprintf(path, sizeof path, "/proc/%.20s/cmdline", number);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file >= 0 ? read(file, words, sizeof words - 1) : -1;
    if (file >= 0)
        close(file);
    words[length > 0 ? length : 0] = '\0';
    return strcmp(words, program) == 0;
}

/* How many others there are. What is no runner but says so loses nothing by being made to go on. */
static size_t wake_once(const char *program)
{
    size_t count = 0;
    DIR *processes = opendir("/proc");
    struct dirent *entry;
    while (processes && (entry = readdir(processes))) {
        pid_t pid = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' ? atoi(entry->d_name) : 0;
        if (pid <= 1 || pid == getpid() || !has_name(entry->d_name, program))
            continue;
        count++;
        (void)kill(pid, SIGCONT);
    }
    if (processes)
        closedir(processes);
    return count;
}

/* Until they have ended, as they may be stopped again. */
static void wake_others(const char *program)
{
    uint64_t deadline = moment_after(WAKE_LIMIT_MS);
    const struct timespec pause = {0, WAKE_PAUSE_MS * (long)NANOSECONDS_PER_MILLISECOND};
    while (wake_once(program) > 0 && now_ns() < deadline)
        (void)nanosleep(&pause, NULL);
}

/* The folder of PATH, which is absolute, and the name in it; -1: it is none. */
static int open_above(char *path, const char **name)
{
    char *slash = path[0] == '/' ? strrchr(path, '/') : NULL;
    if (!slash)
        return -1;
    *name = slash + 1;
    if (slash == path)
        return open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *slash = '\0';
    int above = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *slash = '/';
    return above;
}

bool guest_enter(int count, char **words)
{
    const char *name = NULL;
    bool stays = count > 1 && strcmp(words[1], RUNNER_REMOVES_ITSELF) == 0;
    bool takes_care = count > 1 && strcmp(words[1], RUNNER_ONLY_REMOVES_ITSELF) == 0;
    bool folder_too = count > 2 && strcmp(words[2], RUNNER_REMOVES_FOLDER) == 0;
    if (count > 1 && strcmp(words[1], RUNNER_WAKES_OTHERS) == 0) {
        (void)unlink(words[0]);
        wake_others(words[0]);
        return true;
    }
    if (!stays && !takes_care)
        return false;
    removes_folder = stays && folder_too;
    if (removes_folder)
        hold_folder();
    /* It may not be ours to remove: then the host sees to it. */
    (void)unlink(words[0]);
    int above = open_above(words[0], &name);
    if (above < 0)
        return takes_care;
    uint64_t deadline = stays ? moment_after(CLEAR_LIMIT_MS) : NEVER;
    clear(above, OUR_FILE, deadline);
    if (words[0] + 1 == name) /* in the root folder: elsewhere there are no folders of ours */
        clear(above, OUR_FOLDER, deadline);
    if (takes_care && folder_too)
        await_end_of_folder(above, name);
    close(above);
    return takes_care;
}

void guest_leave(void)
{
    if (removes_folder)
        remove_folder();
}
