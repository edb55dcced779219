/* SPDX-License-Identifier: Apache-2.0 */
/* mount_list.c: see mount_list.h. */
#include "mount_list.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* The whole of FILE, free(); NULL where it cannot be read. */
static char *read_whole(const char *file)
{
    size_t room = 16384;
    size_t length = 0;
    char *text = malloc(room);
    int descriptor = open(file, O_RDONLY | O_CLOEXEC);
    ssize_t part = text && descriptor >= 0 ? 1 : -1;
    while (part > 0) {
        if (length + 1 == room) {
            char *more = realloc(text, 2 * room);
            if (!more) {
                part = -1;
                break;
            }
            text = more;
            room *= 2;
        }
        part = read(descriptor, text + length, room - length - 1);
        length += part > 0 ? (size_t)part : 0;
    }
    if (descriptor >= 0)
        close(descriptor);
    if (part < 0) {
        free(text);
        return NULL;
    }
    text[length] = '\0';
    return text;
}

/* Undoes the \040 by which mountinfo writes a space, in place. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from; to++) {
        unsigned code = 0;
        if (from[0] == '\\' && sscanf(from + 1, "%3o", &code) == 1) {
            *to = (char)code;
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

/* `ID PARENT DEVICE ROOT PLACE … - TYPE SOURCE OPTIONS`; LINE is taken apart. */
static bool read_line(char *line, mount_entry *entry)
{
    char *tail = strstr(line, " - ");
    if (!tail)
        return false;
    *tail = '\0';
    char *rest = NULL;
    char *field = strtok_r(line, " ", &rest);
    for (int i = 1; field && i < 4; i++)
        field = strtok_r(NULL, " ", &rest);
    entry->root = field;
    entry->place = field ? strtok_r(NULL, " ", &rest) : NULL;
    entry->type = strtok_r(tail + 3, " ", &rest);
    bool whole = entry->type && strtok_r(NULL, " ", &rest);
    entry->options = whole ? strtok_r(NULL, " ", &rest) : NULL;
    if (!entry->place || !entry->options)
        return false;
    unescape(entry->root);
    unescape(entry->place);
    return true;
}

void mount_list_read(mount_list *list, const char *file)
{
    memset(list, 0, sizeof *list);
    list->text = read_whole(file);
    size_t lines = 1;
    for (const char *at = list->text; at && (at = strchr(at, '\n')); at++)
        lines++;
    list->entries = list->text ? calloc(lines, sizeof *list->entries) : NULL;
    char *rest = NULL;
    char *line = list->entries ? strtok_r(list->text, "\n", &rest) : NULL;
    for (; line; line = strtok_r(NULL, "\n", &rest))
        list->count += read_line(line, &list->entries[list->count]);
}

void mount_list_free(mount_list *list)
{
    free(list->entries);
    free(list->text);
    memset(list, 0, sizeof *list);
}
