/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rate.h: how fast a count grows.
 */
#ifndef HOST_DEMO_RATE_H
#define HOST_DEMO_RATE_H

#include <stdint.h>

struct rate {
    double since; /* seconds; 0: nothing has been counted yet */
    uint64_t counted;
    double each_second; /* 0: not known yet */
};

/* Notes a COUNT at the time NOW in seconds; a smaller one than before begins anew. Returns how much it grows
 * in a second, smoothed; 0: not known yet. */
double rate_note(struct rate *rate, uint64_t count, double now);

#endif /* HOST_DEMO_RATE_H */
