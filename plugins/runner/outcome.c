/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outcome.c: see outcome.h.
 */
#include "outcome.h"
#include "connection.h"
#include "memory_events.h"
#include <signal.h>
#include <string.h>

static bool killed_for_memory(const struct supervisor_report *report, uint64_t memory_kills)
{
    bool by_kernel = report->how == EXIT_SIGNALLED && report->signal == SIGKILL;
    bool says_shell = report->how == EXIT_EXITED && report->exit_code == 128 + SIGKILL;
    bool supervisor = report->how == EXIT_LOST;
    return (by_kernel || says_shell || supervisor) && memory_events_kills() > memory_kills;
}

void outcome_settle(struct supervisor_report *report, bool cancelled, uint64_t memory_kills)
{
    if (report->how == EXIT_NOT_STARTED)
        return;
    if (cancelled)
        report->how = EXIT_CANCELLED;
    else if (killed_for_memory(report, memory_kills))
        report->how = EXIT_OUT_OF_MEMORY;
    if (report->how != EXIT_EXITED)
        report->exit_code = 0;
    if (report->how != EXIT_SIGNALLED)
        report->signal = 0;
}

void outcome_send(uint32_t number, const struct supervisor_report *report)
{
    size_t detail = strlen(report->detail);
    unsigned char *payload = connection_reserve(48 + detail);
    if (!payload)
        return;
    const uint32_t numbers[] = {report->how, report->exit_code, report->signal, report->error,
                                report->candidate};
    const uint64_t measures[] = {report->wall_ns, report->cpu_ns, report->peak_memory_bytes};
    unsigned char *at = payload;
    for (size_t i = 0; i < 5; i++, at += 4)
        put_u32(at, numbers[i]);
    for (size_t i = 0; i < 3; i++, at += 8)
        put_u64(at, measures[i]);
    put_u32(at, (uint32_t)detail);
    memcpy(at + 4, report->detail, detail);
    connection_queue((struct frame_header){(uint32_t)(at + 4 - payload) + (uint32_t)detail,
                                           FRAME_EXIT, 0, number});
}
