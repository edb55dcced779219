/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interrupt.h: what Ctrl-C and the signals that end a program do.
 *
 *     while something runs    Ctrl-C cancels it; once more, while it is still ending, ends the host
 *     while nothing runs      Ctrl-C ends the host, or wakes the prompt (interrupt_idle_wakes)
 *     SIGTERM, SIGHUP         cancel what runs, and the host cleans up and ends
 *     SIGPIPE                 is ignored: a write that fails says so where it happens
 *
 * The signals are blocked in every thread and taken by one of our own, so nothing happens in a
 * signal handler: cancel is allowed from any thread. However the host ends, its *last will* is done
 * first.
 */
#ifndef HOST_DEMO_INTERRUPT_H
#define HOST_DEMO_INTERRUPT_H

#include <code_executor.h>
#include <stdbool.h>

/* Takes the signals over. Before any other thread is made. */
int32_t interrupt_open(code_executor_error *error);

/* Ends the thread; the signals stay blocked. */
void interrupt_close(void);

/* What is done, on the thread of this file, when the host must end without its main thread; NULL
 * for nothing. It may take a lock of its own. */
void interrupt_last_will(void (*will)(void *state), void *state);

/* From now on Ctrl-C while nothing runs does not end the host but makes interrupt_descriptor
 * readable. */
void interrupt_idle_wakes(void);

/* From here to interrupt_finish something runs that CANCEL ends, called on the thread of this file,
 * perhaps more than once. False: the host is already asked to end; then nothing was begun. */
bool interrupt_begin(void (*cancel)(void *state), void *state);
void interrupt_finish(void);

/* Whether an interrupt came since interrupt_clear (or a signal that ends the host, at any time). */
bool interrupt_pending(void);
void interrupt_clear(void);

/* Between the two, an interrupt that is pending makes system calls of the calling thread fail
 * with EINTR, again and again: a write to somebody who does not read must not outlast Ctrl-C.
 * One thread at a time. */
void interrupt_breaks_calls(void);
void interrupt_spares_calls(void);

/* Readable (do not read) while interrupt_pending. */
int interrupt_descriptor(void);

/* The signal that asks the host to end, or 0. */
int interrupt_ending(void);

/* Whether the calling thread is the one of this file. */
bool interrupt_is_this_thread(void);

#endif /* HOST_DEMO_INTERRUPT_H */
