/* SPDX-License-Identifier: Apache-2.0 */
/*
 * silence_pip.c: two passes over the lines, the first to count, the second to write; see
 * silence_pip.h.
 */
#include "silence_pip.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define QUIET " -qqq"

static const char *const commands[] = {
    "pip install",
    "pip3 install",
    "python -m pip install",
    "python3 -m pip install",
};

/* Where ` -qqq` belongs in the line, or 0. */
static size_t find_place(enum pip_syntax syntax, const char *line, size_t length)
{
    size_t begin = 0;
    if (syntax == PIP_IN_PYTHON) {
        if (length < 2 || line[0] != '!')
            return 0;
        begin = line[1] == ' ' ? 2 : 1;
    }
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        size_t end = begin + strlen(commands[i]);
        if (length < end || memcmp(line + begin, commands[i], end - begin) != 0)
            continue;
        bool word_ends = length == end || line[end] == ' ' || line[end] == '\t' ||
                         line[end] == '\r' || line[end] == '\\';
        return word_ends && !memmem(line, length, "-qqq", 4) ? end : 0;
    }
    return 0;
}

/* Copies CODE with what is to be added to TO, or only counts when TO is NULL. Returns the new
 * length. */
static size_t copy_silenced(enum pip_syntax syntax, const char *code, size_t length, char *to)
{
    size_t copied = 0; /* bytes of CODE that are done with */
    size_t written = 0;
    for (size_t begin = 0; begin < length;) {
        const char *newline = memchr(code + begin, '\n', length - begin);
        size_t end = newline ? (size_t)(newline - code) : length;
        size_t place = find_place(syntax, code + begin, end - begin);
        if (place) {
            size_t before = begin + place - copied;
            if (to) {
                memcpy(to + written, code + copied, before);
                memcpy(to + written + before, QUIET, strlen(QUIET));
            }
            written += before + strlen(QUIET);
            copied = begin + place;
        }
        begin = end + 1;
    }
    if (to && length > copied)
        memcpy(to + written, code + copied, length - copied);
    return written + (length - copied);
}

bool silence_pip(enum pip_syntax syntax, const char *code, size_t code_length, char **changed,
                 size_t *length)
{
    *changed = NULL;
    *length = copy_silenced(syntax, code, code_length, NULL);
    if (*length == code_length)
        return true;
    *changed = malloc(*length);
    if (*changed)
        copy_silenced(syntax, code, code_length, *changed);
    return *changed != NULL;
}
