/* SPDX-License-Identifier: Apache-2.0 */
/* measure.c: see measure.h. */
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>

static int lines_over;

static int compare(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a;
    int64_t right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

void measure(struct contender *contenders, int count, int rounds)
{
    for (int i = 0; i < count; i++)
        contenders[i].median_ms = contenders[i].once(contenders[i].context) < 0 ? -1 : 0;
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < count; i++) {
            struct contender *one = &contenders[i];
            if (one->median_ms < 0)
                continue;
            one->times[round] = one->once(one->context);
            if (one->times[round] < 0)
                one->median_ms = -1;
        }
    }
    for (int i = 0; i < count; i++) {
        struct contender *one = &contenders[i];
        if (one->median_ms < 0) {
            printf("  %-52s %10s\n", one->name, "failed");
            continue;
        }
        qsort(one->times, (size_t)rounds, sizeof one->times[0], compare);
        one->median_ms = (double)one->times[rounds / 2] / 1e6;
        printf("  %-52s %10.2f ms\n", one->name, one->median_ms);
    }
}

static void report(const char *what, double value, const char *unit, double budget, bool at_least)
{
    if (value < 0) {
        printf("  %-52s %10s\n", what, "unknown");
        return;
    }
    printf("  %-52s %10.2f %-4s", what, value, unit);
    if (budget > 0) {
        bool good = at_least ? value >= budget : value <= budget;
        lines_over += !good;
        printf(" budget: %s %g %s%s", at_least ? "at least" : "at most", budget, unit,
               good ? "" : "   << over");
    }
    putchar('\n');
    fflush(stdout);
}

void report_ratio(const char *what, double value, double at_most)
{
    report(what, value, "x", at_most, false);
}

void report_at_least(const char *what, double value, double at_least)
{
    report(what, value, "x", at_least, true);
}

void report_amount(const char *what, double value, const char *unit, double at_most)
{
    report(what, value, unit, at_most, false);
}

int over_budget(void)
{
    return lines_over;
}
