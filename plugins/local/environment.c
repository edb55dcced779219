/* SPDX-License-Identifier: Apache-2.0 */
/*
 * environment.c: see environment.h.
 */
#include "environment.h"

#include <stdio.h>
#include <string.h>

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* What is passed on in any case; a name that ends in `*` stands for all that begin so. */
static const char *const passed_on[] = {"HOME", "LANG", "LC_*", "TERM", "TMPDIR"};

/* What would turn a virtual environment's Python into another one. */
static const char *const against_virtual_env[] = {"PYTHONHOME", "VIRTUAL_ENV",
                                                  "VIRTUAL_ENV_PROMPT"};

/* Whether the name before ASSIGNMENT's `=` is NAME. */
static bool is_named(const char *assignment, const char *name)
{
    size_t length = strcspn(assignment, "=");
    size_t known = strlen(name);
    if (known > 0 && name[known - 1] == '*')
        return length >= known - 1 && strncmp(assignment, name, known - 1) == 0;
    return length == known && strncmp(assignment, name, known) == 0;
}

static bool is_among(const char *assignment, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (is_named(assignment, names[i]))
            return true;
    return false;
}

static bool is_chosen(const environment_choice *choice, const char *assignment)
{
    if (is_named(assignment, "PATH") ||
        (choice->virtual_env &&
         is_among(assignment, against_virtual_env,
                  sizeof against_virtual_env / sizeof against_virtual_env[0])))
        return false; /* both are made anew, or left out */
    return choice->all || is_among(assignment, passed_on, sizeof passed_on / sizeof passed_on[0]) ||
           is_among(assignment, choice->names, choice->name_count);
}

/* PREFIX, VALUE and SUFFIX joined. */
static const char *join(struct arena *arena, const char *prefix, const char *value,
                        const char *suffix)
{
    size_t size = strlen(prefix) + strlen(value) + strlen(suffix) + 1;
    char *joined = arena_get(arena, size);
    if (joined)
        snprintf(joined, size, "%s%s%s", prefix, value, suffix);
    return joined;
}

static const char *choose_path(const environment_choice *choice, char *const *host,
                               struct arena *arena)
{
    const char *path = DEFAULT_PATH;
    for (; *host; host++)
        if (is_named(*host, "PATH"))
            path = *host + strlen("PATH=");
    const char *bin = choice->virtual_env ? join(arena, choice->virtual_env, "/bin:", "") : "";
    return bin ? join(arena, "PATH=", bin, path) : NULL;
}

const char *const *environment_choose(const environment_choice *choice, char *const *host,
                                      struct arena *arena)
{
    size_t host_count = 0;
    while (host[host_count])
        host_count++;
    const char **chosen = arena_get_array(arena, host_count + 3, sizeof *chosen);
    size_t count = 0;
    for (size_t i = 0; chosen && i < host_count; i++)
        if (is_chosen(choice, host[i]))
            chosen[count++] = arena_copy(arena, host[i], strlen(host[i]));
    if (chosen)
        chosen[count++] = choose_path(choice, host, arena);
    if (chosen && choice->virtual_env)
        chosen[count++] = join(arena, "VIRTUAL_ENV=", choice->virtual_env, "");
    return arena->failed ? NULL : chosen;
}
