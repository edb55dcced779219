/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_language.c: from the info string, else from the code.
 *
 * A guess that is wrong runs code in the wrong interpreter; none at all leaves a block out and says so.
 * So each sign is one that other languages do not share: `import java.util.List;` is no Python, and
 * `ls = []` no shell.
 */
#include "block_language.h"

#include "host/code_executor_host.h"
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static bool is_space(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\v' || byte == '\f' || byte == '\r';
}

static bool is_name_byte(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '_';
}

static text_span skip(text_span text, size_t count)
{
    return (text_span){text.bytes + count, text.length - count};
}

static text_span skip_space(text_span text)
{
    while (text.length > 0 && is_space(text.bytes[0]))
        text = skip(text, 1);
    return text;
}

static text_span trim_end(text_span text)
{
    while (text.length > 0 && is_space(text.bytes[text.length - 1]))
        text.length--;
    return text;
}

static bool begins_with(text_span text, const char *words)
{
    size_t length = strlen(words);
    return text.length >= length && memcmp(text.bytes, words, length) == 0;
}

static bool is_word(text_span text, const char *word)
{
    return text.length == strlen(word) && begins_with(text, word);
}

static bool ends_with(text_span text, char byte)
{
    return text.length > 0 && text.bytes[text.length - 1] == byte;
}

/* Up to white space or one of STOPS. */
static text_span first_word(text_span text, const char *stops)
{
    size_t length = 0;
    while (length < text.length && !is_space(text.bytes[length]) && text.bytes[length] != '\0' &&
           strchr(stops, text.bytes[length]) == NULL)
        length++;
    return (text_span){text.bytes, length};
}

/* The line that *TEXT begins with; *TEXT moves behind it. False where nothing is left. */
static bool next_line(text_span *text, text_span *line)
{
    if (text->length == 0)
        return false;
    const char *feed = memchr(text->bytes, '\n', text->length);
    size_t length = feed != NULL ? (size_t)(feed - text->bytes) : text->length;
    *line = (text_span){text->bytes, length};
    *text = skip(*text, feed != NULL ? length + 1 : length);
    return true;
}

text_span language_of_info(text_span info)
{
    info = skip_space(info);
    if (begins_with(info, "{")) {
        info = skip_space(skip(info, 1));
        if (begins_with(info, "."))
            info = skip(info, 1);
        return first_word(info, ",:{}");
    }
    return first_word(info, ",:{");
}

/* ------------------------------------------------------------------------------------------------
 * #!
 * --------------------------------------------------------------------------------------------- */

static text_span word_span(const char *word)
{
    return (text_span){word, strlen(word)};
}

/* "python3.11" to "python" and "dash" to "sh": an interpreter's file name to its language. */
static text_span language_of_interpreter(text_span name)
{
    static const char *const plain_shells[] = {"dash", "ash"};
    for (size_t i = 0; i < sizeof(plain_shells) / sizeof(plain_shells[0]); i++)
        if (is_word(name, plain_shells[i]))
            return word_span("sh");
    text_span plain = name;
    while (plain.length > 0 && (ends_with(plain, '.') || (plain.bytes[plain.length - 1] >= '0' &&
                                                          plain.bytes[plain.length - 1] <= '9')))
        plain.length--;
    char word[LONGEST_INFERRED_LANGUAGE + 1];
    if (plain.length == 0 || name.length >= sizeof(word))
        return (text_span){"", 0};
    memcpy(word, plain.bytes, plain.length);
    word[plain.length] = '\0';
    const char *known = code_executor_language_name(word);
    return known != NULL ? word_span(known) : name;
}

static text_span file_name(text_span path)
{
    const char *slash = memrchr(path.bytes, '/', path.length);
    return slash == NULL ? path : skip(path, (size_t)(slash - path.bytes) + 1);
}

/* `#!/usr/bin/python3 -u`, `#!/usr/bin/env -S NAME=value python3` */
static text_span language_of_shebang(text_span line)
{
    text_span left = skip_space(skip(line, strlen("#!")));
    text_span word = first_word(left, "");
    text_span name = file_name(word);
    bool is_env = is_word(name, "env");
    while (is_env) {
        left = skip_space(skip(left, word.length));
        word = first_word(left, "");
        bool is_option = begins_with(word, "-") || memchr(word.bytes, '=', word.length) != NULL;
        if (word.length == 0 || !is_option) {
            name = file_name(word);
            break;
        }
    }
    return language_of_interpreter(name);
}

/* ------------------------------------------------------------------------------------------------
 * Signs of a language
 * --------------------------------------------------------------------------------------------- */

/* A first line that is typed into a shell. `ls = 1` and `git.push()` are not. */
static bool is_shell_command(text_span line)
{
    static const char *const commands[] = {"pip", "pip3", "npm",    "apt",     "apt-get", "cd",
                                           "ls",  "git",  "python", "python3", "curl"};
    if (begins_with(line, "$ "))
        return true;
    text_span word = first_word(line, "");
    text_span behind = skip_space(skip(line, word.length));
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (is_word(word, commands[i]))
            return !begins_with(behind, "=") && !begins_with(behind, "(");
    return false;
}

/* `import os.path as path, sys`; a semicolon, a quote or a brace is another language's. */
static bool is_python_import(text_span line)
{
    if (!begins_with(line, "import "))
        return false;
    text_span names = skip_space(skip(line, strlen("import ")));
    const char *comment = memchr(names.bytes, '#', names.length);
    names.length = comment != NULL ? (size_t)(comment - names.bytes) : names.length;
    for (size_t i = 0; i < names.length; i++) {
        char byte = names.bytes[i];
        if (!is_name_byte(byte) && !is_space(byte) && byte != '.' && byte != ',')
            return false;
    }
    return names.length > 0;
}

static bool is_python_from(text_span line)
{
    return begins_with(line, "from ") &&
           memmem(line.bytes, line.length, " import ", strlen(" import ")) != NULL;
}

/* `def f(a) -> int:`, also one that goes on in the next line or has its body in this one. */
static bool is_python_def(text_span line)
{
    if (begins_with(line, "async "))
        line = skip_space(skip(line, strlen("async ")));
    return begins_with(line, "def ") && memchr(line.bytes, '(', line.length) != NULL &&
           (ends_with(line, ':') || ends_with(line, '(') || ends_with(line, ',') ||
            memmem(line.bytes, line.length, "):", 2) != NULL);
}

static bool is_python_class(text_span line)
{
    return begins_with(line, "class ") && ends_with(line, ':');
}

static bool is_python_print(text_span line)
{
    return begins_with(line, "print(");
}

static bool is_python_line(text_span line)
{
    static bool (*const signs[])(text_span) = {is_python_import, is_python_from, is_python_def,
                                               is_python_class, is_python_print};
    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
        if (signs[i](line))
            return true;
    return false;
}

text_span language_of_code(text_span code)
{
    text_span line;
    bool is_first = true;
    for (text_span left = code; next_line(&left, &line);) {
        line = trim_end(line);
        if (line.length == 0)
            continue;
        if (is_first && begins_with(line, "#!"))
            return language_of_shebang(line);
        if (is_first && is_shell_command(line))
            return word_span("sh");
        if (is_python_line(line))
            return word_span("python");
        is_first = false;
    }
    return (text_span){"", 0};
}
