/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message.h: a Markdown message, from a file or from stdin, as it is.
 */
#ifndef HOST_DEMO_MESSAGE_H
#define HOST_DEMO_MESSAGE_H

#include "text.h"

/* Reads FILE ("-" or NULL: stdin) to its end, 256 MiB at most: a file without an end (/dev/zero)
 * must not take all memory. Where stdin is a terminal, says what to do. */
int32_t message_read(const char *file, struct bytes *message, code_executor_error *error);

#endif /* HOST_DEMO_MESSAGE_H */
