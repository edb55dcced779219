/* SPDX-License-Identifier: Apache-2.0 */
/*
 * labels.c: makes and reads the labels; see labels.h.
 */
#include "labels.h"
#include "json.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define LABEL_BOOT          "code-executor.boot"
#define LABEL_PID_NAMESPACE "code-executor.pid-namespace"
#define LABEL_PID           "code-executor.pid"
#define LABEL_START_TIME    "code-executor.start-time"

bool labels_random_id(char id[LAUNCH_ID_SIZE])
{
    unsigned char bytes[(LAUNCH_ID_SIZE - 1) / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return false;
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(id + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

/* ---- who this is ------------------------------------------------------------------------------- */

/* The file's text without a line break at its end; "" where it cannot be read. */
static void read_text(const char *path, char *text, size_t size)
{
    ssize_t length = -1;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        length = read(file, text, size - 1);
        close(file);
    }
    text[length > 0 ? length : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
}

static void read_boot(char *boot, size_t size)
{
    read_text("/proc/sys/kernel/random/boot_id", boot, size);
}

static void read_pid_namespace(char *number, size_t size)
{
    struct stat status;
    number[0] = '\0';
    if (stat("/proc/self/ns/pid", &status) == 0)
        snprintf(number, size, "%llu", (unsigned long long)status.st_ino);
}

/* Field 22 of /proc/PID/stat; the second one may hold anything, blanks and parentheses included. */
static void read_start_time(long pid, char *time, size_t size)
{
    char path[64], stat[1024];
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    read_text(path, stat, sizeof stat);
    time[0] = '\0';
    const char *field = strrchr(stat, ')');
    for (int i = 2; field && i < 22; i++)
        field = strchr(field + 1, ' ');
    if (field)
        snprintf(time, size, "%.*s", (int)strcspn(field + 1, " "), field + 1);
}

json_object *labels_new(const char *launch_id, const char *role, bool keep)
{
    char boot[64], pid_namespace[32], pid[32], start_time[32];
    read_boot(boot, sizeof boot);
    read_pid_namespace(pid_namespace, sizeof pid_namespace);
    read_start_time(getpid(), start_time, sizeof start_time);
    snprintf(pid, sizeof pid, "%ld", (long)getpid());
    json_object *labels = json_object_new_object();
    bool whole = labels && json_put_string(labels, LABEL_PROJECT, PROJECT) &&
                 json_put_string(labels, LABEL_ROLE, role) &&
                 (!keep || json_put_string(labels, LABEL_KEEP, "true"));
    if (whole && launch_id)
        whole = json_put_string(labels, LABEL_LAUNCH, launch_id) &&
                json_put_string(labels, LABEL_BOOT, boot) &&
                json_put_string(labels, LABEL_PID_NAMESPACE, pid_namespace) &&
                json_put_string(labels, LABEL_PID, pid) &&
                json_put_string(labels, LABEL_START_TIME, start_time);
    if (!whole) {
        json_object_put(labels);
        return NULL;
    }
    return labels;
}

/* ---- who that was ------------------------------------------------------------------------------ */

/* {"label": ["NAME=VALUE", …]} from pairs, ended by a NULL. */
static json_object *filter(const char *const *pairs)
{
    json_object *filters = json_object_new_object();
    json_object *list = filters ? json_put_array(filters, "label") : NULL;
    bool whole = list != NULL;
    for (; whole && pairs[0]; pairs += 2) {
        char text[256];
        snprintf(text, sizeof text, "%s=%s", pairs[0], pairs[1]);
        whole = json_append_string(list, text);
    }
    if (!whole) {
        json_object_put(filters);
        return NULL;
    }
    return filters;
}

json_object *labels_filter_neighbours(void)
{
    char boot[64], pid_namespace[32];
    read_boot(boot, sizeof boot);
    read_pid_namespace(pid_namespace, sizeof pid_namespace);
    if (!boot[0] || !pid_namespace[0])
        return NULL;
    return filter((const char *const[]){LABEL_PROJECT, PROJECT, LABEL_BOOT, boot,
                                        LABEL_PID_NAMESPACE, pid_namespace, NULL});
}

json_object *labels_filter_launch(const char *launch_id)
{
    return filter((const char *const[]){LABEL_PROJECT, PROJECT, LABEL_LAUNCH, launch_id, NULL});
}

json_object *labels_filter_all(void)
{
    return filter((const char *const[]){LABEL_PROJECT, PROJECT, NULL});
}

/* A process that cannot be looked at (/proc mounted with hidepid) counts as alive. */
static bool process_is_gone(long pid, const char *start_time)
{
    char now[32];
    if (kill((pid_t)pid, 0) != 0 && errno == ESRCH)
        return true;
    read_start_time(pid, now, sizeof now);
    return now[0] && strcmp(now, start_time) != 0;
}

/* 0 where the label makes no sense. */
static long labelled_pid(json_object *labels)
{
    const char *text = json_string(labels, LABEL_PID);
    long pid = text ? strtol(text, NULL, 10) : 0;
    return pid > 0 && pid <= INT32_MAX ? pid : 0;
}

static bool is_gone(json_object *labels)
{
    const char *start_time = json_string(labels, LABEL_START_TIME);
    long pid = labelled_pid(labels);
    return pid > 0 && start_time && start_time[0] && process_is_gone(pid, start_time);
}

bool labels_left_behind(json_object *labels)
{
    return !json_string(labels, LABEL_KEEP) && is_gone(labels);
}

static bool is_neighbour(json_object *labels)
{
    char boot[64], pid_namespace[32];
    const char *its_boot = json_string(labels, LABEL_BOOT);
    const char *its_namespace = json_string(labels, LABEL_PID_NAMESPACE);
    read_boot(boot, sizeof boot);
    read_pid_namespace(pid_namespace, sizeof pid_namespace);
    return boot[0] && pid_namespace[0] && its_boot && its_namespace &&
           strcmp(boot, its_boot) == 0 && strcmp(pid_namespace, its_namespace) == 0;
}

enum labels_owner labels_owner(json_object *labels, int64_t *pid)
{
    *pid = labelled_pid(labels);
    if (*pid == 0)
        return OWNER_NOBODY;
    if (!is_neighbour(labels))
        return OWNER_UNKNOWN;
    return is_gone(labels) ? OWNER_GONE : OWNER_ALIVE;
}
