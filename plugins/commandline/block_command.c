/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_command.c: see block_command.h.
 */
#include "block_command.h"
#include "ascii.h"
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

static const char file_mark[] = "{file}";
static const char output_mark[] = "{output}";

void build_name_choose(char name[BUILD_NAME_SIZE])
{
    unsigned long long random = 0;
    (void)!getrandom(&random, sizeof random, 0);
    snprintf(name, BUILD_NAME_SIZE, "tmp_build_%016llx", random);
}

bool language_builds(const language *known)
{
    for (size_t i = 0; i < known->step_count; i++)
        for (size_t j = 0; j < known->steps[i].candidate_count; j++)
            for (const char *const *word = known->steps[i].candidates[j]; *word; word++)
                if (strstr(*word, output_mark))
                    return true;
    return false;
}

/* The mark that is next in TEXT, and where. */
static const char *find_mark(const char *text, const char **mark)
{
    const char *file = strstr(text, file_mark);
    const char *built = strstr(text, output_mark);
    bool file_first = file && (!built || file < built);
    *mark = file_first ? file_mark : output_mark;
    return file_first ? file : built;
}

/* WORD with FILE and BUILT in it. What they hold is not looked at: a file may be called
 * `{output}`. */
static const char *fill_word(const char *word, const char *file, const char *built,
                             struct arena *arena)
{
    size_t length = strlen(word) + 1;
    const char *mark;
    for (const char *at = word; (at = find_mark(at, &mark)); at += strlen(mark))
        length += strlen(mark == file_mark ? file : built);
    char *filled = arena_get(arena, length);
    if (!filled)
        return NULL;
    char *to = filled;
    const char *from = word;
    for (const char *at; (at = find_mark(from, &mark)); from = at + strlen(mark)) {
        to = mempcpy(to, from, (size_t)(at - from));
        to = stpcpy(to, mark == file_mark ? file : built);
    }
    stpcpy(to, from);
    return filled;
}

static const char *const *fill_words(const char *const *words, const char *file, const char *built,
                                     struct arena *arena)
{
    size_t count = 0;
    while (words[count])
        count++;
    const char **filled = arena_get_array(arena, count + 1, sizeof *filled);
    for (size_t i = 0; filled && i < count; i++)
        filled[i] = fill_word(words[i], file, built, arena);
    return filled;
}

/* Whether a program might take NAME for something else than a file: `-x` and `+x` are options to
 * shells, and `@x` is a list of arguments to compilers. */
static bool looks_special(const char *name)
{
    char first = ascii_lower(name[0]);
    return !(first >= 'a' && first <= 'z') && !(first >= '0' && first <= '9') && first != '_' &&
           first != '.';
}

/* NAME as a path that is a file to every program; with ALWAYS also one that is not looked for in
 * PATH. A plain name stays plain, as people know it from tracebacks. */
static const char *make_path(const char *name, bool always, struct arena *arena)
{
    if (!always && !looks_special(name))
        return name;
    char *path = arena_get(arena, strlen(name) + sizeof "./");
    if (path)
        stpcpy(stpcpy(path, "./"), name);
    return path;
}

void block_command_fill(session_command *command, const language_step *step, const char *file,
                        const char *built, struct arena *arena)
{
    const char *const **candidates =
        arena_get_array(arena, step->candidate_count, sizeof *candidates);
    file = make_path(file, false, arena);
    built = make_path(built, true, arena);
    if (!candidates || !file || !built)
        return;
    for (size_t i = 0; i < step->candidate_count; i++)
        candidates[i] = fill_words(step->candidates[i], file, built, arena);
    command->candidates = candidates;
    command->candidate_count = step->candidate_count;
}

static bool assigns_same(const char *a, const char *b)
{
    size_t name = strcspn(a, "=");
    return strncmp(a, b, name) == 0 && b[name] == '=';
}

static bool is_overridden(const char *assignment, const char *const *requested, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (assigns_same(assignment, requested[i]))
            return true;
    return false;
}

bool block_environment(const char *const *configured, size_t configured_count,
                       const char *const *requested, size_t requested_count, struct arena *arena,
                       const char *const **environment, size_t *count)
{
    *count = 0;
    const char **all = arena_get_array(arena, configured_count + requested_count, sizeof *all);
    *environment = all;
    if (!all)
        return false;
    for (size_t i = 0; i < configured_count; i++)
        if (!is_overridden(configured[i], requested, requested_count))
            all[(*count)++] = configured[i];
    /* The last of two that assign the same holds, as in a shell. */
    for (size_t i = 0; i < requested_count; i++)
        if (!is_overridden(requested[i], requested + i + 1, requested_count - i - 1))
            all[(*count)++] = requested[i];
    return true;
}
