/* SPDX-License-Identifier: Apache-2.0 */
/* parallel.c: see parallel.h. */
#include "parallel.h"

#include "spawn.h"

#include <pthread.h>

struct worker {
    bool (*work)(void *context, int index);
    void *context;
    int index;
    pthread_t thread;
    bool good;
};

static void *run_worker(void *argument)
{
    struct worker *worker = argument;
    worker->good = worker->work(worker->context, worker->index);
    return NULL;
}

int64_t parallel_ns(int count, bool (*work)(void *context, int index), void *context)
{
    struct worker workers[PARALLEL_MOST];
    int64_t began = now_ns();
    int started = 0;
    while (started < count && started < PARALLEL_MOST) {
        struct worker *worker = &workers[started];
        *worker = (struct worker){.work = work, .context = context, .index = started};
        if (pthread_create(&worker->thread, NULL, run_worker, worker) != 0)
            break;
        started++;
    }
    bool good = started == count;
    for (int i = 0; i < started; i++) {
        pthread_join(workers[i].thread, NULL);
        good = workers[i].good && good;
    }
    return good ? now_ns() - began : -1;
}
