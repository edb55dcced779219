/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known_languages.c: see known_languages.h. An executor tells by the languages extension; nothing
 * is kept here, since a list belongs to its instance.
 */
#include "known_languages.h"
#include <stdlib.h>
#include <string.h>

/* Whether NAME is a name or an alias of LANGUAGE. */
static bool goes_by(const code_executor_language *language, const char *name)
{
    if (code_executor_language_equal(language->name, name))
        return true;
    for (size_t i = 0; i < language->alias_count; i++)
        if (code_executor_language_equal(language->aliases[i], name))
            return true;
    return false;
}

static const code_executor_language *find_language(const code_executor_language *const *languages,
                                                   size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (goes_by(languages[i], name))
            return languages[i];
    return NULL;
}

/* False: the executor does not tell. */
static bool list_languages(const struct executor *executor,
                           const code_executor_language *const **languages, size_t *count)
{
    const code_executor_languages_v1 *extension =
        executor->table->get_extension(executor->instance, CODE_EXECUTOR_EXTENSION_LANGUAGES);
    return extension != NULL &&
           extension->list(executor->instance, languages, count, NULL) == CODE_EXECUTOR_OK;
}

static void free_words(const char ***words)
{
    free(*words);
}

/* The name or alias of LANGUAGES that is nearest to NAME, or NULL. */
static const char *nearest_language(const code_executor_language *const *languages, size_t count,
                                    const char *name)
{
    size_t total = 0, used = 0;
    for (size_t i = 0; i < count; i++)
        total += 1 + languages[i]->alias_count;
    CLEANUP(free_words) const char **words = calloc(total + 1, sizeof *words);
    for (size_t i = 0; words != NULL && i < count; i++) {
        words[used++] = languages[i]->name;
        for (size_t k = 0; k < languages[i]->alias_count; k++)
            words[used++] = languages[i]->aliases[k];
    }
    return words == NULL ? NULL : nearest_word(name, words, used);
}

enum block_policy executor_policy(const struct executor *executor, const char *language)
{
    const code_executor_language *const *languages = NULL;
    size_t count = 0;
    if (!list_languages(executor, &languages, &count))
        return POLICY_RUNS;
    const code_executor_language *found = find_language(languages, count, language);
    if (found == NULL)
        return POLICY_UNKNOWN;
    return found->runs ? POLICY_RUNS : POLICY_SAVES;
}

int32_t check_language(const struct executor *executor, const char *language,
                       code_executor_error *error)
{
    const code_executor_language *const *languages = NULL;
    size_t count = 0;
    if (code_executor_language_name(language) != NULL ||
        !list_languages(executor, &languages, &count) ||
        find_language(languages, count, language) != NULL)
        return CODE_EXECUTOR_OK;
    CLEANUP(bytes_free) struct bytes visible = {0};
    const char *near = nearest_language(languages, count, language);
    if (!bytes_append_visible(&visible, language, strlen(language), false))
        return fail_no_memory(error);
    return near == NULL
               ? fail(error, CODE_EXECUTOR_INVALID,
                      "%s knows no language `%s`; `host_demo info %s` lists those it knows.",
                      executor->label, visible.data, executor->table->name)
               : fail(error, CODE_EXECUTOR_INVALID, "%s knows no language `%s`. Did you mean `%s`?",
                      executor->label, visible.data, near);
}
