/* SPDX-License-Identifier: Apache-2.0 */
/*
 * languages.h: the names by which languages go, as data. A host that routes blocks and a plugin that
 * runs them read the same list, so that `js` and `JavaScript` mean one language to both.
 *
 * CODE_EXECUTOR_LANGUAGES(LANGUAGE) expands LANGUAGE(name, aliases) for each: NAME is the one that
 * messages and configuration use, ALIASES are separated by one space. All are lower case and are
 * compared without regard to ASCII case; no word stands twice.
 *
 * What a language's files are called and what runs them is no business of a host: that is a table of
 * the plugins (plugins/commandline/language.c), with a row for each name here.
 */
#ifndef CODE_EXECUTOR_LANGUAGES_H
#define CODE_EXECUTOR_LANGUAGES_H

/* clang-format off */
#define CODE_EXECUTOR_LANGUAGES(LANGUAGE)                                                          \
    LANGUAGE("python",     "py python3 py3")                                                       \
    LANGUAGE("sh",         "shell")                                                                \
    LANGUAGE("bash",       "")                                                                     \
    LANGUAGE("pwsh",       "powershell ps ps1")                                                    \
    LANGUAGE("javascript", "js")                                                                   \
    LANGUAGE("html",       "htm")                                                                  \
    LANGUAGE("css",        "")
/* clang-format on */

#endif /* CODE_EXECUTOR_LANGUAGES_H */
