/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nearest.c: the number of letters to insert, delete, replace or swap, without regard to case. Long
 * words are compared to none: nobody misspells 60 letters.
 */
#include "nearest.h"

#include "ascii.h"
#include <string.h>

enum { LIMIT = sizeof(((nearest_word *)0)->best) - 1 };

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Both at most LIMIT long. Rows of the usual table, three of which are enough to see a swap. */
static size_t distance_between(const char *a, const char *b)
{
    size_t rows[3][LIMIT + 1];
    size_t length_a = strlen(a);
    size_t length_b = strlen(b);
    for (size_t j = 0; j <= length_b; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= length_a; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3];
        const size_t *two_above = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= length_b; j++) {
            size_t other = ascii_lower(a[i - 1]) != ascii_lower(b[j - 1]);
            row[j] = smaller(smaller(above[j], row[j - 1]) + 1, above[j - 1] + other);
            if (i > 1 && j > 1 && ascii_lower(a[i - 1]) == ascii_lower(b[j - 2]) &&
                ascii_lower(a[i - 2]) == ascii_lower(b[j - 1]))
                row[j] = smaller(row[j], two_above[j - 2] + 1);
        }
    }
    return rows[length_a % 3][length_b];
}

void nearest_word_begin(nearest_word *nearest, const char *wanted)
{
    *nearest = (nearest_word){.wanted = wanted, .distance = LIMIT};
}

void nearest_word_offer(nearest_word *nearest, const char *candidate)
{
    if (strnlen(nearest->wanted, LIMIT + 1) > LIMIT || strnlen(candidate, LIMIT + 1) > LIMIT)
        return;
    size_t distance = distance_between(nearest->wanted, candidate);
    if (distance < nearest->distance) {
        nearest->distance = distance;
        strcpy(nearest->best, candidate);
    }
}

const char *nearest_word_get(const nearest_word *nearest)
{
    size_t length = strlen(nearest->best);
    return length > 0 && nearest->distance <= 1 + length / 3 ? nearest->best : NULL;
}
