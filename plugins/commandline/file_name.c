/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_name.c: from a first line to a path that cannot leave the workspace by itself; that it does
 * not leave through a link is workspace.c's care. See file_name.h.
 */
#include "file_name.h"
#include "ascii.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

const char file_name_outside[] = "Filename is not in the workspace";

/* A piece of the code. */
struct piece {
    const char *at;
    size_t length;
};

static const struct comment {
    const char *open;
    const char *close; /* NULL: the end of the line */
} comments[] = {
    {"#", NULL}, {"//", NULL}, {"--", NULL}, {"/*", "*/"}, {"<!--", "-->"},
};

static bool is_blank(char character)
{
    return character == ' ' || character == '\t' || character == '\r' || character == '\f' ||
           character == '\v';
}

static bool skip(struct piece *piece, const char *prefix)
{
    size_t length = strlen(prefix);
    if (piece->length < length)
        return false;
    for (size_t i = 0; i < length; i++)
        if (ascii_lower(piece->at[i]) != prefix[i])
            return false;
    piece->at += length;
    piece->length -= length;
    return true;
}

static void trim(struct piece *piece)
{
    while (piece->length && is_blank(piece->at[0])) {
        piece->at++;
        piece->length--;
    }
    while (piece->length && is_blank(piece->at[piece->length - 1]))
        piece->length--;
}

/* The inside of the comment that the first line of CODE is. Looks no further than the first line,
 * and at no more of it than its mark when it is no comment. */
static bool find_comment(struct piece code, struct piece *inside)
{
    skip(&code, "\xef\xbb\xbf");
    while (code.length && is_blank(code.at[0])) {
        code.at++;
        code.length--;
    }
    for (size_t i = 0; i < sizeof comments / sizeof comments[0]; i++) {
        if (!skip(&code, comments[i].open))
            continue;
        const char *end = memchr(code.at, '\n', code.length);
        if (end)
            code.length = (size_t)(end - code.at);
        const char *close = comments[i].close;
        end = close ? memmem(code.at, code.length, close, strlen(close)) : NULL;
        if (end)
            code.length = (size_t)(end - code.at);
        *inside = code;
        return true;
    }
    return false;
}

static void strip_quotes(struct piece *piece)
{
    char first = piece->length < 2 ? '\0' : piece->at[0];
    if ((first == '"' || first == '\'' || first == '`') && piece->at[piece->length - 1] == first) {
        piece->at++;
        piece->length -= 2;
        trim(piece);
    }
}

static bool is_plain(char character)
{
    char lower = ascii_lower(character);
    return (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9') || lower == '_' ||
           lower == '.' || lower == '/' || lower == '-';
}

/* Whether PIECE ends in a dot and EXTENSION, with something before them in its last part. */
static bool has_extension(struct piece piece, const char *extension)
{
    size_t length = strlen(extension);
    if (piece.length < length + 2)
        return false;
    struct piece end = {piece.at + piece.length - length - 1, length + 1};
    return end.at[-1] != '/' && skip(&end, ".") && skip(&end, extension);
}

static bool is_bare_name(const language *known, struct piece piece)
{
    for (size_t i = 0; i < piece.length; i++)
        if (!is_plain(piece.at[i]))
            return false;
    for (size_t i = 0; i < known->name_extension_count; i++)
        if (has_extension(piece, known->name_extensions[i]))
            return true;
    return false;
}

/* The name as it stands in the comment. */
static bool find_name(const language *known, struct piece code, struct piece *name)
{
    if (!find_comment(code, name))
        return false;
    bool blank = name->length && is_blank(name->at[0]);
    trim(name);
    if (skip(name, "filename:")) {
        trim(name);
        strip_quotes(name);
        return name->length > 0;
    }
    /* Without the blank, //bin/run.sh is a command. */
    return blank && is_bare_name(known, *name);
}

/*
 * Writes NAME to PATH without `.`, `..` and empty parts. By words alone: links are never followed,
 * so `a/..` is where it seems to be. Returns the objection, or NULL.
 */
static const char *normalise(struct piece name, char *path)
{
    size_t length = 0;
    bool folder = true; /* whether the last part names a folder: none, `.`, `..` or empty */
    if (name.at[0] == '/' || memchr(name.at, '\0', name.length))
        return file_name_outside;
    for (size_t begin = 0; begin <= name.length;) {
        const char *slash = memchr(name.at + begin, '/', name.length - begin);
        size_t end = slash ? (size_t)(slash - name.at) : name.length;
        const char *part = name.at + begin;
        size_t part_length = end - begin;
        begin = end + 1;
        folder = part_length == 0 || (part_length == 1 && part[0] == '.') ||
                 (part_length == 2 && memcmp(part, "..", 2) == 0);
        if (part_length > NAME_MAX)
            return "Filename is too long";
        if (folder && part_length == 2) {
            if (length == 0)
                return file_name_outside;
            while (length && path[--length] != '/')
                ;
        }
        if (folder)
            continue;
        if (length)
            path[length++] = '/';
        memcpy(path + length, part, part_length);
        length += part_length;
    }
    path[length] = '\0';
    return folder ? "Filename is that of a folder" : NULL;
}

bool file_name_read(const language *known, const char *code, size_t length, char **name,
                    const char **objection)
{
    *name = NULL;
    *objection = NULL;
    struct piece found;
    if (!find_name(known, (struct piece){code, length}, &found))
        return true;
    if (found.length >= PATH_MAX) {
        *objection = "Filename is too long";
        return true;
    }
    *name = malloc(found.length + 1);
    if (!*name)
        return false;
    *objection = normalise(found, *name);
    if (*objection) {
        free(*name);
        *name = NULL;
    }
    return true;
}
