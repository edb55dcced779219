/* SPDX-License-Identifier: Apache-2.0 */
/*
 * language_list.h: the languages extension: a table of languages, told to a host.
 */
#ifndef CODE_EXECUTOR_LANGUAGE_LIST_H
#define CODE_EXECUTOR_LANGUAGE_LIST_H

#include "arena.h"
#include "language.h"
#include "session.h"

typedef struct language_list {
    struct arena arena;
    const code_executor_language *const *languages;
    size_t count;
} language_list;

/* Lists TABLE's languages, in place of what LIST held. ASKED, which may be NULL, tells which
 * interpreters there are. */
int32_t language_list_make(language_list *list, const language_table *table, session *asked,
                           code_executor_error *error);
void language_list_release(language_list *list);

#endif /* CODE_EXECUTOR_LANGUAGE_LIST_H */
