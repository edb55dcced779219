/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diagnosis.c: see diagnosis.h. Two tables: what bubblewrap says and what that means (failures), and the
 * switches that forbid namespaces (switches).
 */
#include "diagnosis.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------------
 * Switches of the system
 * --------------------------------------------------------------------------------------------- */

static const struct {
    const char *file;
    const char *name;
    long forbidding;
    bool spares_the_privileged; /* who may make namespaces without a user namespace */
    const char *remedy;
} switches[] = {
    {"/proc/sys/kernel/unprivileged_userns_clone", "kernel.unprivileged_userns_clone", 0, true,
     "`sysctl -w kernel.unprivileged_userns_clone=1` as root allows it"},
    {"/proc/sys/user/max_user_namespaces", "user.max_user_namespaces", 0, false,
     "`sysctl -w user.max_user_namespaces=15000` as root allows it"},
    {"/proc/sys/user/max_mnt_namespaces", "user.max_mnt_namespaces", 0, false,
     "`sysctl -w user.max_mnt_namespaces=15000` as root allows it"},
    {"/proc/sys/user/max_pid_namespaces", "user.max_pid_namespaces", 0, false,
     "`sysctl -w user.max_pid_namespaces=15000` as root allows it"},
    {"/proc/sys/user/max_net_namespaces", "user.max_net_namespaces", 0, false,
     "`sysctl -w user.max_net_namespaces=15000` as root allows it"},
    {"/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
     "kernel.apparmor_restrict_unprivileged_userns", 1, true,
     "an AppArmor profile for the bwrap program with the rule `userns,` allows it (the package "
     "apparmor-profiles has one, bwrap-userns-restrict, to be copied from "
     "/usr/share/apparmor/extra-profiles to /etc/apparmor.d and loaded with `apparmor_parser -r`), "
     "or `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0` as root does for all programs"},
};

/* PATH beneath ROOT, opened for reading; NULL where there is none. */
static FILE *open_beneath(const char *root, const char *path)
{
    char whole[PATH_MAX];
    int length = snprintf(whole, sizeof whole, "%s%s", root, path);
    return length > 0 && (size_t)length < sizeof whole ? fopen(whole, "re") : NULL;
}

static bool is_there(const char *root, const char *path)
{
    FILE *file = open_beneath(root, path);
    if (file)
        fclose(file);
    return file != NULL;
}

static bool read_number(const char *root, const char *path, long *number)
{
    FILE *file = open_beneath(root, path);
    bool found = file && fscanf(file, "%ld", number) == 1;
    if (file)
        fclose(file);
    return found;
}

/* What the kernel tells of this process. */
struct standing {
    bool filtered;   /* a seccomp filter is on it, as on one in a container */
    bool privileged; /* CAP_SYS_ADMIN, by which it may make namespaces of all kinds */
};

static struct standing read_standing(const char *root)
{
    enum { FILTER_MODE = 2, SYS_ADMIN = 21 };
    struct standing standing = {false, false};
    FILE *file = open_beneath(root, "/proc/self/status");
    char line[256];
    while (file && fgets(line, sizeof line, file)) {
        unsigned long long capabilities = 0;
        int mode = 0;
        if (sscanf(line, "CapEff: %llx", &capabilities) == 1)
            standing.privileged = capabilities >> SYS_ADMIN & 1;
        if (sscanf(line, "Seccomp: %d", &mode) == 1)
            standing.filtered = mode == FILTER_MODE;
    }
    if (file)
        fclose(file);
    return standing;
}

/* Names the switch that is in the way, if one is. */
static bool append_switch(const char *root, code_executor_error *error, int32_t status)
{
    bool privileged = read_standing(root).privileged;
    for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++) {
        long value = 0;
        if (!(switches[i].spares_the_privileged && privileged) &&
            read_number(root, switches[i].file, &value) && value == switches[i].forbidding) {
            error_append(error, status, ". In the way is the sysctl %s = %ld; %s", switches[i].name,
                         value, switches[i].remedy);
            return true;
        }
    }
    return false;
}

static void append_switch_advice(const char *root, code_executor_error *error, int32_t status)
{
    (void)append_switch(root, error, status);
}

static void append_namespace_advice(const char *root, code_executor_error *error, int32_t status)
{
    if (append_switch(root, error, status))
        return;
    if (read_standing(root).filtered)
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

static void append_proc_advice(const char *root, code_executor_error *error, int32_t status)
{
    bool contained = is_there(root, "/.dockerenv") || is_there(root, "/run/.containerenv");
    error_append(
        error, status,
        ". The kernel lets a sandbox have a /proc of its own only where all of the present "
        "one is visible%s: `docker run --security-opt systempaths=unconfined` (Podman: "
        "`--security-opt unmask=ALL`) uncovers it",
        contained ? ", and this container covers parts of it" : "");
}

static void append_version_advice(const char *root, code_executor_error *error, int32_t status)
{
    (void)root;
    error_append(error, status,
                 ". This bubblewrap is too old: 0.7 or later is needed (Debian 12, Ubuntu 24.04, "
                 "Fedora 37)");
}

static void append_set_user_id_advice(const char *root, code_executor_error *error, int32_t status)
{
    (void)root;
    error_append(
        error, status,
        ". This bubblewrap is set-user-ID root, and then refuses what the sandbox needs; take "
        "the bit off (`chmod u-s` as root), or name a copy without it by the key bwrap");
}

static void append_capability_advice(const char *root, code_executor_error *error, int32_t status)
{
    (void)root;
    error_append(error, status,
                 ". bubblewrap refuses to run for a user other than root who has capabilities; "
                 "start this process without ambient ones, and bwrap without any on its file");
}

static void append_bind_advice(const char *root, code_executor_error *error, int32_t status)
{
    (void)root;
    error_append(error, status, ". See bind_ro and bind_rw in the configuration, and work_dir");
}

static void append_nothing(const char *root, code_executor_error *error, int32_t status)
{
    (void)root;
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
    void (*append_advice)(const char *root, code_executor_error *error, int32_t status);
} failures[] = {
    {"Unknown option", CODE_EXECUTOR_UNSUPPORTED, append_version_advice},
    {"setuid mode", CODE_EXECUTOR_UNSUPPORTED, append_set_user_id_advice},
    {"Unexpected capabilities", CODE_EXECUTOR_DENIED, append_capability_advice},
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
    {"/ slave", CODE_EXECUTOR_DENIED, append_namespace_advice},
    {"Permission denied", CODE_EXECUTOR_DENIED, append_switch_advice},
    {"", CODE_EXECUTOR_UNAVAILABLE, append_nothing},
};

int32_t diagnose_failure(const char *root, const char *words, code_executor_error *error)
{
    size_t i = 0;
    while (!strstr(words, failures[i].words))
        i++;
    int32_t status = failures[i].status;
    error_set(error, status, "cannot start the sandbox: %s",
              *words ? words : "bubblewrap ended without a word");
    failures[i].append_advice(root, error, status);
    return status;
}

int32_t diagnose_missing(const char *what, const char *where, code_executor_error *error)
{
    return error_set(error, CODE_EXECUTOR_UNAVAILABLE,
                     "cannot start the sandbox: bubblewrap is needed, and %s%s. `apt-get install "
                     "bubblewrap`, `dnf install bubblewrap`, `apk add "
                     "bubblewrap` or `pacman -S bubblewrap` installs it",
                     what, where);
}
