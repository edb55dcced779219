/* SPDX-License-Identifier: Apache-2.0 */
/*
 * words.c: the words for statuses, outcomes and languages, as tables.
 */
#include "host/code_executor_host.h"

#include "ascii.h"
#include "languages.h"
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const status_names[] = {
    [CODE_EXECUTOR_OK] = "ok",
    [CODE_EXECUTOR_INVALID] = "invalid",
    [CODE_EXECUTOR_UNSUPPORTED] = "unsupported",
    [CODE_EXECUTOR_UNAVAILABLE] = "unavailable",
    [CODE_EXECUTOR_DENIED] = "denied",
    [CODE_EXECUTOR_NOT_FOUND] = "not_found",
    [CODE_EXECUTOR_CONFLICT] = "conflict",
    [CODE_EXECUTOR_CANCELLED] = "cancelled",
    [CODE_EXECUTOR_LOST] = "lost",
    [CODE_EXECUTOR_TIMED_OUT] = "timed_out",
    [CODE_EXECUTOR_NO_MEMORY] = "no_memory",
    [CODE_EXECUTOR_IO] = "io",
    [CODE_EXECUTOR_PROTOCOL] = "protocol",
    [CODE_EXECUTOR_INTERNAL] = "internal",
};

static const char *const outcome_names[] = {
    [CODE_EXECUTOR_OUTCOME_COMPLETED] = "completed",
    [CODE_EXECUTOR_OUTCOME_SAVED] = "saved",
    [CODE_EXECUTOR_OUTCOME_REFUSED] = "refused",
    [CODE_EXECUTOR_OUTCOME_TIMED_OUT] = "timed_out",
    [CODE_EXECUTOR_OUTCOME_CANCELLED] = "cancelled",
    [CODE_EXECUTOR_OUTCOME_OUT_OF_MEMORY] = "out_of_memory",
    [CODE_EXECUTOR_OUTCOME_FAILED] = "failed",
};

static const char *word_at(const char *const *words, size_t count, int32_t value)
{
    return value >= 0 && (size_t)value < count ? words[value] : "unknown";
}

const char *code_executor_status_name(int32_t status)
{
    return word_at(status_names, COUNT(status_names), status);
}

const char *code_executor_outcome_name(int32_t outcome)
{
    return word_at(outcome_names, COUNT(outcome_names), outcome);
}

/* ------------------------------------------------------------------------------------------------ */

typedef struct language_names {
    const char *name;
    const char *aliases; /* separated by one space */
} language_names;

#define LANGUAGE_ROW(name, aliases) {name, aliases},
static const language_names languages[] = {CODE_EXECUTOR_LANGUAGES(LANGUAGE_ROW)};

static bool is_among(const char *words, const char *word, size_t length)
{
    while (*words != '\0') {
        size_t word_length = strcspn(words, " ");
        if (word_length == length && ascii_equal(words, word, length))
            return true;
        words += word_length;
        words += *words == ' ';
    }
    return false;
}

const char *code_executor_language_name(const char *language)
{
    size_t length = language == NULL ? 0 : strlen(language);
    for (size_t i = 0; length > 0 && i < COUNT(languages); i++)
        if (is_among(languages[i].name, language, length) ||
            is_among(languages[i].aliases, language, length))
            return languages[i].name;
    return NULL;
}

bool code_executor_language_equal(const char *a, const char *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    const char *name_of_a = code_executor_language_name(a);
    const char *name_of_b = code_executor_language_name(b);
    if (name_of_a != NULL || name_of_b != NULL)
        return name_of_a == name_of_b;
    size_t length = strlen(a);
    return length == strlen(b) && ascii_equal(a, b, length);
}
