/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.c: letters, characters and short forms; see text.h.
 */
#include "text.h"
#include "ascii.h"
#include <string.h>

#define ELLIPSIS "\xe2\x80\xa6"

bool text_equal(const char *a, const char *b)
{
    while (*a && ascii_lower(*a) == ascii_lower(*b)) {
        a++;
        b++;
    }
    return ascii_lower(*a) == ascii_lower(*b);
}

static bool is_continuation(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

static size_t character_length(char lead)
{
    unsigned char byte = (unsigned char)lead;
    return byte < 0xc0 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : byte < 0xf8 ? 4 : 1;
}

size_t text_boundary(const char *bytes, size_t length)
{
    for (size_t back = 1; back <= 4 && back <= length; back++) {
        char byte = bytes[length - back];
        if (!is_continuation(byte))
            return character_length(byte) > back ? length - back : length;
    }
    return length;
}

const char *text_shorten(const char *word, char *buffer, size_t size)
{
    size_t length = strnlen(word, size);
    bool whole = length < size;
    if (!whole)
        length = text_boundary(word, size - sizeof ELLIPSIS);
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)word[i];
        buffer[i] = byte < 0x20 || byte == 0x7f ? '?' : word[i];
    }
    if (whole)
        buffer[length] = '\0';
    else
        memcpy(buffer + length, ELLIPSIS, sizeof ELLIPSIS);
    return buffer;
}
