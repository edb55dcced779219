/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lifecycle.h: whether an executor's environment is up, and who may use it, bring it up or take it down.
 *
 *              bring_up              launch ok
 *     STOPPED ──────────▶ STARTING ───────────▶ STARTED ──┐ restart, lost, work_dir replaced
 *        ▲                 │    ▲                  │      ▼
 *        │◀────────────────┘    └──────────────────┼── STARTING
 *        │   launch failed                         │ stop
 *        └───────────────── STOPPING ◀─────────────┘
 *
 * One thread at a time carries out a transition, without the lock; the others wait for its end. Every
 * call that may wait, launch or run holds a *ticket*. To cancel is to mark tickets: stop marks all that
 * there are, restart the executions among them, so that what came before ends as cancelled and what comes
 * after starts anew.
 *
 * What a launch made is a *place*, counted: an execution may outlive the environment it ran in by as long
 * as its callback blocks.
 */
#ifndef CODE_EXECUTOR_LIFECYCLE_H
#define CODE_EXECUTOR_LIFECYCLE_H

#include "commandline.h"
#include "place.h"
#include "session.h"
#include <pthread.h>

typedef struct ticket {
    uint64_t id;                  /* of an execution; 0 for start and restart */
    session_canceller *canceller; /* of what it runs */
    bool cancelled;
    size_t users; /* threads that are cancelling it */
    struct ticket *previous;
    struct ticket *next;
} ticket;

enum life_state { LIFE_STOPPED, LIFE_STARTING, LIFE_STARTED, LIFE_STOPPING };

typedef struct lifecycle {
    const commandline_launcher *launcher;
    void *launcher_state;
    code_executor_instance *instance; /* for launch_context */
    const char *runner_path;
    char *work_dir; /* as configured; NULL: a private folder for each launch */
    struct private_folder *private_folders;
    /* Of those, the one that a launch which failed has left for the next, or NULL. */
    const char *kept;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum life_state state;
    place *place; /* the current one: STARTED, or about to be replaced */
    int cancel_fd;
    ticket *tickets;
    ticket *launching; /* whose thread launches */
    ticket *resetting; /* whose thread resets the place's session */
    bool afresh;       /* a restart launches; only its thread looks */
    size_t stops_waiting;
    /* How the last launch that failed ended, for those that waited for it. */
    uint64_t failures;
    code_executor_error failure;
} lifecycle;

/* The members above the blank line are set. */
int32_t lifecycle_init(lifecycle *self, code_executor_error *error);
/* Stopped before. */
void lifecycle_destroy(lifecycle *self);

/* INVALID: an execution with that id is in flight. */
int32_t lifecycle_enter(lifecycle *self, ticket *ticket, code_executor_error *error);
void lifecycle_leave(lifecycle *self, ticket *ticket);

/* Sees to it that the environment is up. *UP is to be given to place_release. */
int32_t lifecycle_bring_up(lifecycle *self, ticket *ticket, place **up, code_executor_error *error);

int32_t lifecycle_restart(lifecycle *self, ticket *ticket, code_executor_error *error);
int32_t lifecycle_stop(lifecycle *self, code_executor_error *error);

/* Marks the ticket with that id, or with 0 all. False: there is none with that id. */
bool lifecycle_cancel(lifecycle *self, uint64_t id);

/* The current place, or NULL, with the word for the state. */
place *lifecycle_look(lifecycle *self, const char **state);

#endif /* CODE_EXECUTOR_LIFECYCLE_H */
