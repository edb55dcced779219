/* SPDX-License-Identifier: Apache-2.0 */
/* namespaces.c: mounts, namespaces. See attack.h. */
#include "attack.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static long try_mount(char **arguments)
{
    (void)arguments;
    return mount("none", "/tmp", "tmpfs", 0, NULL);
}

static long try_mount_proc(char **arguments)
{
    (void)arguments;
    return mount("proc", "/tmp", "proc", 0, NULL);
}

static long try_umount(char **arguments)
{
    return umount2(arguments[0], MNT_DETACH);
}

static long try_pivot_root(char **arguments)
{
    (void)arguments;
    return syscall(SYS_pivot_root, "/tmp", "/tmp");
}

static long try_chroot(char **arguments)
{
    (void)arguments;
    return chroot("/tmp");
}

static long try_open_tree(char **arguments)
{
    (void)arguments;
    return syscall(SYS_open_tree, AT_FDCWD, "/", 1 /* OPEN_TREE_CLONE */);
}

static long try_fsopen(char **arguments)
{
    (void)arguments;
    return syscall(SYS_fsopen, "tmpfs", 0);
}

static long try_move_mount(char **arguments)
{
    (void)arguments;
    return syscall(SYS_move_mount, AT_FDCWD, "/tmp", AT_FDCWD, "/usr", 0);
}

static long try_unshare(char **arguments)
{
    return unshare((int)number(arguments[0]));
}

static long try_clone(char **arguments)
{
    long child = syscall(SYS_clone, number(arguments[0]) | SIGCHLD, 0, 0, 0, 0);
    if (child == 0)
        _exit(0);
    if (child > 0)
        waitpid((pid_t)child, NULL, 0);
    return child;
}

static long try_clone3(char **arguments)
{
    uint64_t request[11] = {(uint64_t)number(arguments[0]), 0, 0, 0, SIGCHLD};
    long child = syscall(SYS_clone3, request, sizeof request);
    if (child == 0)
        _exit(0);
    if (child > 0)
        waitpid((pid_t)child, NULL, 0);
    return child;
}

static long try_setns(char **arguments)
{
    (void)arguments;
    int file = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC);
    return file < 0 ? -1 : setns(file, 0);
}

const struct attack attacks_on_namespaces[] = {
    {"mount", 0, try_mount},
    {"mount-proc", 0, try_mount_proc},
    {"umount", 1, try_umount},
    {"pivot-root", 0, try_pivot_root},
    {"chroot", 0, try_chroot},
    {"open-tree", 0, try_open_tree},
    {"fsopen", 0, try_fsopen},
    {"move-mount", 0, try_move_mount},
    {"unshare", 1, try_unshare},
    {"clone", 1, try_clone},
    {"clone3", 1, try_clone3},
    {"setns", 0, try_setns},
    {NULL, 0, NULL},
};
