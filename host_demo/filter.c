/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter.c: a state machine over ECMA-48 escape sequences, one function a state. A byte that a
 * state does not expect ends the sequence and is dropped with it; a newline always gets through, so
 * that a sequence that never ends cannot swallow more than a line.
 */
#include "filter.h"
#include <string.h>

enum { ESCAPE = 0x1b };

/* Last bytes of the control sequences that pass: colour, and editing and moving within a line. */
static const char harmless_endings[] = "mKCDGPX@";

/* Sequences with a private mark that pass: the cursor's visibility, as progress bars use it. */
static const char *const harmless_modes[] = {"\033[?25h", "\033[?25l"};

static bool is_harmless(const struct filter *filter)
{
    for (size_t i = 0; i < sizeof harmless_modes / sizeof *harmless_modes; i++)
        if (strlen(harmless_modes[i]) == filter->held_length &&
            memcmp(harmless_modes[i], filter->held, filter->held_length) == 0)
            return true;
    size_t last = filter->held_length - 1;
    for (size_t i = 2; i < last; i++)
        if (strchr("0123456789;:", filter->held[i]) == NULL)
            return false;
    return strchr(harmless_endings, filter->held[last]) != NULL;
}

static bool hold(struct filter *filter, unsigned char byte)
{
    if (filter->held_length == sizeof filter->held)
        return false;
    filter->held[filter->held_length++] = (char)byte;
    return true;
}

/* C1 control characters (U+0080 to U+009F) are escape sequences in one character, so 0xc2 waits for
 * what follows it. */
static bool pass_high(struct filter *filter, unsigned char byte, struct bytes *passed)
{
    if (filter->lead != 0) {
        filter->lead = 0;
        filter->continuations = 0;
        const char both[] = {(char)0xc2, (char)byte};
        return byte < 0xa0 || byte > 0xbf || bytes_append(passed, both, 2);
    }
    if (byte < 0xc0) {
        if (filter->continuations == 0)
            return bytes_append_text(passed, "?");
        filter->continuations--;
        return bytes_append(passed, &byte, 1);
    }
    if (byte > 0xf4)
        return bytes_append_text(passed, "?");
    filter->continuations = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : 1;
    if (byte == 0xc2) {
        filter->lead = byte;
        return true;
    }
    return bytes_append(passed, &byte, 1);
}

static bool pass_text(struct filter *filter, unsigned char byte, struct bytes *passed)
{
    if (byte >= 0x80)
        return pass_high(filter, byte, passed);
    filter->lead = 0;
    filter->continuations = 0;
    if (byte == ESCAPE) {
        filter->state = FILTER_ESCAPE;
        filter->held_length = 0;
        return hold(filter, byte);
    }
    bool printable = (byte >= 0x20 && byte != 0x7f) || (byte != 0 && strchr("\n\r\t\b", byte));
    return !printable || bytes_append(passed, &byte, 1);
}

static void take_escape(struct filter *filter, unsigned char byte)
{
    if (byte == '[')
        filter->state = hold(filter, byte) ? FILTER_SEQUENCE : FILTER_TEXT;
    else if (byte != 0 && strchr("]PX^_", byte) != NULL)
        filter->state = FILTER_STRING;
    else if (byte < 0x20 || byte > 0x2f)
        filter->state = FILTER_TEXT;
}

static bool take_sequence(struct filter *filter, unsigned char byte, struct bytes *passed)
{
    if (byte < 0x20 || byte > 0x7e || !hold(filter, byte)) {
        filter->state = FILTER_TEXT;
        return true;
    }
    if (byte < 0x40)
        return true;
    filter->state = FILTER_TEXT;
    return !is_harmless(filter) || bytes_append(passed, filter->held, filter->held_length);
}

static bool take_byte(struct filter *filter, unsigned char byte, struct bytes *passed)
{
    if (byte == '\n' || (byte == ESCAPE && filter->state != FILTER_TEXT))
        filter->state = FILTER_TEXT;
    switch (filter->state) {
    case FILTER_ESCAPE:
        take_escape(filter, byte);
        return true;
    case FILTER_SEQUENCE:
        return take_sequence(filter, byte, passed);
    case FILTER_STRING:
        filter->state = byte == '\a' ? FILTER_TEXT : FILTER_STRING;
        return true;
    case FILTER_TEXT:
    default:
        return pass_text(filter, byte, passed);
    }
}

bool filter_pass(struct filter *filter, const char *text, size_t length, struct bytes *passed)
{
    for (size_t i = 0; i < length; i++)
        if (!take_byte(filter, (unsigned char)text[i], passed))
            return false;
    return true;
}
