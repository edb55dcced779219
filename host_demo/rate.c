/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rate.c: see rate.h.
 */
#include "rate.h"

/* Between two looks; a shorter time would show how the counts are reported, not how they grow. */
#define LOOK_SECONDS 0.5
/* What the latest look weighs against all before. */
#define WEIGHT 0.3

double rate_note(struct rate *rate, uint64_t count, double now)
{
    if (rate->since == 0 || count < rate->counted) {
        *rate = (struct rate){.since = now, .counted = count};
        return 0;
    }
    double seconds = now - rate->since;
    if (seconds < LOOK_SECONDS)
        return rate->each_second;
    double latest = (double)(count - rate->counted) / seconds;
    rate->each_second =
        rate->each_second == 0 ? latest : (1 - WEIGHT) * rate->each_second + WEIGHT * latest;
    rate->since = now;
    rate->counted = count;
    return rate->each_second;
}
