/* SPDX-License-Identifier: Apache-2.0 */
/*
 * measure.h: contenders take turns (so that what slows the machine slows all of them), and the median of
 * each counts.
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

enum { MOST_ROUNDS = 400 };

struct contender {
    const char *name;
    /* Does the work once; returns nanoseconds, or -1 where it failed or cannot be done here. */
    int64_t (*once)(void *context);
    void *context;
    int64_t times[MOST_ROUNDS];
    double median_ms; /* -1 where it failed */
};

/* Lets each contender run once unmeasured, then ROUNDS times in turns. One that fails is left out. */
void measure(struct contender *contenders, int count, int rounds);

/* One line: WHAT, its value with a unit (negative: unknown), and the budget that it has to keep to
 * (0: none). */
void report_ratio(const char *what, double value, double at_most);
void report_at_least(const char *what, double value, double at_least);
void report_amount(const char *what, double value, const char *unit, double at_most);

/* How many lines were over their budget. */
int over_budget(void);

#endif /* BENCH_MEASURE_H */
