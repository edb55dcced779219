/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input.h: what a person types or pastes into the dialogue, or what a script feeds it.
 *
 * On a terminal lines are edited (libedit) and remembered, and a paste of several lines arrives as
 * one (bracketed paste). Elsewhere lines are read as they are, without a prompt.
 */
#ifndef HOST_DEMO_INPUT_H
#define HOST_DEMO_INPUT_H

#include "text.h"

enum input_event {
    INPUT_LINE,      /* one line, without its newline */
    INPUT_PASTE,     /* several lines, each with its newline */
    INPUT_INTERRUPT, /* Ctrl-C; what was typed is dropped */
    INPUT_END,       /* Ctrl-D on an empty line */
    INPUT_GONE,      /* stdin has ended, or the host is asked to end: there will be no more */
};

struct input;

/* COMPLETIONS: COUNT words that a tab completes at the beginning of a line. They are not copied. */
int32_t input_open(const char *const *completions, size_t count, struct input **opened,
                   code_executor_error *error);
void input_close(struct input *input);

/* Whether lines are edited on a terminal. */
bool input_is_edited(const struct input *input);

/* Waits for the next event; TEXT is replaced by what came with it. */
enum input_event input_next(struct input *input, const char *prompt, struct bytes *text);

/* Keeps a line for the arrow keys and for the next time. */
void input_remember(struct input *input, const char *line);

/*
 * Attack: a message may hold an empty line, and behind it the answer to the question whether it
 * shall run. Where the terminal does not bracket what is pasted, it cannot be told from typing but
 * by its haste. These two do: whether more is waiting already, and forgetting what came before a
 * question.
 */
bool input_more_waits(struct input *input);
void input_forget_waiting(struct input *input);

#endif /* HOST_DEMO_INPUT_H */
