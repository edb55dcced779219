/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.c: see record.h.
 */
#include "record.h"
#include "system.h"
#include <stdlib.h>
#include <unistd.h>

struct execution *executions;
uint32_t in_flight;

struct execution *find_execution(uint32_t number)
{
    for (struct execution *execution = executions; execution; execution = execution->next)
        if (execution->number == number)
            return execution;
    return NULL;
}

bool is_idle(const struct execution *execution)
{
    return execution->phase == RESTING || execution->phase == SPARE;
}

struct execution *add_execution(uint32_t number)
{
    struct execution *execution = calloc(1, sizeof *execution);
    if (!execution)
        return NULL;
    execution->number = number;
    execution->phase = GATHERING;
    execution->launched = LAUNCHED_NONE;
    execution->input = INPUT_NONE;
    execution->overdue = NEVER;
    execution->next = executions;
    executions = execution;
    in_flight++;
    return execution;
}

void close_descriptor(int *descriptor)
{
    if (*descriptor >= 0)
        close(*descriptor);
    *descriptor = -1;
}

void free_execution(struct execution *execution)
{
    struct execution **link = &executions;
    while (*link != execution)
        link = &(*link)->next;
    *link = execution->next;
    close_descriptor(&execution->launched.channel);
    close_descriptor(&execution->input.descriptor);
    close_descriptor(&execution->launched.outputs[0]);
    close_descriptor(&execution->launched.outputs[1]);
    free(execution);
}
