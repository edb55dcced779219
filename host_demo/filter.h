/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter.h: what of code's output a terminal is given.
 *
 * Attack: output is data, but a terminal obeys what is in it. A sequence can make it send a report,
 * which then stands in our prompt as if it had been typed; fill the clipboard, set the title; move
 * the cursor up and overwrite what the host said about a block. So text passes, with colours and
 * movement within the line; every other sequence and control character does not. What goes to a
 * file or a pipe is never filtered.
 */
#ifndef HOST_DEMO_FILTER_H
#define HOST_DEMO_FILTER_H

#include "text.h"

enum filter_state { FILTER_TEXT, FILTER_ESCAPE, FILTER_SEQUENCE, FILTER_STRING };

/* One for each stream; all zero at the beginning. A sequence may be spread over several calls. */
struct filter {
    enum filter_state state;
    unsigned char lead;     /* 0xc2 held back until it is known what follows */
    unsigned continuations; /* bytes that belong to the UTF-8 sequence begun */
    char held[40];          /* a sequence, until it is known whether it passes */
    size_t held_length;
};

/* Appends to PASSED what of LENGTH bytes a terminal may have. False: no memory. */
bool filter_pass(struct filter *filter, const char *text, size_t length, struct bytes *passed);

#endif /* HOST_DEMO_FILTER_H */
