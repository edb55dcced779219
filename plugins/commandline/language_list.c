/* SPDX-License-Identifier: Apache-2.0 */
/*
 * language_list.c: see language_list.h.
 */
#include "language_list.h"

#include "runner/protocol.h"
#include "text.h"
#include <stdlib.h>
#include <string.h>

/* The programs, by preference, one of which a language needs first. */
static size_t program_count(const language *row)
{
    return row->step_count > 0 ? row->steps[0].candidate_count : 0;
}

static const char *program_at(const language *row, size_t index)
{
    return row->steps[0].candidates[index][0];
}

/* "python, python3" */
static const char *join_programs(struct arena *arena, const language *row)
{
    size_t size = 1;
    for (size_t i = 0; i < program_count(row); i++)
        size += strlen(program_at(row, i)) + 2;
    char *joined = arena_get(arena, size);
    char *end = joined;
    for (size_t i = 0; joined && i < program_count(row); i++) {
        end = stpcpy(end, i > 0 ? ", " : "");
        end = stpcpy(end, program_at(row, i));
    }
    return joined;
}

static const char *const *copy_aliases(struct arena *arena, const language *row)
{
    const char **copies = arena_get_array(arena, row->alias_count + 1, sizeof *copies);
    for (size_t i = 0; copies && i < row->alias_count; i++)
        copies[i] = arena_copy(arena, row->aliases[i], strlen(row->aliases[i]));
    return copies;
}

/* The first of its programs that the runner finds. */
static int32_t find_interpreter(session *asked, struct arena *arena, const language *row,
                                const char **found, code_executor_error *error)
{
    const char *programs[CANDIDATES_MAX] = {NULL};
    char *paths[CANDIDATES_MAX] = {NULL};
    size_t count = program_count(row);
    if (count > CANDIDATES_MAX)
        count = CANDIDATES_MAX;
    for (size_t i = 0; i < count; i++)
        programs[i] = program_at(row, i);
    int32_t status = session_lookup(asked, programs, count, paths, error);
    for (size_t i = 0; status == CODE_EXECUTOR_OK && i < count; i++) {
        if (paths[i] && !*found)
            *found = arena_copy(arena, paths[i], strlen(paths[i]));
        free(paths[i]);
    }
    return status;
}

static int32_t list_one(struct arena *arena, const language *row, session *asked,
                        const code_executor_language **listed, code_executor_error *error)
{
    code_executor_language *entry = arena_get(arena, sizeof *entry);
    if (!entry)
        return CODE_EXECUTOR_OK; /* the caller asks the arena, once */
    *listed = entry;
    entry->struct_size = sizeof *entry;
    entry->name = arena_copy(arena, row->name, strlen(row->name));
    entry->aliases = copy_aliases(arena, row);
    entry->alias_count = row->alias_count;
    entry->runs = row->runs;
    entry->command = join_programs(arena, row);
    return asked && program_count(row) > 0
               ? find_interpreter(asked, arena, row, &entry->interpreter, error)
               : CODE_EXECUTOR_OK;
}

int32_t language_list_make(language_list *list, const language_table *table, session *asked,
                           code_executor_error *error)
{
    language_list_release(list);
    size_t count = language_count(table);
    const code_executor_language **languages =
        arena_get_array(&list->arena, count + 1, sizeof *languages);
    int32_t status = CODE_EXECUTOR_OK;
    for (size_t i = 0; languages && status == CODE_EXECUTOR_OK && i < count; i++)
        status = list_one(&list->arena, language_at(table, i), asked, &languages[i], error);
    if (status == CODE_EXECUTOR_OK && list->arena.failed)
        status = error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory for the languages");
    if (status != CODE_EXECUTOR_OK) {
        language_list_release(list);
        return status;
    }
    list->languages = languages;
    list->count = count;
    return error_clear(error);
}

void language_list_release(language_list *list)
{
    arena_release(&list->arena);
    *list = (language_list){0};
}
