/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ascii.h: letters without regard to case. The C library's functions follow the host's locale, in some
 * of which the lower case of I is no i.
 */
#ifndef CODE_EXECUTOR_ASCII_H
#define CODE_EXECUTOR_ASCII_H

#include <stdbool.h>
#include <stddef.h>

static inline char ascii_lower(char letter)
{
    return (char)(letter >= 'A' && letter <= 'Z' ? letter + ('a' - 'A') : letter);
}

static inline bool ascii_equal(const char *a, const char *b, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (ascii_lower(a[i]) != ascii_lower(b[i]))
            return false;
    return true;
}

#endif /* CODE_EXECUTOR_ASCII_H */
