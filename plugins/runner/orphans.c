/* SPDX-License-Identifier: Apache-2.0 */
/*
 * orphans.c: see orphans.h.
 *
 * One pass at a time, between which the main loop goes on. As PID 1 of a container the runner inherits
 * more than what it started (what somebody ran with `docker exec` and left behind); when there are
 * orphans to kill, these cannot be told apart and go along.
 */
#include "orphans.h"
#include "kill_tree.h"
#include "system.h"

/* How long orphans that do not die hold up what waits for their end. */
#define PATIENCE_MS 2500u
/* Between two killings, before and after that. */
#define PAUSE_MS          5u
#define STUBBORN_PAUSE_MS 1000u

static struct {
    bool active;
    uint64_t deadline; /* of the patience */
    uint64_t next_pass;
    struct tree_kill killing;
} orphans;

void orphans_kill(void)
{
    orphans.active = true;
    orphans.deadline = moment_after(PATIENCE_MS);
    orphans.next_pass = 0;
}

bool orphans_hold_up(void)
{
    return orphans.active && now_ns() < orphans.deadline;
}

uint64_t orphans_deadline(void)
{
    return orphans.active ? orphans.next_pass : NEVER;
}

void orphans_advance(const pid_t *supervisors, size_t count, bool childless)
{
    if (!orphans.active || now_ns() < orphans.next_pass)
        return;
    bool killed = childless || tree_kill_pass(&orphans.killing, supervisors, count);
    if (childless || orphans.killing.met == 0) {
        orphans.active = false;
        tree_kill_release(&orphans.killing);
    } else if (killed) {
        orphans.next_pass = moment_after(orphans_hold_up() ? PAUSE_MS : STUBBORN_PAUSE_MS);
    }
}
