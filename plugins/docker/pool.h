/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.h: environments that are brought up before somebody asks for them.
 *
 *     start ── take ──▶ a ready one is there: it is the caller's, used once       (a few milliseconds)
 *                       none is: the caller launches one itself
 *          └─ wake ──▶ the pool's thread makes as many as are missing, one after the other
 *
 * A pool belongs to all instances of the process that have the same configuration, which includes the
 * workspace, because that is bound into a container when it is made. It lives from the create of the
 * first of them to the destroy of the last, and makes nothing before the first of them was started. An
 * environment in it is whole: its runner has answered, and what must be done before the first block has
 * been done.
 *
 * Invariants. The thread lives only while the pool does, and runs with every signal blocked; it calls
 * nothing of the host's, so what goes wrong in it is told by the next start. One that cannot make an
 * environment sleeps until then. The environments' connections are this process's: whatever ends it ends
 * them. A forked child of the host sees no pool of its parent's.
 */
#ifndef CODE_EXECUTOR_DOCKER_POOL_H
#define CODE_EXECUTOR_DOCKER_POOL_H

#include "commandline.h"

struct pool;

/* How environments are made: by LAUNCHER, on a state that CLONE makes of a configured one. */
struct pool_maker {
    const commandline_launcher *launcher;
    void *(*clone)(const void *configured); /* NULL: no memory */
};

/*
 * Joins the pool for CONFIG, which has every path absolute, and ENGINE (endpoint_identity), or makes it. *JOINED is to be
 * given to pool_leave. SIZE: how many are kept ready. CONFIG is copied.
 */
int32_t pool_join(const struct pool_maker *maker, const launch_context *context,
                  json_object *config, const char *engine, size_t size, struct pool **joined,
                  code_executor_error *error);

/* The last to leave ends all that is ready, and the thread. NULL is allowed. */
void pool_leave(struct pool *pool);

struct pool_environment {
    void *state; /* the launcher's: of an environment that is up and prepared */
    launched made;
};

/* Takes one that works. MADE has a session. False: there is none. */
bool pool_take(struct pool *pool, struct pool_environment *taken);

/* Has what is missing made. */
void pool_wake(struct pool *pool);

/* Why the last attempt to make one failed, once: false where there is nothing new. */
bool pool_failure(struct pool *pool, code_executor_error *failure);

/* How many are ready. */
size_t pool_ready(struct pool *pool);

#endif /* CODE_EXECUTOR_DOCKER_POOL_H */
