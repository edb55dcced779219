/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.c: see pool.h.
 *
 * Locking. The list of pools is looked at and changed while fork is held off (fork_guard.h), so that a
 * forked child finds it whole; what a child finds there belongs to its parent and is never touched. A
 * pool's own lock guards its environments and flags, and is not held while one of them is made, examined
 * or ended.
 */
#include "pool.h"
#include "fork_guard.h"
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

struct environment {
    struct environment *next;
    struct pool_environment up;
    dev_t device; /* of the workspace that is bound */
    ino_t inode;
};

struct pool {
    struct pool *next; /* in the list */
    size_t users;
    pid_t owner;

    /* Fixed by the one that made it. */
    struct pool_maker maker;
    json_object *config;
    char *engine; /* what tells it from others */
    char *work_dir;
    char *runner_path;
    void *configured; /* what environments' states are cloned from */
    size_t size;
    int cancel_fd;
    session_canceller *canceller;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    bool running; /* the thread is there */
    bool closing;
    bool wanted; /* somebody has started, and the attempts since did not fail */
    struct environment *ready;
    size_t ready_count;
    struct environment *broken; /* to be ended */
    bool failed;                /* and nobody has been told yet */
    code_executor_error failure;
};

static struct pool *pools;

/* ---- one environment --------------------------------------------------------------------------- */

static launch_context context_of(const struct pool *self, int cancel_fd)
{
    return (launch_context){
        .work_dir = self->work_dir, .runner_path = self->runner_path, .cancel_fd = cancel_fd};
}

/* Ends it and all that belongs to it. What the launcher cannot clear away ends by itself, as its
 * connection has. WAITS: for that; false where it was in vain before. Returns whether it was not. */
static bool end_environment(const struct pool *self, struct environment *ended, bool waits)
{
    launch_context context = context_of(self, -1);
    context.leaves_alone = !waits;
    bool lost = !session_alive(ended->up.made.session);
    session_end(ended->up.made.session);
    int32_t status = self->maker.launcher->shut_down(ended->up.state, &context, lost, NULL);
    session_release(ended->up.made.session);
    self->maker.launcher->destroy(ended->up.state);
    free(ended->up.made.folder);
    free(ended);
    return waits && status == CODE_EXECUTOR_OK;
}

/* A launch that came no further. */
static void undo(const struct pool *self, struct environment *undone, bool lost)
{
    launch_context context = context_of(self, -1);
    self->maker.launcher->shut_down(undone->up.state, &context, lost, NULL);
}

static int32_t prepare(const struct pool *self, const launch_context *context,
                       struct environment *made, code_executor_error *error)
{
    launched *up = &made->up.made;
    int32_t status =
        session_open(up->transport, up->keep_ptrace, context->cancel_fd, &up->session, error);
    if (status != CODE_EXECUTOR_OK) {
        undo(self, made, true);
        return status;
    }
    if (up->copies_max_bytes > 0) /* the workspace of the moment comes first */
        return CODE_EXECUTOR_OK;
    status = self->maker.launcher->prepare(made->up.state, context, up->session, up->folder,
                                           self->canceller, error);
    if (status != CODE_EXECUTOR_OK) {
        bool lost = !session_alive(up->session);
        session_end(up->session);
        undo(self, made, lost);
        session_release(up->session);
    }
    return status;
}

/* As a life cycle launches. */
static int32_t bring_up(const struct pool *self, struct environment *made,
                        code_executor_error *error)
{
    launch_context context = context_of(self, self->cancel_fd);
    struct stat status_of_folder;
    if (stat(self->work_dir, &status_of_folder) == 0) {
        made->device = status_of_folder.st_dev;
        made->inode = status_of_folder.st_ino;
    }
    made->up.state = self->maker.clone(self->configured);
    if (!made->up.state)
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory for the pool");
    int32_t status = self->maker.launcher->launch(made->up.state, &context, &made->up.made, error);
    return status == CODE_EXECUTOR_OK ? prepare(self, &context, made, error) : status;
}

/* NULL: ERROR says why. */
static struct environment *make_environment(const struct pool *self, code_executor_error *error)
{
    struct environment *made = calloc(1, sizeof *made);
    int32_t status = made ? bring_up(self, made, error)
                          : error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory for the pool");
    if (status == CODE_EXECUTOR_OK)
        return made;
    if (made) {
        self->maker.launcher->destroy(made->up.state);
        free(made->up.made.folder);
        free(made);
    }
    return NULL;
}

/* Whether it lives, and has the folder bound that the path of the workspace leads to. */
static bool is_usable(const struct pool *self, const struct environment *one)
{
    struct stat now;
    return session_alive(one->up.made.session) &&
           (!one->up.made.binds_work_dir ||
            (stat(self->work_dir, &now) == 0 && now.st_dev == one->device &&
             now.st_ino == one->inode));
}

/* ---- the thread. Its functions are called with the lock held and return with it ------------------ */

static void end_broken(struct pool *self)
{
    struct environment *ended = self->broken;
    self->broken = ended->next;
    pthread_mutex_unlock(&self->lock);
    end_environment(self, ended, true);
    pthread_mutex_lock(&self->lock);
}

static void make_one(struct pool *self)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    pthread_mutex_unlock(&self->lock);
    struct environment *made = make_environment(self, &error);
    pthread_mutex_lock(&self->lock);
    if (made) {
        made->next = self->ready;
        self->ready = made;
        self->ready_count++;
        return;
    }
    self->wanted = false;
    self->failed = true;
    self->failure = error;
}

static void *keep_full(void *argument)
{
    struct pool *self = argument;
    pthread_mutex_lock(&self->lock);
    while (!self->closing)
        if (self->broken)
            end_broken(self);
        else if (self->wanted && self->ready_count < self->size)
            make_one(self);
        else
            pthread_cond_wait(&self->changed, &self->lock);
    pthread_mutex_unlock(&self->lock);
    return NULL;
}

static void stop_thread(struct pool *self)
{
    pthread_mutex_lock(&self->lock);
    bool running = self->running;
    self->closing = true;
    self->running = false;
    (void)!eventfd_write(self->cancel_fd, 1);
    pthread_cond_signal(&self->changed);
    pthread_mutex_unlock(&self->lock);
    session_cancel(self->canceller);
    if (running)
        pthread_join(self->thread, NULL);
}

/* A host that ends without destroy takes the libraries down that the thread uses. Nothing else is
 * left to do then: the environments end with the process. */
static void stop_threads(void)
{
    for (struct pool *pool = pools; pool; pool = pool->next)
        if (pool->owner == getpid())
            stop_thread(pool);
}

static void watch_exit(void)
{
    (void)atexit(stop_threads);
}

/* Lock held. Without a thread there is no pool, and everything works all the same. */
static void start_thread(struct pool *self)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    sigset_t all, before;
    if (self->running || self->closing)
        return;
    pthread_once(&once, watch_exit);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    self->running = pthread_create(&self->thread, NULL, keep_full, self) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- the pool ---------------------------------------------------------------------------------- */

static void pool_free(struct pool *self)
{
    if (self->configured)
        self->maker.launcher->destroy(self->configured);
    json_object_put(self->config);
    free(self->engine);
    free(self->work_dir);
    free(self->runner_path);
    session_canceller_free(self->canceller);
    fork_guard_close(self->cancel_fd);
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->lock);
    free(self);
}

static int32_t pool_new(const struct pool_maker *maker, const launch_context *context,
                        json_object *config, const char *engine, size_t size, struct pool **made,
                        code_executor_error *error)
{
    struct pool *self = calloc(1, sizeof *self);
    if (!self)
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory for a pool");
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->changed, NULL);
    self->maker = *maker;
    self->users = 1;
    self->owner = getpid();
    self->size = size;
    self->engine = strdup(engine);
    self->work_dir = strdup(context->work_dir);
    self->runner_path = strdup(context->runner_path);
    self->canceller = session_canceller_new();
    self->cancel_fd = fork_guard_eventfd();
    int32_t status = CODE_EXECUTOR_OK;
    if (!self->engine || !self->work_dir || !self->runner_path || !self->canceller ||
        self->cancel_fd < 0 || json_object_deep_copy(config, &self->config, NULL) != 0)
        status = error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory or descriptor for a pool");
    if (status == CODE_EXECUTOR_OK)
        status = maker->launcher->configure(context, self->config, &self->configured, error);
    if (status != CODE_EXECUTOR_OK) {
        pool_free(self);
        return status;
    }
    *made = self;
    return CODE_EXECUTOR_OK;
}

/* Fork is held off. */
static struct pool *find(json_object *config, const char *engine)
{
    struct pool *found = pools;
    while (found && (found->owner != getpid() || strcmp(found->engine, engine) != 0 ||
                     !json_object_equal(found->config, config)))
        found = found->next;
    return found;
}

int32_t pool_join(const struct pool_maker *maker, const launch_context *context,
                  json_object *config, const char *engine, size_t size, struct pool **joined,
                  code_executor_error *error)
{
    struct pool *made = NULL;
    int32_t status = pool_new(maker, context, config, engine, size, &made, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    fork_guard_enter();
    *joined = find(config, engine);
    if (*joined) {
        (*joined)->users++;
    } else {
        made->next = pools;
        pools = *joined = made;
    }
    fork_guard_leave();
    if (*joined != made)
        pool_free(made);
    return CODE_EXECUTOR_OK;
}

/* All at once are told to end before each is waited for; an engine that hangs, only once. */
static void end_all(struct pool *self, struct environment *all)
{
    bool waits = true;
    for (struct environment *one = all; one; one = one->next)
        session_end(one->up.made.session);
    while (all) {
        struct environment *ended = all;
        all = ended->next;
        waits = end_environment(self, ended, waits);
    }
}

void pool_leave(struct pool *self)
{
    if (!self)
        return;
    fork_guard_enter();
    bool last = --self->users == 0;
    struct pool **at = &pools;
    while (last && *at != self)
        at = &(*at)->next;
    if (last)
        *at = self->next;
    fork_guard_leave();
    if (!last)
        return;
    stop_thread(self);
    end_all(self, self->ready);
    end_all(self, self->broken);
    pool_free(self);
}

bool pool_take(struct pool *self, struct pool_environment *taken)
{
    struct environment *one;
    bool usable = false;
    pthread_mutex_lock(&self->lock);
    while (!usable && (one = self->ready) != NULL) {
        self->ready = one->next;
        self->ready_count--;
        pthread_mutex_unlock(&self->lock);
        usable = is_usable(self, one);
        if (usable) {
            *taken = one->up;
            free(one);
        }
        pthread_mutex_lock(&self->lock);
        if (!usable) {
            one->next = self->broken;
            self->broken = one;
            pthread_cond_signal(&self->changed);
        }
    }
    pthread_mutex_unlock(&self->lock);
    return usable;
}

void pool_wake(struct pool *self)
{
    pthread_mutex_lock(&self->lock);
    self->wanted = true;
    start_thread(self);
    pthread_cond_signal(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

bool pool_failure(struct pool *self, code_executor_error *failure)
{
    pthread_mutex_lock(&self->lock);
    bool failed = self->failed;
    if (failed)
        *failure = self->failure;
    self->failed = false;
    pthread_mutex_unlock(&self->lock);
    return failed;
}

size_t pool_ready(struct pool *self)
{
    pthread_mutex_lock(&self->lock);
    size_t count = self->ready_count;
    pthread_mutex_unlock(&self->lock);
    return count;
}
