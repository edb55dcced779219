/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shell_session.c: see shell_session.h. One pass over the lines; the state is what the next line may
 * continue.
 */
#include "shell_session.h"
#include <stdlib.h>
#include <string.h>

#define DELIMITER_MAX 64

/* A line without its end. */
struct line {
    const char *at;
    size_t length;
};

struct session {
    const char *left;
    size_t left_length;
    char *script;
    size_t script_length;
    bool continues; /* the command goes on in the next line, whatever that looks like */
    char delimiter[DELIMITER_MAX]; /* of the here-document that is open, or "" */
    bool any;
};

static bool next_line(struct session *session, struct line *line)
{
    if (session->left_length == 0)
        return false;
    const char *end = memchr(session->left, '\n', session->left_length);
    size_t length = end ? (size_t)(end - session->left) : session->left_length;
    size_t step = end ? length + 1 : length;
    *line = (struct line){session->left, length};
    if (length && line->at[length - 1] == '\r')
        line->length--;
    session->left += step;
    session->left_length -= step;
    return true;
}

static bool is_one_of(char character, const char *set)
{
    return character && strchr(set, character);
}

/* The length of `(name) `, `[user@host folder]` or `user@host:folder` at the front of LINE, or 0. */
static size_t measure_host(struct line line)
{
    size_t at = 0;
    while (at < line.length && is_one_of(line.at[at], " \t"))
        at++;
    if (at < line.length && line.at[at] == '(') {
        const char *end = memchr(line.at, ')', line.length);
        if (!end)
            return 0;
        at = (size_t)(end - line.at) + 1;
        at += at < line.length && line.at[at] == ' ';
    }
    bool bracket = at < line.length && line.at[at] == '[';
    size_t begin = at;
    bool has_host = false;
    while (at < line.length && !is_one_of(line.at[at], bracket ? "]" : " \t$%#")) {
        has_host = has_host || line.at[at] == '@';
        at++;
    }
    if (!has_host)
        return begin;
    return bracket && at < line.length ? at + 1 : at;
}

/* Takes a prompt off LINE. */
static bool take_prompt(struct line *line)
{
    size_t at = measure_host(*line);
    if (at >= line->length || !is_one_of(line->at[at], "$%"))
        return false;
    at++;
    if (at < line->length && line->at[at] != ' ')
        return false;
    at += at < line->length;
    line->at += at;
    line->length -= at;
    return true;
}

static bool take_continuation(struct line *line)
{
    if (line->length < 1 || line->at[0] != '>' || (line->length > 1 && line->at[1] != ' '))
        return false;
    size_t taken = line->length > 1 ? 2 : 1;
    line->at += taken;
    line->length -= taken;
    return true;
}

/* Remembers the word behind `<<` (`<<-`, quoted or not), up to which the next lines are its text. */
static void note_here_document(struct session *session, struct line line)
{
    const char *mark = memmem(line.at, line.length, "<<", 2);
    if (!mark)
        return;
    const char *at = mark + 2, *end = line.at + line.length;
    if (at < end && *at == '<') /* a here-string */
        return;
    while (at < end && is_one_of(*at, "- \t'\"\\"))
        at++;
    size_t length = 0;
    while (at + length < end && !is_one_of(at[length], " \t'\";|&<>()"))
        length++;
    if (length == 0 || length >= DELIMITER_MAX)
        return;
    memcpy(session->delimiter, at, length);
    session->delimiter[length] = '\0';
}

static void add(struct session *session, struct line line)
{
    char *end = mempcpy(session->script + session->script_length, line.at, line.length);
    *end = '\n';
    session->script_length += line.length + 1;
}

static bool ends_here_document(const struct session *session, struct line line)
{
    while (line.length && *line.at == '\t') {
        line.at++;
        line.length--;
    }
    return line.length == strlen(session->delimiter) &&
           memcmp(line.at, session->delimiter, line.length) == 0;
}

static void take_line(struct session *session, struct line line)
{
    bool in_document = session->delimiter[0] != '\0';
    bool prompted = !in_document && take_prompt(&line);
    bool continued = !prompted && session->any && take_continuation(&line);
    if (!prompted && !continued && !in_document && !session->continues)
        return;
    session->any = true;
    add(session, line);
    if (in_document) {
        if (ends_here_document(session, line))
            session->delimiter[0] = '\0';
        return;
    }
    session->continues = line.length && line.at[line.length - 1] == '\\';
    note_here_document(session, line);
}

bool shell_session_begins(const char *code, size_t length)
{
    size_t at = 0;
    while (at < length && is_one_of(code[at], " \t\r\n"))
        at++;
    return at + 1 < length && code[at] == '$' && code[at + 1] == ' ';
}

bool shell_session_strip(const char *code, size_t length, char **changed, size_t *changed_length)
{
    struct session session = {.left = code, .left_length = length};
    struct line line;
    *changed = NULL;
    *changed_length = 0;
    if (length == 0)
        return true;
    session.script = malloc(length + 1);
    if (!session.script)
        return false;
    while (next_line(&session, &line))
        take_line(&session, line);
    if (!session.any) {
        free(session.script);
        return true;
    }
    *changed = session.script;
    *changed_length = session.script_length;
    return true;
}
