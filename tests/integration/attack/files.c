/* SPDX-License-Identifier: Apache-2.0 */
/* files.c: files, devices, terminals, crashes. See attack.h. */
#include "attack.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

static long try_write(char **arguments)
{
    int file = open(arguments[0], O_WRONLY | O_CREAT, 0600);
    return file < 0 ? -1 : write(file, "core", 4);
}

/* Opens for writing and writes nothing: for files where writing would do harm. */
static long try_open_to_write(char **arguments)
{
    return open(arguments[0], O_WRONLY);
}

static long try_open(char **arguments)
{
    return open(arguments[0], O_RDONLY | O_NONBLOCK);
}

static long try_handle(char **arguments)
{
    union {
        struct file_handle handle;
        char space[sizeof(struct file_handle) + MAX_HANDLE_SZ];
    } file = {.handle = {.handle_bytes = MAX_HANDLE_SZ}};
    int mount = 0;
    if (name_to_handle_at(AT_FDCWD, arguments[0], &file.handle, &mount, 0) != 0)
        file.handle.handle_bytes = 8;
    int folder = open(arguments[0], O_RDONLY);
    return open_by_handle_at(folder, &file.handle, O_RDONLY);
}

static long try_device(char **arguments)
{
    (void)arguments;
    return mknod("/tmp/device", S_IFBLK | 0600, makedev(254, 0));
}

static long try_chmod_set_id(char **arguments)
{
    int file = open("lent", O_CREAT | O_RDWR, 0700);
    return file < 0 ? -1 : fchmod(file, (mode_t)number(arguments[0]));
}

static long try_open_set_id(char **arguments)
{
    return open("lent too", O_CREAT | O_EXCL | O_RDWR, (mode_t)number(arguments[0]));
}

static long try_openat2(char **arguments)
{
    uint64_t how[3] = {O_CREAT | O_RDWR, (uint64_t)number(arguments[0]), 0};
    return syscall(SYS_openat2, AT_FDCWD, "lent as well", how, sizeof how);
}

/* Types into a terminal that belongs to this process alone. */
static long try_type(char **arguments)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0)
        return -1;
    if (fork() != 0) {
        wait(NULL);
        _exit(0);
    }
    setsid();
    int terminal = open(ptsname(master), O_RDWR);
    if (terminal < 0)
        return -1;
    (void)ioctl(terminal, TIOCSCTTY, 0);
    char letter[16] = "\003x";
    return syscall(SYS_ioctl, terminal, (unsigned long)number(arguments[0]), letter);
}

static long try_core_limit(char **arguments)
{
    (void)arguments;
    struct rlimit limit = {0, 0};
    return setrlimit(RLIMIT_CORE, &limit);
}

const struct attack attacks_on_files[] = {
    {"write", 1, try_write},
    {"open-to-write", 1, try_open_to_write},
    {"open", 1, try_open},
    {"handle", 1, try_handle},
    {"device", 0, try_device},
    {"chmod-set-id", 1, try_chmod_set_id},
    {"open-set-id", 1, try_open_set_id},
    {"openat2", 1, try_openat2},
    {"type", 1, try_type},
    {"core-limit", 0, try_core_limit},
    {NULL, 0, NULL},
};
