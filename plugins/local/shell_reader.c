/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shell_reader.c: see shell_reader.h.
 *
 * One pass over the bytes. A substitution is read by a reader of its own on the same bytes, which stops
 * at the closing parenthesis; readers nest only so deep, as a script can open a million of them.
 */
#include "shell_reader.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { NESTING_MAX = 32 };

struct text {
    char *bytes;
    size_t length;
    size_t capacity;
};

struct list {
    char **items;
    size_t count;
    size_t capacity;
};

/* The script, shared by all readers of it. */
struct script {
    const char *at;
    const char *end;
    const shell_visitor *visitor;
    bool stopped;
};

/* One level of nesting. */
struct reader {
    struct script *script;
    int depth;
    struct list words;
    struct list written;
    /* Delimiters of the here-documents that begin with the next line; a leading tab stands for <<-. */
    struct list heredocs;
    size_t braces; /* that are open */
    size_t body;   /* what braces is in the body of a function; 0: not in one */
    bool defines;  /* a function's name has been read, its body is to come */
};

/* ------------------------------------------------------------------------------------------------
 * Texts and lists
 * --------------------------------------------------------------------------------------------- */

static void stop(struct script *script)
{
    script->stopped = true;
    script->at = script->end;
}

static void text_add(struct script *script, struct text *text, char byte)
{
    if (text->length + 2 > text->capacity) {
        size_t capacity = text->capacity ? text->capacity * 2 : 32;
        char *larger = realloc(text->bytes, capacity);
        if (!larger) {
            stop(script);
            return;
        }
        text->bytes = larger;
        text->capacity = capacity;
    }
    text->bytes[text->length++] = byte ? byte : '?';
    text->bytes[text->length] = '\0';
}

/* Takes ITEM over. */
static void list_add(struct script *script, struct list *list, char *item)
{
    if (item && list->count == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 8;
        char **larger = realloc(list->items, capacity * sizeof *larger);
        if (!larger) {
            free(item);
            item = NULL;
        } else {
            list->items = larger;
            list->capacity = capacity;
        }
    }
    if (!item) {
        stop(script);
        return;
    }
    list->items[list->count++] = item;
}

static void list_clear(struct list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    list->count = 0;
}

static void list_free(struct list *list)
{
    list_clear(list);
    free(list->items);
}

static char peek(const struct script *script, size_t ahead)
{
    return (size_t)(script->end - script->at) > ahead ? script->at[ahead] : '\0';
}

static bool at_end(const struct script *script)
{
    return script->at >= script->end;
}

/* ------------------------------------------------------------------------------------------------
 * Words
 * --------------------------------------------------------------------------------------------- */

static void read_commands(struct script *script, int depth, char closing);

/* Reads a `$(`, `<(` or backtick substitution, whose opening has been taken. */
static void read_substitution(struct script *script, int depth, char closing)
{
    if (depth < NESTING_MAX)
        read_commands(script, depth + 1, closing);
}

/* `$` and what belongs to it, as it is written; commands within are read. */
static void read_dollar(struct script *script, struct text *word, int depth)
{
    text_add(script, word, *script->at++);
    if (peek(script, 0) == '(' && peek(script, 1) != '(') {
        script->at++;
        read_substitution(script, depth, ')');
    } else if (peek(script, 0) == '{') {
        while (!at_end(script) && *script->at != '}')
            text_add(script, word, *script->at++);
    }
}

static void read_single_quotes(struct script *script, struct text *word)
{
    while (!at_end(script) && *script->at != '\'')
        text_add(script, word, *script->at++);
    script->at += !at_end(script);
}

static void read_double_quotes(struct script *script, struct text *word, int depth)
{
    while (!at_end(script) && *script->at != '"') {
        if (*script->at == '\\' && script->end - script->at > 1) {
            script->at++;
            text_add(script, word, *script->at++);
        } else if (*script->at == '$') {
            read_dollar(script, word, depth);
        } else if (*script->at == '`') {
            script->at++;
            read_substitution(script, depth, '`');
        } else {
            text_add(script, word, *script->at++);
        }
    }
    script->at += !at_end(script);
}

static bool ends_word(char byte)
{
    return byte == '\0' || strchr(" \t\r\n;&|()<>", byte) != NULL;
}

/* A word, quotes removed; "" where there is none. In a backtick substitution the closing one ends it. */
static char *read_word(struct script *script, int depth, char closing)
{
    struct text word = {0};
    text_add(script, &word, ' ');
    word.length = 0;
    while (!at_end(script) && (!ends_word(*script->at) || *script->at == '\0') &&
           !(closing == '`' && *script->at == '`')) {
        char byte = *script->at;
        if (byte == '\'') {
            script->at++;
            read_single_quotes(script, &word);
        } else if (byte == '"') {
            script->at++;
            read_double_quotes(script, &word, depth);
        } else if (byte == '`') {
            script->at++;
            read_substitution(script, depth, '`');
        } else if (byte == '$') {
            read_dollar(script, &word, depth);
        } else if (byte == '\\') {
            script->at++;
            if (!at_end(script) && *script->at != '\n')
                text_add(script, &word, *script->at);
            script->at += !at_end(script);
        } else {
            text_add(script, &word, byte);
            script->at++;
        }
    }
    if (word.bytes)
        word.bytes[word.length] = '\0';
    return word.bytes;
}

/* ------------------------------------------------------------------------------------------------
 * Commands
 * --------------------------------------------------------------------------------------------- */

static bool is_reserved(const char *word)
{
    static const char *const reserved[] = {"if",    "then",  "else", "elif", "fi", "do", "done",
                                           "while", "until", "!",    "time", "{",  "}",  "coproc"};
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++)
        if (strcmp(word, reserved[i]) == 0)
            return true;
    return false;
}

static bool is_assignment(const char *word)
{
    const char *at = word;
    while (isalnum((unsigned char)*at) || *at == '_')
        at++;
    return at > word && !isdigit((unsigned char)*word) && (*at == '=' || strncmp(at, "+=", 2) == 0);
}

static void end_command(struct reader *reader, char separator)
{
    struct script *script = reader->script;
    shell_command command = {.words = reader->words.items,
                             .word_count = reader->words.count,
                             .written = reader->written.items,
                             .written_count = reader->written.count,
                             .separator = separator};
    if (!script->stopped && (command.word_count > 0 || command.written_count > 0) &&
        !script->visitor->on_command(script->visitor->context, &command))
        stop(script);
    list_clear(&reader->words);
    list_clear(&reader->written);
}

static void define_function(struct reader *reader, const char *name)
{
    const shell_visitor *visitor = reader->script->visitor;
    if (!visitor->on_function(visitor->context, name))
        stop(reader->script);
    reader->defines = *name != '\0';
    reader->body = 0;
    list_clear(&reader->words);
}

static void open_brace(struct reader *reader)
{
    reader->braces++;
    if (reader->defines) {
        reader->body = reader->braces;
        reader->defines = false;
    }
}

static void close_brace(struct reader *reader)
{
    if (reader->body == reader->braces && reader->body > 0)
        define_function(reader, ""); /* the end of one */
    reader->braces -= reader->braces > 0;
}

/* function NAME, without parentheses or with them. */
static bool names_function(const struct reader *reader)
{
    return reader->words.count == 2 && strcmp(reader->words.items[0], "function") == 0;
}

static void add_word(struct reader *reader, char *word)
{
    if (word && strcmp(word, "{") == 0 && names_function(reader))
        define_function(reader, reader->words.items[1]);
    if (word && reader->words.count == 0 && (is_reserved(word) || is_assignment(word))) {
        if (strcmp(word, "{") == 0)
            open_brace(reader);
        else if (strcmp(word, "}") == 0)
            close_brace(reader);
        free(word);
        return;
    }
    list_add(reader->script, &reader->words, word);
}

/* The lines up to one that is the delimiter. */
static void skip_heredoc(struct script *script, const char *delimiter)
{
    bool tabs = *delimiter == '\t';
    delimiter += tabs;
    size_t length = strlen(delimiter);
    while (!at_end(script)) {
        const char *line = script->at;
        const char *next = memchr(line, '\n', (size_t)(script->end - line));
        script->at = next ? next + 1 : script->end;
        const char *line_end = next ? next : script->end;
        while (tabs && line < line_end && *line == '\t')
            line++;
        line_end -= line_end > line && line_end[-1] == '\r';
        if ((size_t)(line_end - line) == length && memcmp(line, delimiter, length) == 0)
            return;
    }
}

static void end_line(struct reader *reader)
{
    end_command(reader, ';');
    for (size_t i = 0; i < reader->heredocs.count; i++)
        skip_heredoc(reader->script, reader->heredocs.items[i]);
    list_clear(&reader->heredocs);
}

static void skip_blanks(struct script *script)
{
    while (!at_end(script) &&
           (strchr(" \t\r", *script->at) || (peek(script, 0) == '\\' && peek(script, 1) == '\n'))) {
        if (*script->at == '\0')
            return;
        script->at += *script->at == '\\' ? 2 : 1;
    }
}

/* `<` or `>` and what follows. */
static void read_redirection(struct reader *reader, char closing)
{
    struct script *script = reader->script;
    char first = *script->at++;
    if (peek(script, 0) == '(') {
        script->at++;
        read_substitution(script, reader->depth, ')');
        return;
    }
    bool heredoc = first == '<' && peek(script, 0) == '<' && peek(script, 1) != '<';
    bool writes = first == '>' || (first == '<' && peek(script, 0) == '>');
    while (!at_end(script) && strchr("<>|&-", *script->at) && *script->at != '\0') {
        if (heredoc && *script->at == '-')
            break;
        script->at++;
    }
    bool tabs = heredoc && peek(script, 0) == '-';
    script->at += tabs;
    skip_blanks(script);
    char *target = read_word(script, reader->depth, closing);
    if (heredoc && target && tabs) {
        size_t length = strlen(target);
        char *marked = malloc(length + 2);
        if (marked) {
            marked[0] = '\t';
            memcpy(marked + 1, target, length + 1);
        }
        free(target);
        target = marked;
    }
    if (heredoc || writes)
        list_add(script, heredoc ? &reader->heredocs : &reader->written, target);
    else
        free(target);
}

/* A parenthesis behind a single word defines a function of that name; any other begins a subshell. */
static void read_parenthesis(struct reader *reader)
{
    struct script *script = reader->script;
    script->at++;
    if ((reader->words.count == 1 || names_function(reader)) && peek(script, 0) == ')') {
        script->at++;
        define_function(reader, reader->words.items[reader->words.count - 1]);
        skip_blanks(script);
        if (peek(script, 0) == '{') { /* also where no blank follows */
            script->at++;
            open_brace(reader);
        }
        return;
    }
    end_command(reader, ';');
    read_substitution(script, reader->depth, ')');
}

static void end_by_operator(struct reader *reader)
{
    struct script *script = reader->script;
    char first = *script->at++;
    bool twice = peek(script, 0) == first;
    script->at += twice || (first == '|' && peek(script, 0) == '&');
    end_command(reader, twice ? ';' : first);
}

static void read_plain_word(struct reader *reader, char closing)
{
    struct script *script = reader->script;
    const char *begin = script->at;
    char *word = read_word(script, reader->depth, closing);
    /* The number of a descriptor: 2>file */
    bool is_number = word && *word && strspn(word, "0123456789") == strlen(word) &&
                     (size_t)(script->at - begin) == strlen(word) &&
                     (peek(script, 0) == '>' || peek(script, 0) == '<');
    if (is_number)
        free(word);
    else
        add_word(reader, word);
}

/* One step. False: the closing byte has been taken. */
static bool read_step(struct reader *reader, char closing)
{
    struct script *script = reader->script;
    skip_blanks(script);
    if (at_end(script))
        return true;
    char byte = *script->at;
    if (byte == closing && closing != '\0') {
        script->at++;
        return false;
    }
    if (byte == '#') {
        while (!at_end(script) && *script->at != '\n')
            script->at++;
    } else if (byte == '\n') {
        script->at++;
        end_line(reader);
    } else if (byte == '&' && peek(script, 1) == '>') {
        script->at++;
    } else if (byte == ';' || byte == '&' || byte == '|') {
        end_by_operator(reader);
    } else if (byte == '<' || byte == '>') {
        read_redirection(reader, closing);
    } else if (byte == '(') {
        read_parenthesis(reader);
    } else if (byte == ')') {
        script->at++; /* of a pattern of case */
        end_command(reader, ';');
    } else {
        read_plain_word(reader, closing);
    }
    return true;
}

static void read_commands(struct script *script, int depth, char closing)
{
    struct reader reader = {.script = script, .depth = depth};
    while (!at_end(script) && read_step(&reader, closing)) {
    }
    end_command(&reader, ';');
    list_free(&reader.words);
    list_free(&reader.written);
    list_free(&reader.heredocs);
}

bool shell_read(const char *script, size_t length, const shell_visitor *visitor)
{
    struct script reading = {.at = script, .end = script + length, .visitor = visitor};
    read_commands(&reading, 0, '\0');
    return !reading.stopped;
}
