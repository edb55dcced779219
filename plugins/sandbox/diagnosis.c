/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diagnosis.c: see diagnosis.h. Two tables: what bubblewrap says and what that means (failures), and the
 * switches that forbid namespaces (switches).
 */
#include "diagnosis.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------------------------
 * Switches of the system
 * --------------------------------------------------------------------------------------------- */

static const struct {
    const char *file;
    const char *name;
    long forbidding;
    const char *remedy;
} switches[] = {
    {"/proc/sys/kernel/unprivileged_userns_clone", "kernel.unprivileged_userns_clone", 0,
     "`sysctl -w kernel.unprivileged_userns_clone=1` as root allows it"},
    {"/proc/sys/user/max_user_namespaces", "user.max_user_namespaces", 0,
     "`sysctl -w user.max_user_namespaces=15000` as root allows it"},
    {"/proc/sys/user/max_mnt_namespaces", "user.max_mnt_namespaces", 0,
     "`sysctl -w user.max_mnt_namespaces=15000` as root allows it"},
    {"/proc/sys/user/max_pid_namespaces", "user.max_pid_namespaces", 0,
     "`sysctl -w user.max_pid_namespaces=15000` as root allows it"},
    {"/proc/sys/user/max_net_namespaces", "user.max_net_namespaces", 0,
     "`sysctl -w user.max_net_namespaces=15000` as root allows it"},
    {"/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
     "kernel.apparmor_restrict_unprivileged_userns", 1,
     "an AppArmor profile for bwrap with the rule `userns,` allows it (the package "
     "apparmor-profiles "
     "has one: bwrap-userns-restrict), or `sysctl -w "
     "kernel.apparmor_restrict_unprivileged_userns=0` as root does for all programs"},
};

static bool read_number(const char *path, long *number)
{
    char text[32];
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    if (length <= 0)
        return false;
    text[length] = '\0';
    *number = strtol(text, NULL, 10);
    return true;
}

/* Whether a seccomp filter is on this process, as on one in a container. */
static bool is_filtered(void)
{
    bool filtered = false;
    char line[256];
    FILE *file = fopen("/proc/self/status", "re");
    while (file && !filtered && fgets(line, sizeof line, file))
        filtered = strncmp(line, "Seccomp:\t2", 10) == 0;
    if (file)
        fclose(file);
    return filtered;
}

static bool is_container(void)
{
    return access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0;
}

static void append_namespace_advice(code_executor_error *error, int32_t status)
{
    for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++) {
        long value = 0;
        if (read_number(switches[i].file, &value) && value == switches[i].forbidding) {
            error_append(error, status, ". In the way is the sysctl %s = %ld; %s", switches[i].name,
                         value, switches[i].remedy);
            return;
        }
    }
    if (is_filtered())
        error_append(
            error, status,
            ". In the way is most likely the seccomp profile that this process runs under, "
            "as in a container; `docker run --security-opt seccomp=unconfined`, or a profile "
            "that allows clone and unshare with CLONE_NEWUSER, and mount, lifts it");
    else
        error_append(error, status,
                     ". No sysctl forbids it; look for a security profile (AppArmor, SELinux) of "
                     "this process, and at `dmesg` for what it denied");
}

static void append_proc_advice(code_executor_error *error, int32_t status)
{
    error_append(
        error, status,
        ". The kernel lets a sandbox have a /proc of its own only where all of the present "
        "one is visible%s: `docker run --security-opt systempaths=unconfined` (Podman: "
        "`--security-opt unmask=ALL`) uncovers it",
        is_container() ? ", and this container covers parts of it" : "");
}

static void append_version_advice(code_executor_error *error, int32_t status)
{
    error_append(error, status,
                 ". This bubblewrap is too old: 0.7 or later is needed (Debian 12, Ubuntu 24.04, "
                 "Fedora 37)");
}

static void append_bind_advice(code_executor_error *error, int32_t status)
{
    error_append(error, status, ". See bind_ro and bind_rw in the configuration, and work_dir");
}

static void append_nothing(code_executor_error *error, int32_t status)
{
    (void)error;
    (void)status;
}

/* ------------------------------------------------------------------------------------------------
 * What was said
 * --------------------------------------------------------------------------------------------- */

/* The first row whose words occur counts. */
static const struct {
    const char *words;
    int32_t status;
    void (*append_advice)(code_executor_error *error, int32_t status);
} failures[] = {
    {"Unknown option", CODE_EXECUTOR_UNSUPPORTED, append_version_advice},
    {"mount proc on", CODE_EXECUTOR_DENIED, append_proc_advice},
    {"Can't find source path", CODE_EXECUTOR_INVALID, append_bind_advice},
    {"Can't mkdir", CODE_EXECUTOR_INVALID, append_bind_advice},
    {"Can't create file", CODE_EXECUTOR_INVALID, append_bind_advice},
    {"Can't get type of source", CODE_EXECUTOR_INVALID, append_bind_advice},
    {"namespace", CODE_EXECUTOR_DENIED, append_namespace_advice},
    {"uid map", CODE_EXECUTOR_DENIED, append_namespace_advice},
    {"gid map", CODE_EXECUTOR_DENIED, append_namespace_advice},
    {"loopback", CODE_EXECUTOR_DENIED, append_namespace_advice},
    {"Operation not permitted", CODE_EXECUTOR_DENIED, append_namespace_advice},
    {"Permission denied", CODE_EXECUTOR_DENIED, append_nothing},
    {"", CODE_EXECUTOR_UNAVAILABLE, append_nothing},
};

int32_t diagnose_failure(const char *words, code_executor_error *error)
{
    size_t i = 0;
    while (!strstr(words, failures[i].words))
        i++;
    int32_t status = failures[i].status;
    error_set(error, status, "cannot start the sandbox: %s",
              *words ? words : "bubblewrap ended without a word");
    failures[i].append_advice(error, status);
    return status;
}

int32_t diagnose_missing(const char *path, code_executor_error *error)
{
    return error_set(
        error, CODE_EXECUTOR_UNAVAILABLE,
        "cannot start the sandbox: bubblewrap is needed, and there is no program bwrap "
        "in %s. `apt-get install bubblewrap`, `dnf install bubblewrap`, `apk add "
        "bubblewrap` or `pacman -S bubblewrap` installs it",
        path);
}
