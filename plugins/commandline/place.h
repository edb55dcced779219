/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place.h: what a launch makes and a stop takes down: the environment's session, and the workspace, which may be
 * a private folder.
 *
 * A place is counted: an execution may outlive the environment it ran in by as long as its callback blocks.
 * The functions that take a life cycle are called by the thread that carries out a transition, without its
 * lock; the state says that there is only one.
 */
#ifndef CODE_EXECUTOR_PLACE_H
#define CODE_EXECUTOR_PLACE_H

#include "commandline.h"
#include "session.h"
#include <stdatomic.h>
#include <sys/types.h>

struct lifecycle;

typedef struct place {
    atomic_size_t references;
    session *session;
    const char *work_dir; /* lives as long as the life cycle */
    char *folder;
    bool binds_work_dir;
    struct workspace_copy *copy; /* where the runner sees another folder than work_dir; else NULL */
    dev_t device;                /* of work_dir */
    ino_t inode;
} place;

place *place_retain(place *place);
void place_release(place *place);

/* Whether the path of a workspace that is bound leads to another folder by now, or to none. */
bool place_is_replaced(const place *bound);

/* What a launcher's function is called with. CANCEL_FD: -1 outside of a launch. */
launch_context place_context(const struct lifecycle *self, const char *work_dir, int cancel_fd);

/* Launches a place, on self->launching, after OLD (or NULL) was shut down and released. */
int32_t place_replace(struct lifecycle *self, place *old, place **fresh,
                      code_executor_error *error);

/* Ends the session, the environment, and the workspace where it is private. LOST: it was found dead. */
int32_t place_take_down(struct lifecycle *self, place *old, bool lost, code_executor_error *error);

/* Removes the private folders that are left of former launches, but for the one that is kept. */
int32_t place_drop_folders(struct lifecycle *self, code_executor_error *error);

/* Frees what is known of them. */
void place_forget_folders(struct lifecycle *self);

#endif /* CODE_EXECUTOR_PLACE_H */
