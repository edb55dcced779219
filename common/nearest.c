/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nearest.c: the edit distance between words, where a swap of neighbours is one edit, the case of a
 * letter is none, and `-` is `_` (workDir, work-dir, wrok_dir: all one edit from work_dir or less).
 */
#include "nearest.h"
#include "ascii.h"
#include <string.h>

#define WORD_MAX 64 /* longer words are near to nothing */

static char fold(char character)
{
    return character == '-' ? '_' : ascii_lower(character);
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t rows[3][WORD_MAX + 1];
    size_t *before = rows[0];
    size_t *above = rows[1];
    size_t *row = rows[2];
    for (size_t j = 0; j <= b_length; j++)
        above[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            bool same = fold(a[i - 1]) == fold(b[j - 1]);
            row[j] = smaller(smaller(above[j], row[j - 1]) + 1, above[j - 1] + (same ? 0 : 1));
            if (i > 1 && j > 1 && fold(a[i - 1]) == fold(b[j - 2]) &&
                fold(a[i - 2]) == fold(b[j - 1]))
                row[j] = smaller(row[j], before[j - 2] + 1);
        }
        size_t *unused = before;
        before = above;
        above = row;
        row = unused;
    }
    return above[b_length];
}

nearest_search nearest_begin(const char *word)
{
    size_t length = strlen(word);
    size_t near = length < 3 ? 0 : length < 5 ? 1 : length < 9 ? 2 : 3;
    return (nearest_search){.word = word, .distance = near};
}

bool nearest_consider(nearest_search *search, const char *known)
{
    size_t length = strlen(search->word);
    size_t known_length = strlen(known);
    if (length > WORD_MAX || known_length > WORD_MAX)
        return false;
    size_t found = distance(search->word, length, known, known_length);
    /* The first of equally near words stays. */
    if (found > search->distance || (found == search->distance && search->nearest))
        return false;
    search->distance = found;
    search->nearest = known;
    return true;
}
