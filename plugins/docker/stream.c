/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.c: reads heads of answers and multiplexed output; see stream.h.
 */
#include "stream.h"
#include <string.h>
#include <strings.h>

/* "HTTP/1.1 101 UPGRADED": -1 where LINE is no status line. */
static int read_status(const char *line)
{
    if (strncmp(line, "HTTP/1.", 7) != 0 || line[7] < '0' || line[7] > '9' || line[8] != ' ')
        return -1;
    int status = 0;
    for (int i = 9; i < 12; i++) {
        if (line[i] < '0' || line[i] > '9')
            return -1;
        status = 10 * status + (line[i] - '0');
    }
    bool ends = line[12] == ' ' || line[12] == '\r' || line[12] == '\n';
    return ends && status >= 100 ? status : -1;
}

/* -1: absent, or no number that makes sense. */
static int64_t read_content_length(const char *head)
{
    static const char name[] = "content-length:";
    for (const char *line = strchr(head, '\n'); line; line = strchr(line + 1, '\n')) {
        if (strncasecmp(line + 1, name, sizeof name - 1) != 0)
            continue;
        const char *digit = line + sizeof name;
        digit += strspn(digit, " \t");
        int64_t value = 0;
        size_t digits = strspn(digit, "0123456789");
        if (digits == 0 || digits > 15)
            return -1;
        for (size_t i = 0; i < digits; i++)
            value = 10 * value + (digit[i] - '0');
        return value;
    }
    return -1;
}

static bool at_end(const struct response_head *head)
{
    size_t length = head->length;
    return (length >= 4 && memcmp(head->bytes + length - 4, "\r\n\r\n", 4) == 0) ||
           (length >= 2 && memcmp(head->bytes + length - 2, "\n\n", 2) == 0);
}

/* No byte of an answer may be other than "HTTP/1." where that has to stand. */
static bool begins_well(const struct response_head *head)
{
    static const char start[] = "HTTP/1.";
    size_t length = head->length < sizeof start - 1 ? head->length : sizeof start - 1;
    return memcmp(head->bytes, start, length) == 0;
}

static bool is_interim(int status)
{
    return status / 100 == 1 && status != 101;
}

enum head_progress response_head_feed(struct response_head *head, const char *bytes, size_t length,
                                      size_t *taken)
{
    for (*taken = 0; *taken < length;) {
        if (head->length + 1 == sizeof head->bytes || bytes[*taken] == '\0')
            return HEAD_MALFORMED;
        head->bytes[head->length++] = bytes[(*taken)++];
        if (!begins_well(head))
            return HEAD_MALFORMED;
        if (!at_end(head))
            continue;
        head->bytes[head->length] = '\0';
        head->status = read_status(head->bytes);
        if (head->status < 0)
            return HEAD_MALFORMED;
        head->content_length = read_content_length(head->bytes);
        if (!is_interim(head->status))
            return HEAD_COMPLETE;
        head->length = 0;
    }
    return HEAD_INCOMPLETE;
}

/* The header's parts; false where it is none. */
static bool open_piece(struct demultiplexer *state)
{
    const unsigned char *header = state->header;
    if (header[0] > STREAM_SYSTEM || header[1] || header[2] || header[3])
        return false;
    state->left = (uint32_t)header[4] << 24 | (uint32_t)header[5] << 16 | (uint32_t)header[6] << 8 |
                  (uint32_t)header[7];
    if (state->left == 0)
        state->header_length = 0;
    return true;
}

ptrdiff_t demultiplexer_next(struct demultiplexer *state, const char *bytes, size_t length,
                             struct stretch *stretch)
{
    size_t used = 0;
    *stretch = (struct stretch){0};
    while (state->left == 0 && used < length) {
        size_t wanted = STREAM_HEADER_SIZE - state->header_length;
        size_t part = length - used < wanted ? length - used : wanted;
        memcpy(state->header + state->header_length, bytes + used, part);
        state->header_length += part;
        used += part;
        if (state->header_length == STREAM_HEADER_SIZE && !open_piece(state))
            return -1;
    }
    if (used < length) {
        stretch->stream = state->header[0];
        stretch->bytes = bytes + used;
        stretch->length = length - used < state->left ? length - used : state->left;
        state->left -= (uint32_t)stretch->length;
        used += stretch->length;
        if (state->left == 0)
            state->header_length = 0;
    }
    return (ptrdiff_t)used;
}
