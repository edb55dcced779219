/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compose.h: puts a message together from what is typed or pasted.
 *
 * An empty line ends a message, but neither inside a fence, which is read to its end, nor inside
 * what was pasted in one go. A first line that begins with a colon is a command, and so
 * is one that is a slash and a word, of which the commands say how it is spelled here.
 */
#ifndef HOST_DEMO_COMPOSE_H
#define HOST_DEMO_COMPOSE_H

#include "input.h"
#include "text.h"

enum composed {
    COMPOSED_MESSAGE,
    COMPOSED_COMMAND,
    COMPOSED_NOTHING, /* dropped, or empty */
    COMPOSED_END,     /* there is no more */
};

enum composed compose(struct input *input, struct bytes *text);

#endif /* HOST_DEMO_COMPOSE_H */
