/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal.h: everything that leaves the program by stdout and stderr.
 *
 * Code's own output goes to the stream it was written to, byte for byte; what host_demo itself says
 * goes to stderr, begins on a line of its own, and is coloured where stderr is a terminal (and
 * NO_COLOR is not set). On a terminal code's output passes a filter, see terminal_write.
 */
#ifndef HOST_DEMO_TERMINAL_H
#define HOST_DEMO_TERMINAL_H

#include "text.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tone { TONE_PLAIN, TONE_BOLD, TONE_DIM, TONE_RED, TONE_GREEN, TONE_YELLOW, TONE_CYAN };

/* Before anything else: looks at the three standard descriptors, and makes sure that none is
 * free to be taken by a file or socket that code's output would then go into. */
void terminal_open(void);

/* Notes are left out. */
void terminal_be_quiet(void);
bool terminal_is_quiet(void);

/* Whether a person sees it; descriptor 0, 1 or 2. */
bool terminal_is(int descriptor);

/* Columns of stderr's terminal, 80 where there is none. */
size_t terminal_columns(void);

/* What switches a tone on and off on a descriptor, "" where it has no colours. */
const char *tone_on(int descriptor, enum tone tone);
const char *tone_off(int descriptor);

/* Signs that need UTF-8, with what stands for them where the terminal has none. */
const char *sign_arrow(void);
const char *sign_more(void);

/* A line about what went wrong: "host_demo: ...". */
void say_problem(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A line that is good to know: "host_demo: ...", unless quiet. */
void say_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Lines of a dialogue, without a name in front. Text from elsewhere must have been made visible;
 * TONE holds for the whole. */
void say(enum tone tone, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A control sequence to stderr that shows nothing. */
void say_control(const char *sequence);

/* After an interrupt: the terminal has shown ^C behind whatever stood there. */
void terminal_expect_echo(void);

/* Text as it is to stderr, which host_demo made and may hold tones. */
void say_text(const struct bytes *text);

/* A line that the next one replaces, on a terminal only. */
void say_progress(const char *what, uint64_t done, uint64_t total);

/*
 * Bytes that code wrote to stdout (1) or stderr (2). On a terminal, sequences that do more than
 * move and colour are left out: code that may not be trusted must not set titles or the clipboard,
 * nor make the terminal type an answer into our prompt. False: they cannot be written; errno says
 * why, EINTR that an interrupt came.
 */
bool terminal_write(int descriptor, const char *text, size_t length);

/* The same as terminal_write without a filter, for what host_demo itself writes to stdout. */
bool terminal_write_plain(int descriptor, const char *text, size_t length);

/* For a command whose stdout failed with errno: says so, unless nobody reads it any more, and
 * returns the exit status for it. */
int terminal_lost_stdout(void);

#endif /* HOST_DEMO_TERMINAL_H */
