/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup.c: see cgroup.h. Here a group is made, set and removed; cgroup_places.c finds where.
 */
#include "cgroup.h"

#include "fork_guard.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NAME_FORMAT "code_executor.%" PRIu64 ".%ld.%" PRIu64 "."

/* How long a group that has just lost its last process may keep answering "busy". */
#define REMOVE_ATTEMPTS    400
#define REMOVE_PAUSE_NANOS 5000000

/* ------------------------------------------------------------------------------------------------
 * Makers
 * --------------------------------------------------------------------------------------------- */

/* When process PID of this namespace started, in ticks since boot; 0 where there is none. A number of a
 * process alone is no identity: it is given out again. */
static uint64_t start_time(long pid)
{
    char path[64];
    char text[1024];
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    if (length <= 0)
        return 0;
    text[length] = '\0';
    /* The second field is a name in parentheses, and holds whatever its owner wants. */
    const char *at = strrchr(text, ')');
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at + 1, NULL, 10) : 0;
}

static uint64_t pid_namespace(void)
{
    struct stat status;
    return stat("/proc/self/ns/pid", &status) == 0 ? (uint64_t)status.st_ino : 0;
}

/* Whether NAME is that of a group whose maker, of our namespace, is dead. Those of another namespace
 * cannot be judged from here. */
static bool is_left_behind(const char *name, uint64_t our_namespace)
{
    uint64_t namespace_of = 0;
    uint64_t started = 0;
    long pid = 0;
    if (sscanf(name, NAME_FORMAT, &namespace_of, &pid, &started) != 3)
        return false;
    return namespace_of == our_namespace && start_time(pid) != started;
}

static void sweep(const char *folder)
{
    DIR *list = opendir(folder);
    if (!list)
        return;
    uint64_t our_namespace = pid_namespace();
    for (struct dirent *entry = readdir(list); entry; entry = readdir(list))
        if (is_left_behind(entry->d_name, our_namespace))
            (void)unlinkat(dirfd(list), entry->d_name, AT_REMOVEDIR);
    closedir(list);
}

/* ------------------------------------------------------------------------------------------------
 * Groups
 * --------------------------------------------------------------------------------------------- */

static char *join(const char *folder, const char *name)
{
    size_t room = strlen(folder) + strlen(name) + 2;
    char *path = malloc(room);
    if (path)
        snprintf(path, room, "%s/%s", folder, name);
    return path;
}

/* Makes the folder beneath PLACE and files it. Returns 0 or an errno. */
static int make_folder(cgroup *group, const char *place, int version, const char *name)
{
    char *path = join(place, name);
    if (!path)
        return ENOMEM;
    if (mkdir(path, 0755) != 0) {
        int errnum = errno;
        free(path);
        return errnum;
    }
    group->folders[group->folder_count++] = (struct cgroup_folder){path, version};
    return 0;
}

static const struct cgroup_folder *find_folder(const cgroup *group, const char *place)
{
    size_t length = strlen(place);
    for (size_t i = 0; i < group->folder_count; i++) {
        const char *path = group->folders[i].path;
        if (strncmp(path, place, length) == 0 && path[length] == '/' &&
            !strchr(path + length + 1, '/'))
            return &group->folders[i];
    }
    return NULL;
}

static int make_folders(const cgroup_places *places, cgroup *group, const char *name)
{
    for (int i = 0; i < CGROUP_CONTROLLERS; i++) {
        const char *place = places->of[i].folder;
        if (!place)
            continue;
        group->of[i] = find_folder(group, place);
        if (group->of[i])
            continue;
        sweep(place);
        int errnum = make_folder(group, place, places->of[i].version, name);
        if (errnum)
            return errnum;
        group->of[i] = &group->folders[group->folder_count - 1];
    }
    return 0;
}

int32_t cgroup_make(const cgroup_places *places, cgroup *group, code_executor_error *error)
{
    static atomic_uint number;
    int errnum = EEXIST;
    memset(group, 0, sizeof *group);
    /* The number is this plugin's; another copy of it in the process may have taken it. */
    for (int attempt = 0; attempt < 1000 && errnum == EEXIST; attempt++) {
        char name[128];
        snprintf(name, sizeof name, NAME_FORMAT "%u", pid_namespace(), (long)getpid(),
                 start_time(getpid()), atomic_fetch_add(&number, 1));
        errnum = make_folders(places, group, name);
        if (errnum)
            (void)cgroup_remove(group);
    }
    if (errnum)
        return error_set_errno(error, CODE_EXECUTOR_IO, errnum, "cannot make a cgroup");
    return CODE_EXECUTOR_OK;
}

/* Writes VALUE to FILE of FOLDER; returns 0 or an errno. */
static int write_value(const char *folder, const char *file, const char *value)
{
    char *path = join(folder, file);
    if (!path)
        return ENOMEM;
    int descriptor = open(path, O_WRONLY | O_CLOEXEC);
    int errnum = descriptor < 0 ? errno : 0;
    free(path);
    if (descriptor < 0)
        return errnum;
    if (write(descriptor, value, strlen(value)) != (ssize_t)strlen(value))
        errnum = errno;
    close(descriptor);
    return errnum;
}

int cgroup_set(const cgroup *group, enum cgroup_controller controller, const char *file,
               const char *value)
{
    return write_value(group->of[controller]->path, file, value);
}

int cgroup_open(const cgroup *group, helper_process_group opened[CGROUP_CONTROLLERS])
{
    int errnum = 0;
    for (size_t i = 0; i < group->folder_count; i++) {
        fork_guard_enter();
        int folder = open(group->folders[i].path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        errnum = folder < 0 ? errno : errnum;
        fork_guard_add(folder);
        fork_guard_leave();
        opened[i] = (helper_process_group){folder, group->folders[i].version};
    }
    return errnum;
}

void cgroup_close(const cgroup *group, const helper_process_group opened[CGROUP_CONTROLLERS])
{
    for (size_t i = 0; i < group->folder_count; i++)
        fork_guard_close(opened[i].folder);
}

bool cgroup_ran_out_of_memory(const cgroup *group)
{
    const struct cgroup_folder *folder = group->of[CGROUP_MEMORY];
    char text[1024];
    char *path =
        folder ? join(folder->path, folder->version == 2 ? "memory.events" : "memory.oom_control")
               : NULL;
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    free(path);
    if (file < 0)
        return false;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    text[length > 0 ? length : 0] = '\0';
    const char *count = strstr(text, "oom_kill ");
    return count && strtoul(count + strlen("oom_kill "), NULL, 10) > 0;
}

/* The kernel takes a moment to let go of a group after its last process. */
static bool remove_folder(const char *path)
{
    for (int attempt = 0; attempt < REMOVE_ATTEMPTS; attempt++) {
        if (rmdir(path) == 0 || errno == ENOENT)
            return true;
        if (errno != EBUSY)
            return false;
        nanosleep(&(struct timespec){0, REMOVE_PAUSE_NANOS}, NULL);
    }
    return false;
}

bool cgroup_remove(cgroup *group)
{
    bool removed = true;
    for (size_t i = 0; i < group->folder_count; i++) {
        removed = remove_folder(group->folders[i].path) && removed;
        free(group->folders[i].path);
    }
    memset(group, 0, sizeof *group);
    return removed;
}
