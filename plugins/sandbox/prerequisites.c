/* SPDX-License-Identifier: Apache-2.0 */
/* prerequisites.c: see prerequisites.h. */
#include "prerequisites.h"

#include "diagnosis.h"
#include "workspace_folder.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_program(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

/* The path of bwrap. Parts of PATH that are not absolute are passed over: they would mean whatever lies
 * in the folder of the moment, such as a workspace. */
static int32_t find_bubblewrap(const char *configured, char path[PATH_MAX],
                               code_executor_error *error)
{
    if (configured) {
        snprintf(path, PATH_MAX, "%s", configured);
        return is_program(path) ? CODE_EXECUTOR_OK
                                : diagnose_missing("bwrap names no program: ", path, error);
    }
    const char *folders = getenv("PATH");
    if (!folders || !*folders)
        folders = "/usr/local/bin:/usr/bin:/bin";
    for (const char *at = folders; *at;) {
        int length = (int)strcspn(at, ":");
        if (*at == '/' && snprintf(path, PATH_MAX, "%.*s/bwrap", length, at) < PATH_MAX &&
            is_program(path))
            return CODE_EXECUTOR_OK;
        at += length;
        at += *at == ':';
    }
    return diagnose_missing("there is no bwrap in ", folders, error);
}

/* The program beside the runner. */
static int32_t find_enter(const launch_context *context, char path[PATH_MAX],
                          code_executor_error *error)
{
    const char *slash = strrchr(context->runner_path, '/');
    int length = slash ? (int)(slash - context->runner_path) : 0;
    int room = snprintf(path, PATH_MAX, "%.*s/sandbox_enter", length, context->runner_path);
    if (room < PATH_MAX && is_program(path))
        return CODE_EXECUTOR_OK;
    return error_set(error, CODE_EXECUTOR_UNAVAILABLE,
                     "cannot start the sandbox: %s is missing, a part of this plugin", path);
}

static bool is_beneath(const char *path, const char *folder)
{
    size_t length = strcmp(folder, "/") == 0 ? 0 : strlen(folder);
    return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

/*
 * Attack: the code is given the folder that the workspace lies in, and puts something else in its place. A link
 * is never followed (workspace.h, and look_at_workspace for the moment of a start), so that this leads to
 * nothing that was not given; but the files that the host expects there may be gone.
 */
static void warn_of_bind_above(const sandbox_bind *bind, const launch_context *context)
{
    char source[PATH_MAX];
    if (bind->writable && realpath(bind->source, source) &&
        strcmp(source, context->work_dir) != 0 && is_beneath(context->work_dir, source))
        launch_log(
            context, CODE_EXECUTOR_LOG_WARNING,
            "bind_rw: the workspace lies in %s, so that code can move it away and put another "
            "folder in its place",
            bind->source);
}

/* File systems that are no files, but the kernel: settings, processes, devices. */
static const char *const kernel_types[] = {
    "proc",        "sysfs",     "cgroup",  "cgroup2",  "debugfs",    "tracefs", "securityfs",
    "configfs",    "bpf",       "pstore",  "efivarfs", "fusectl",    "devpts",  "devtmpfs",
    "binfmt_misc", "selinuxfs", "resctrl", "nfsd",     "rpc_pipefs", "mqueue",
};

static bool is_kernel_type(const char *type)
{
    for (size_t i = 0; i < sizeof kernel_types / sizeof kernel_types[0]; i++)
        if (strcmp(kernel_types[i], type) == 0)
            return true;
    return false;
}

/* A mount of the kernel's that FOLDER, without links, holds or lies in; or NULL. */
static const mount_entry *find_kernel_mount(const mount_list *mounts, const char *folder)
{
    const mount_entry *nearest = NULL; /* of those above; of several in one place the last */
    for (size_t i = 0; i < mounts->count; i++) {
        const mount_entry *mount = &mounts->entries[i];
        if (is_kernel_type(mount->type) && is_beneath(mount->place, folder))
            return mount;
        if (is_beneath(folder, mount->place) &&
            (!nearest || strlen(mount->place) >= strlen(nearest->place)))
            nearest = mount;
    }
    return nearest && is_kernel_type(nearest->type) ? nearest : NULL;
}

/*
 * Attack: as root the code writes to kernel.core_pattern of the host, through a workspace (or a bind_rw) that
 * holds the host's /proc: "/" does, and so does the root of another system where somebody mounted one. What is
 * given to be written must be files.
 */
static int32_t check_writable(const mount_list *mounts, const char *key, const char *path,
                              code_executor_error *error)
{
    char folder[PATH_MAX];
    const mount_entry *kernels = realpath(path, folder) ? find_kernel_mount(mounts, folder) : NULL;
    if (!kernels)
        return CODE_EXECUTOR_OK;
    return error_set(
        error, CODE_EXECUTOR_INVALID,
        "%s: %s cannot be given to code that may do harm: it %s %s, which is no files but "
        "the kernel (%s)",
        key, path, is_beneath(kernels->place, folder) ? "holds" : "lies in", kernels->place,
        kernels->type);
}

static int32_t check_binds(const sandbox_options *options, const launch_context *context,
                           const mount_list *mounts, code_executor_error *error)
{
    for (size_t i = 0; i < options->bind_count; i++) {
        const sandbox_bind *bind = &options->binds[i];
        if (access(bind->source, F_OK) != 0)
            return error_set_errno(error, CODE_EXECUTOR_INVALID, errno, "%s: cannot show %s inside",
                                   bind->writable ? "bind_rw" : "bind_ro", bind->source);
        int32_t status = bind->writable ? check_writable(mounts, "bind_rw", bind->source, error)
                                        : CODE_EXECUTOR_OK;
        if (status != CODE_EXECUTOR_OK)
            return status;
        warn_of_bind_above(bind, context);
    }
    return check_writable(mounts, "work_dir", context->work_dir, error);
}

/*
 * Attack: another sandbox, which was given the folder that this workspace lies in, puts a link in its place while
 * this one starts, and bubblewrap, who follows links, shows whatever it leads to, writable. So
 * sandbox_enter compares what it finds with what is seen here without following one.
 */
static int32_t look_at_workspace(const char *work_dir, prerequisites *found,
                                 code_executor_error *error)
{
    struct stat status = {0};
    int folder = workspace_folder_open(work_dir, false);
    int errnum = folder < 0 || fstat(folder, &status) != 0 ? errno : 0;
    if (folder >= 0)
        close(folder);
    found->work_dir_device = (uint64_t)status.st_dev;
    found->work_dir_inode = (uint64_t)status.st_ino;
    return errnum ? error_set_errno(error, CODE_EXECUTOR_IO, errnum,
                                    "cannot look at the workspace %s", work_dir)
                  : CODE_EXECUTOR_OK;
}

int32_t prerequisites_find(const sandbox_options *options, const launch_context *context,
                           prerequisites *found, code_executor_error *error)
{
    mount_list_read(&found->mounts, MOUNT_LIST_FILE);
    int32_t status = check_binds(options, context, &found->mounts, error);
    if (status == CODE_EXECUTOR_OK)
        status = find_bubblewrap(options->bubblewrap, found->bubblewrap, error);
    if (status == CODE_EXECUTOR_OK)
        status = find_enter(context, found->enter, error);
    if (status == CODE_EXECUTOR_OK)
        status = look_at_workspace(context->work_dir, found, error);
    return status;
}

void prerequisites_free(prerequisites *found)
{
    mount_list_free(&found->mounts);
}
