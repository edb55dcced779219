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
    LANGUAGE("python",      "py python3 py3")                                                      \
    LANGUAGE("sh",          "shell")                                                               \
    LANGUAGE("bash",        "")                                                                    \
    LANGUAGE("zsh",         "")                                                                    \
    LANGUAGE("console",     "shell-session sh-session bash-session shellsession terminal")         \
    LANGUAGE("pwsh",        "powershell ps ps1")                                                   \
    LANGUAGE("javascript",  "js node nodejs mjs cjs")                                              \
    LANGUAGE("typescript",  "ts")                                                                  \
    LANGUAGE("ruby",        "rb")                                                                  \
    LANGUAGE("perl",        "pl")                                                                  \
    LANGUAGE("php",         "")                                                                    \
    LANGUAGE("lua",         "")                                                                    \
    LANGUAGE("r",           "rscript")                                                             \
    LANGUAGE("julia",       "jl")                                                                  \
    LANGUAGE("go",          "golang")                                                              \
    LANGUAGE("rust",        "rs")                                                                  \
    LANGUAGE("c",           "")                                                                    \
    LANGUAGE("c++",         "cpp cxx cc")                                                          \
    LANGUAGE("java",        "")                                                                    \
    LANGUAGE("kotlin",      "kt kts")                                                              \
    LANGUAGE("c#",          "csharp cs")                                                           \
    LANGUAGE("swift",       "")                                                                    \
    LANGUAGE("scala",       "")                                                                    \
    LANGUAGE("haskell",     "hs")                                                                  \
    LANGUAGE("elixir",      "ex exs")                                                              \
    LANGUAGE("awk",         "gawk")                                                                \
    LANGUAGE("sql",         "sqlite sqlite3")                                                      \
    LANGUAGE("html",        "htm")                                                                 \
    LANGUAGE("css",         "")                                                                    \
    LANGUAGE("json",        "")                                                                    \
    LANGUAGE("yaml",        "yml")                                                                 \
    LANGUAGE("markdown",    "md")                                                                  \
    LANGUAGE("dockerfile",  "docker")
/* clang-format on */

#endif /* CODE_EXECUTOR_LANGUAGES_H */
