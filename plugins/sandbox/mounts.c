/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mounts.c: what sandboxed code sees of the file system.
 *
 *     /                    empty, in memory, read-only
 *     /usr /bin /lib …     the host's, read-only
 *     /etc                 a few files and folders of the host's that everybody may read and programs
 *                          need, read-only; passwd, group, hosts, nsswitch.conf of our own making
 *     /proc                of its own processes alone, read-only
 *     /dev                 null, zero, full, random, urandom, tty, terminals; shm, private, in memory
 *     /tmp /home/sandbox   private, in memory, of a size
 *     /workspace           the workspace, writable
 *     bind_ro, bind_rw     what the configuration asks for
 *     /run/code_executor   the two programs that start everything, read-only
 *
 * Invariants. Nothing of the host is here that is not named here. Nothing is writable that is not of a
 * limited size or the user's own choice; no mount but the devices' takes a device for one, and none takes
 * a set-user-ID bit for one (bubblewrap mounts all with nodev and nosuid).
 *
 * Each mount costs bubblewrap a tenth of a millisecond or two (it reads the whole table of mounts after
 * each), so single files are copied, which costs less.
 */
#include "command.h"
#include "fork_guard.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_MOST ((off_t)4 * 1024 * 1024)

/* The programs and libraries of the system. Where /bin and the like are links into /usr they become
 * links inside. Debian keeps the package list of its Haskell compiler in /var. */
static const char *const system_folders[] = {
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/var/lib/ghc",
};

/* What the programs of /usr need of /etc. */
static const char *const settings[] = {
    /* which of several programs a name means; where libraries lie; the time zone; the system */
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/os-release",
    "/etc/protocols",
    "/etc/services",
    /* settings of libraries and interpreters, without which they fail or miss their parts */
    "/etc/ssl/openssl.cnf",
    "/etc/pki/tls/openssl.cnf",
    "/etc/crypto-policies",
    "/etc/fonts",
    "/etc/php",
    "/etc/R",
    "/etc/julia",
    "/etc/mono",
    "/etc/dotnet",
};

/* The same, where a number or the like is part of the name: how names in /etc begin. */
static const char *const numbered_settings[] = {"ld-musl-", "java-"};

/* With the host's network: the way to names, and certificates (never the private keys beside them). */
static const char *const network_settings[] = {
    "/etc/resolv.conf",     "/etc/gai.conf",      "/etc/ssl/certs",
    "/etc/ca-certificates", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted",
};

/* Files of /proc that root may read without a capability, and that tell of all of the machine's memory.
 * Others may not read them, and need no cover. */
static const char *const kernel_files[] = {
    "/proc/kpagecount", "/proc/kpageflags",  "/proc/kpagecgroup",
    "/proc/slabinfo",   "/proc/vmallocinfo", "/proc/timer_list",
};

static const char passwd[] = "root:x:0:0:root:/root:/bin/sh\n"
                             "sandbox:x:1000:1000:sandbox:" SANDBOX_HOME ":/bin/sh\n"
                             "nobody:x:65534:65534:nobody:/:/bin/false\n";
static const char group[] = "root:x:0:\nsandbox:x:1000:\nnogroup:x:65534:\n";
static const char nsswitch[] = "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n"
                               "networks: files\nprotocols: files\nservices: files\n";
static const char hosts[] = "127.0.0.1\tlocalhost sandbox\n"
                            "::1\tlocalhost ip6-localhost ip6-loopback sandbox\n";

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ------------------------------------------------------------------------------------------------
 * The host's
 * --------------------------------------------------------------------------------------------- */

static void add_system_folder(command_line *built, const char *path)
{
    struct stat status;
    char target[PATH_MAX];
    if (lstat(path, &status) != 0)
        return;
    if (S_ISLNK(status.st_mode)) {
        ssize_t length = readlink(path, target, sizeof target - 1);
        if (length <= 0)
            return;
        target[length] = '\0';
        command_add(built, "--symlink", target, path, NULL);
    } else if (S_ISDIR(status.st_mode)) {
        command_add(built, "--ro-bind", path, path, NULL);
    }
}

static void copy_bytes(command_line *built, const char *path, const void *bytes, size_t length)
{
    command_add(built, "--perms", "0444", NULL);
    command_add_bytes(built, "--file", bytes, length);
    command_add(built, path, NULL);
}

/* Copies FILE to PATH inside. What is too large to be a setting, or cannot be read, is left out. */
static void copy_file(command_line *built, const char *file, const char *path, off_t size)
{
    if (size > COPY_MOST || access(file, R_OK) != 0)
        return;
    command_add(built, "--perms", "0444", NULL);
    command_add_file(built, "--file", file);
    command_add(built, path, NULL);
}

/* The host's names, and the sandbox's own. */
static void copy_hosts(command_line *built)
{
    static const char own[] = "\n127.0.0.1\tsandbox\n";
    char *bytes = NULL;
    struct stat status;
    int file = open("/etc/hosts", O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t length = 0;
    if (file >= 0 && fstat(file, &status) == 0 && status.st_size <= COPY_MOST)
        bytes = malloc((size_t)status.st_size + sizeof own);
    if (bytes)
        length = read(file, bytes, (size_t)status.st_size);
    if (bytes && length >= 0) {
        memcpy(bytes + length, own, sizeof own);
        copy_bytes(built, "/etc/hosts", bytes, (size_t)length + sizeof own - 1);
    }
    free(bytes);
    if (file >= 0)
        close(file);
}

/*
 * One file, folder or link of /etc. Attack: a host that runs as root could show what only root may read,
 * such as keys that somebody keeps in one of these folders. So what others may not read is left out; and
 * inside a folder, root's sandbox has no capability to read against the permissions of another owner.
 */
static void add_setting(command_line *built, const char *path)
{
    struct stat status;
    char target[PATH_MAX];
    bool is_link = lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
    if (is_link && !realpath(path, target))
        return;
    const char *source = is_link ? target : path;
    if (stat(source, &status) != 0 || !(status.st_mode & S_IROTH))
        return;
    if (is_link && strncmp(target, "/usr/", 5) == 0)
        command_add(built, "--symlink", target, path, NULL);
    else if (S_ISDIR(status.st_mode) && (status.st_mode & S_IXOTH))
        command_add(built, "--ro-bind", source, path, NULL);
    else if (S_ISREG(status.st_mode))
        copy_file(built, source, path, status.st_size);
}

static void add_settings(command_line *built, const char *const *paths, size_t count)
{
    for (size_t i = 0; i < count; i++)
        add_setting(built, paths[i]);
}

static void add_numbered_settings(command_line *built)
{
    DIR *folder = opendir("/etc");
    for (struct dirent *entry = folder ? readdir(folder) : NULL; entry; entry = readdir(folder))
        for (size_t i = 0; i < COUNT(numbered_settings); i++)
            if (strncmp(entry->d_name, numbered_settings[i], strlen(numbered_settings[i])) == 0) {
                char path[sizeof "/etc/" + NAME_MAX];
                snprintf(path, sizeof path, "/etc/%s", entry->d_name);
                add_setting(built, path);
            }
    if (folder)
        closedir(folder);
}

static void add_etc(command_line *built, const sandbox_options *options)
{
    command_add(built, "--perms", "0755", "--dir", "/etc", NULL);
    command_add(built, "--perms", "0755", "--dir", "/etc/ssl", NULL);
    add_settings(built, settings, COUNT(settings));
    add_numbered_settings(built);
    copy_bytes(built, "/etc/passwd", passwd, sizeof passwd - 1);
    copy_bytes(built, "/etc/group", group, sizeof group - 1);
    copy_bytes(built, "/etc/nsswitch.conf", nsswitch, sizeof nsswitch - 1);
    if (options->host_network) {
        add_settings(built, network_settings, COUNT(network_settings));
        copy_hosts(built);
    } else {
        copy_bytes(built, "/etc/hosts", hosts, sizeof hosts - 1);
    }
}

/* ------------------------------------------------------------------------------------------------
 * The sandbox's own
 * --------------------------------------------------------------------------------------------- */

static void add_memory_folder(command_line *built, const char *mode, const char *path,
                              uint64_t size)
{
    command_add(built, "--perms", mode, NULL);
    command_add_number(built, "--size", size);
    command_add(built, "--tmpfs", path, NULL);
}

/*
 * Attack: the machine's root owns the files of /proc/sys, and the kernel asks for no capability to write
 * them. Without the last line a sandbox that root starts could put a program of its own into
 * kernel.core_pattern, which the kernel then runs as root, outside of everything.
 */
static void add_proc(command_line *built)
{
    command_add(built, "--proc", "/proc", NULL);
    for (size_t i = 0; geteuid() == 0 && i < COUNT(kernel_files); i++)
        if (access(kernel_files[i], F_OK) == 0)
            command_add(built, "--ro-bind", "/dev/null", kernel_files[i], NULL);
    command_add(built, "--remount-ro", "/proc", NULL);
}

static void copy_program(command_line *built, const char *file, const char *path)
{
    command_add(built, "--perms", "0555", NULL);
    command_add_file(built, "--file", file);
    command_add(built, path, NULL);
}

/* The runner looks for the count of its out-of-memory kills where a container has it (memory_events.c);
 * read-only, for the machine's root could else lift the limits. */
static void add_cgroup(command_line *built, const cgroup *limits)
{
    const struct cgroup_folder *folder = limits->of[CGROUP_MEMORY];
    if (folder)
        command_add(built, "--ro-bind", folder->path,
                    folder->version == 2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory", NULL);
}

void mounts_add(command_line *built, const sandbox_options *options, const command_parts *parts)
{
    for (size_t i = 0; i < COUNT(system_folders); i++)
        add_system_folder(built, system_folders[i]);
    add_etc(built, options);
    add_proc(built);
    command_add(built, "--dev", "/dev", NULL);
    add_memory_folder(built, "1777", "/dev/shm", options->tmpfs_bytes);
    add_memory_folder(built, "1777", "/tmp", options->tmpfs_bytes);
    add_memory_folder(built, "0700", SANDBOX_HOME, options->tmpfs_bytes);
    add_cgroup(built, parts->group);
    command_add(built, "--bind", parts->work_dir, SANDBOX_WORKSPACE, NULL);
    for (size_t i = 0; i < options->bind_count; i++) {
        const sandbox_bind *bind = &options->binds[i];
        command_add(built, bind->writable ? "--bind" : "--ro-bind", bind->source, bind->destination,
                    NULL);
    }
    copy_program(built, parts->found->enter, SANDBOX_PROGRAMS "/enter");
    copy_program(built, parts->runner, SANDBOX_PROGRAMS "/runner");
    /* Attack: filling the machine's memory through a folder in memory that has no size. */
    command_add(built, "--remount-ro", "/dev", "--remount-ro", "/", NULL);
}
