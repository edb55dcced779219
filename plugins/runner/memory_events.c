/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_events.c: see memory_events.h.
 *
 * Our cgroup is at the path that /proc/self/cgroup tells; only in a container, whose cgroupfs shows the
 * container's own cgroup at its root whatever is told there, that path may lead nowhere, and the root is
 * ours. Both versions of cgroups are tried; the sum of what is found only grows, which is all that
 * matters. The files stay open: a read from the beginning makes the kernel write them anew.
 */
#include "memory_events.h"
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNTERS_MAX 6

static int counters[COUNTERS_MAX];
static int counter_count;

static const struct {
    const char *mount;
    const char *controller; /* as /proc/self/cgroup names it; "" is version 2 */
    const char *file;
} hierarchies[] = {
    {"/sys/fs/cgroup", "", "memory.events"},
    {"/sys/fs/cgroup/unified", "", "memory.events"},
    {"/sys/fs/cgroup/memory", "memory", "memory.oom_control"},
};

static bool open_counter(const char *mount, const char *path, const char *file)
{
    char name[PATH_MAX];
    int length = snprintf(name, sizeof name, "%s%s/%s", mount, path, file);
    if (length <= 0 || (size_t)length >= sizeof name || counter_count == COUNTERS_MAX)
        return false;
    int descriptor = open(name, O_RDONLY | O_CLOEXEC);
    if (descriptor >= 0)
        counters[counter_count++] = descriptor;
    return descriptor >= 0;
}

/* Whether LIST, names between commas, holds NAME. */
static bool names_controller(const char *list, const char *name)
{
    if (name[0] == '\0')
        return list[0] == '\0';
    size_t length = strlen(name);
    for (; list; list = strchr(list, ','), list = list ? list + 1 : NULL)
        if (strncmp(list, name, length) == 0 && (list[length] == ',' || list[length] == '\0'))
            return true;
    return false;
}

/* The path in a line "number:controllers:path" of /proc/self/cgroup that is about CONTROLLER. */
static bool own_path(const char *controller, char path[PATH_MAX])
{
    FILE *file = fopen("/proc/self/cgroup", "re");
    if (!file)
        return false;
    char line[PATH_MAX + 256];
    bool found = false;
    while (!found && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *place = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!place)
            continue;
        *place++ = '\0';
        found = names_controller(controllers + 1, controller) && strlen(place) < PATH_MAX;
        if (found)
            strcpy(path, place);
    }
    fclose(file);
    return found;
}

void memory_events_open(void)
{
    for (size_t i = 0; i < sizeof hierarchies / sizeof hierarchies[0]; i++) {
        char path[PATH_MAX];
        if (!own_path(hierarchies[i].controller, path) ||
            !open_counter(hierarchies[i].mount, path, hierarchies[i].file))
            open_counter(hierarchies[i].mount, "", hierarchies[i].file);
    }
}

static uint64_t read_counter(int descriptor)
{
    char text[1024];
    ssize_t length = pread(descriptor, text, sizeof text - 1, 0);
    if (length <= 0)
        return 0;
    text[length] = '\0';
    static const char key[] = "oom_kill ";
    for (const char *line = text; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL)
        if (strncmp(line, key, sizeof key - 1) == 0)
            return strtoull(line + sizeof key - 1, NULL, 10);
    return 0;
}

uint64_t memory_events_kills(void)
{
    uint64_t kills = 0;
    for (int i = 0; i < counter_count; i++)
        kills += read_counter(counters[i]);
    return kills;
}
