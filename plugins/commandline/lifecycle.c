/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lifecycle.c: see lifecycle.h.
 *
 * Locking. The lock guards what is in struct lifecycle and is never held while the launcher, the session
 * or the host is called. Whoever carries out a transition is alone with the launcher: the state says so.
 */
#include "lifecycle.h"

#include "fork_guard.h"
#include "private_folder.h"
#include "workspace.h"
#include "workspace_copy.h"
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

/* Paths of private folders: launchers may keep them as long as the instance lives. */
struct private_folder {
    char *path;
    int lock_fd; /* while it is there */
    bool removed;
    struct private_folder *next;
};

int32_t lifecycle_init(lifecycle *self, code_executor_error *error)
{
    self->cancel_fd = fork_guard_eventfd();
    if (self->cancel_fd < 0)
        return error_set_errno(error, CODE_EXECUTOR_UNAVAILABLE, errno, "cannot make an eventfd");
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->changed, NULL);
    return CODE_EXECUTOR_OK;
}

void lifecycle_destroy(lifecycle *self)
{
    while (self->private_folders) {
        struct private_folder *folder = self->private_folders;
        self->private_folders = folder->next;
        free(folder->path);
        free(folder);
    }
    fork_guard_close(self->cancel_fd);
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->lock);
}

place *place_retain(place *retained)
{
    if (retained)
        atomic_fetch_add_explicit(&retained->references, 1, memory_order_relaxed);
    return retained;
}

void place_release(place *released)
{
    if (released &&
        atomic_fetch_sub_explicit(&released->references, 1, memory_order_acq_rel) == 1) {
        session_release(released->session);
        workspace_copy_free(released->copy);
        free(released->folder);
        free(released);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Tickets
 * --------------------------------------------------------------------------------------------- */

static ticket *find_ticket(lifecycle *self, uint64_t id)
{
    ticket *found = self->tickets;
    while (found && found->id != id)
        found = found->next;
    return found;
}

int32_t lifecycle_enter(lifecycle *self, ticket *entered, code_executor_error *error)
{
    pthread_mutex_lock(&self->lock);
    bool taken = entered->id != 0 && find_ticket(self, entered->id);
    if (!taken) {
        entered->previous = NULL;
        entered->next = self->tickets;
        if (self->tickets)
            self->tickets->previous = entered;
        self->tickets = entered;
    }
    pthread_mutex_unlock(&self->lock);
    return taken ? error_set(error, CODE_EXECUTOR_INVALID,
                             "execution id %llu is in use by an execution that has not ended",
                             (unsigned long long)entered->id)
                 : CODE_EXECUTOR_OK;
}

void lifecycle_leave(lifecycle *self, ticket *left)
{
    pthread_mutex_lock(&self->lock);
    while (left->users > 0)
        pthread_cond_wait(&self->changed, &self->lock);
    if (left->previous)
        left->previous->next = left->next;
    else
        self->tickets = left->next;
    if (left->next)
        left->next->previous = left->previous;
    pthread_mutex_unlock(&self->lock);
}

/* Marks a ticket and tells whatever its thread is doing. The lock is released meanwhile; the ticket stays
 * in the list, its neighbours may not. */
static void cancel_ticket(lifecycle *self, ticket *cancelled)
{
    cancelled->cancelled = true;
    cancelled->users++;
    if (self->launching == cancelled)
        (void)!eventfd_write(self->cancel_fd, 1);
    place *reset = self->resetting == cancelled ? place_retain(self->place) : NULL;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
    if (reset) {
        session_end(reset->session); /* the only way out of a reset */
        place_release(reset);
    }
    if (cancelled->canceller)
        session_cancel(cancelled->canceller);
    pthread_mutex_lock(&self->lock);
    cancelled->users--;
    pthread_cond_broadcast(&self->changed);
}

/* Marks all that there are, or the executions alone. */
static void cancel_all(lifecycle *self, bool executions_alone)
{
    ticket *found = self->tickets;
    while (found) {
        if (found->cancelled || (executions_alone && found->id == 0)) {
            found = found->next;
        } else {
            cancel_ticket(self, found);
            found = self->tickets; /* the list was free to change */
        }
    }
}

bool lifecycle_cancel(lifecycle *self, uint64_t id)
{
    pthread_mutex_lock(&self->lock);
    bool known = true;
    if (id == 0) {
        cancel_all(self, false);
    } else {
        ticket *found = find_ticket(self, id);
        known = found != NULL;
        if (found && !found->cancelled)
            cancel_ticket(self, found);
    }
    pthread_mutex_unlock(&self->lock);
    return known;
}

/* ------------------------------------------------------------------------------------------------
 * One launch
 * --------------------------------------------------------------------------------------------- */

static launch_context context_of(const lifecycle *self, const char *work_dir, int cancel_fd)
{
    return (launch_context){.work_dir = work_dir,
                            .runner_path = self->runner_path,
                            .cancel_fd = cancel_fd,
                            .afresh = self->afresh,
                            .internal = self->instance};
}

/* The workspace for a launch, which exists then: where it is private, KEPT, unless that is NULL. */
static int32_t make_work_dir(lifecycle *self, const char *kept, const char **work_dir,
                             code_executor_error *error)
{
    if (self->work_dir) {
        *work_dir = self->work_dir;
        return workspace_make(self->work_dir, error);
    }
    if (kept) {
        *work_dir = kept;
        return CODE_EXECUTOR_OK;
    }
    struct private_folder *folder = calloc(1, sizeof *folder);
    if (!folder)
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory for a private workspace");
    int32_t status = private_folder_make(&folder->path, error);
    if (status != CODE_EXECUTOR_OK) {
        free(folder);
        return status;
    }
    folder->lock_fd = private_folder_hold(folder->path);
    private_folder_sweep(folder->path);
    folder->next = self->private_folders;
    self->private_folders = folder;
    *work_dir = folder->path;
    return CODE_EXECUTOR_OK;
}

/* Removes the private folders that are left of former launches, but for the one that is kept. */
static int32_t remove_private_folders(lifecycle *self, code_executor_error *error)
{
    int32_t status = CODE_EXECUTOR_OK;
    for (struct private_folder *folder = self->private_folders; folder; folder = folder->next) {
        if (!folder->removed && folder->path != self->kept) {
            folder->removed = true;
            fork_guard_close(folder->lock_fd);
            int32_t one = private_folder_remove(folder->path, error);
            status = one == CODE_EXECUTOR_OK ? status : one;
        }
    }
    return status;
}

static void note_identity(place *noted)
{
    struct stat status;
    if (stat(noted->work_dir, &status) == 0) {
        noted->device = status.st_dev;
        noted->inode = status.st_ino;
    }
}

/* Whether the path of the workspace leads to the folder that it led to when the place was launched. */
static bool has_work_dir(const place *launched_place)
{
    struct stat status;
    return stat(launched_place->work_dir, &status) == 0 &&
           status.st_dev == launched_place->device && status.st_ino == launched_place->inode;
}

/* Whether the path of a workspace that is bound leads to another folder by now, or to none. */
static bool is_replaced(const place *bound)
{
    return bound->binds_work_dir && !has_work_dir(bound);
}

/* A launch whose runner did not answer, or that could not be prepared, is undone. */
static void undo_launch(lifecycle *self, const char *work_dir, bool lost)
{
    launch_context context = context_of(self, work_dir, -1);
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    if (self->launcher->shut_down(self->launcher_state, &context, lost, &error) !=
        CODE_EXECUTOR_OK) {
        launch_log(&context, CODE_EXECUTOR_LOG_WARNING, "after a start that failed: %s",
                   error.message);
    }
}

static void log_copying(void *context, int32_t level, const char *message)
{
    launch_log(context, level, "%s", message);
}

static void show_copying(void *context, const char *what, uint64_t done, uint64_t total)
{
    launch_progress(context, what, done, total);
}

static int32_t copy_workspace(lifecycle *self, const launch_context *context, const launched *made,
                              place *fresh, code_executor_error *error)
{
    launch_context shown = *context;
    workspace_copying copying = {.session = fresh->session,
                                 .canceller = self->launching->canceller,
                                 .work_dir = fresh->work_dir,
                                 .folder = fresh->folder,
                                 .user_data = &shown,
                                 .log = log_copying,
                                 .progress = show_copying};
    fresh->copy = workspace_copy_new(made->copies_max_bytes);
    if (!fresh->copy)
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory to copy the workspace");
    return workspace_copy_in(fresh->copy, &copying, error);
}

/* The first steps over a new session: the workspace, where it is copied, and the launcher's own. The ticket
 * that launches stays what it is until that is over. */
static int32_t prepare(lifecycle *self, const launch_context *context, const launched *made,
                       place *fresh, code_executor_error *error)
{
    int32_t status = CODE_EXECUTOR_OK;
    if (made->copies_max_bytes > 0)
        status = copy_workspace(self, context, made, fresh, error);
    if (status == CODE_EXECUTOR_OK && self->launcher->prepare)
        status = self->launcher->prepare(self->launcher_state, context, fresh->session,
                                         fresh->folder, self->launching->canceller, error);
    if (status != CODE_EXECUTOR_OK) {
        bool lost = !session_alive(fresh->session);
        session_end(fresh->session);
        undo_launch(self, fresh->work_dir, lost);
    }
    return status;
}

/* Calls the launcher, greets the runner and prepares. No lock held. */
static int32_t launch(lifecycle *self, const char *kept, place *fresh, code_executor_error *error)
{
    int32_t status = make_work_dir(self, kept, &fresh->work_dir, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    launch_context context = context_of(self, fresh->work_dir, self->cancel_fd);
    launched made = {0};
    status = self->launcher->launch(self->launcher_state, &context, &made, error);
    fresh->folder = made.folder;
    if (status != CODE_EXECUTOR_OK)
        return status;
    fresh->binds_work_dir = made.binds_work_dir;
    note_identity(fresh);
    if (made.session)
        fresh->session = made.session;
    else
        status =
            session_open(made.transport, made.keep_ptrace, self->cancel_fd, &fresh->session, error);
    if (status != CODE_EXECUTOR_OK) {
        undo_launch(self, fresh->work_dir, true);
        return status;
    }
    return prepare(self, &context, &made, fresh, error);
}

/* Ends a place's session and what the launcher made for it. No lock held. */
static int32_t shut_down(lifecycle *self, place *old, bool lost, code_executor_error *error)
{
    launch_context context = context_of(self, old->work_dir, -1);
    session_end(old->session);
    return self->launcher->shut_down(self->launcher_state, &context, lost, error);
}

/* The same, and the workspace goes too where it is private. */
static int32_t take_down(lifecycle *self, place *old, bool lost, code_executor_error *error)
{
    int32_t status = shut_down(self, old, lost, error);
    int32_t removed = remove_private_folders(self, status == CODE_EXECUTOR_OK ? error : NULL);
    return status == CODE_EXECUTOR_OK ? removed : status;
}

/* Makes room for a new place. Returns the workspace that this one is to have, or NULL for one of its own:
 * a private one is as lasting as one that was given, but for a stop. */
static const char *replace_old(lifecycle *self, place *old)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    launch_context context = context_of(self, old->work_dir, -1);
    bool lost = !session_alive(old->session);
    const char *kept = has_work_dir(old) ? old->work_dir : NULL;
    int32_t status = kept ? shut_down(self, old, lost, &error) : take_down(self, old, lost, &error);
    if (status != CODE_EXECUTOR_OK) {
        launch_log(&context, CODE_EXECUTOR_LOG_WARNING,
                   "what was left of the former environment could not be removed: %s",
                   error.message);
    }
    place_release(old);
    return kept;
}

static int32_t replace(lifecycle *self, place *old, place **fresh, code_executor_error *error)
{
    const char *kept = old ? replace_old(self, old) : self->kept;
    if (kept && access(kept, F_OK) != 0)
        kept = NULL;
    place *made = calloc(1, sizeof *made);
    int32_t status = made ? CODE_EXECUTOR_OK
                          : error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory to start anew");
    if (made) {
        atomic_init(&made->references, 1);
        status = launch(self, kept, made, error);
    }
    bool is_up = status == CODE_EXECUTOR_OK;
    self->kept = is_up || self->work_dir ? NULL : kept;
    if (is_up) {
        *fresh = made;
    } else {
        place_release(made);
        remove_private_folders(self, NULL);
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Transitions. Each is called with the lock held and returns with it.
 * --------------------------------------------------------------------------------------------- */

static void set_state(lifecycle *self, enum life_state state)
{
    self->state = state;
    pthread_cond_broadcast(&self->changed);
}

/* From STARTING to STARTED or STOPPED, on the thread of LAUNCHING. */
static int32_t launch_now(lifecycle *self, ticket *launching, code_executor_error *error)
{
    code_executor_error why = CODE_EXECUTOR_ERROR_INIT;
    uint64_t drained;
    (void)!read(self->cancel_fd, &drained, sizeof drained);
    self->launching = launching;
    place *old = self->place;
    place *fresh = NULL;
    self->place = NULL;
    pthread_mutex_unlock(&self->lock);
    int32_t status = replace(self, old, &fresh, &why);
    pthread_mutex_lock(&self->lock);
    self->launching = NULL;
    self->place = fresh;
    if (status != CODE_EXECUTOR_OK) {
        self->failures++;
        self->failure = why;
        error_set(error, status, "%s", why.message);
    }
    set_state(self, status == CODE_EXECUTOR_OK ? LIFE_STARTED : LIFE_STOPPED);
    return status;
}

/* Whether the place is still good, when it may be used; takes the lock off to find out. */
static bool is_usable(lifecycle *self, place *asked)
{
    launch_context context = context_of(self, asked->work_dir, -1);
    pthread_mutex_unlock(&self->lock);
    bool alive = session_alive(asked->session);
    bool replaced = alive && is_replaced(asked);
    if (replaced) {
        launch_log(&context, CODE_EXECUTOR_LOG_WARNING,
                   "%s was removed or replaced while it was in use: starting anew",
                   asked->work_dir);
    } else if (!alive) {
        launch_log(&context, CODE_EXECUTOR_LOG_WARNING, "the environment was lost: starting anew");
    }
    pthread_mutex_lock(&self->lock);
    return alive && !replaced;
}

static int32_t cancelled_before_begin(code_executor_error *error)
{
    return error_set(error, CODE_EXECUTOR_CANCELLED, "cancelled before it began");
}

/* Waits for the end of another thread's transition. Not OK: it was a launch that failed, and this
 * ticket, which waited for it, shares that. */
static int32_t await_transition(lifecycle *self, const ticket *waiting, code_executor_error *error)
{
    uint64_t failures = self->failures;
    pthread_cond_wait(&self->changed, &self->lock);
    if (self->failures != failures && !waiting->cancelled &&
        self->failure.status != CODE_EXECUTOR_CANCELLED)
        return error_set(error, self->failure.status, "%s", self->failure.message);
    return CODE_EXECUTOR_OK;
}

/* One step towards being up. *DONE: that is so, or it failed. */
static int32_t step_up(lifecycle *self, ticket *owner, bool *done, code_executor_error *error)
{
    if (owner->cancelled) {
        *done = true;
        return cancelled_before_begin(error);
    }
    if (self->stops_waiting > 0 || self->state == LIFE_STARTING || self->state == LIFE_STOPPING) {
        int32_t status = await_transition(self, owner, error);
        *done = status != CODE_EXECUTOR_OK;
        return status;
    }
    place *current = place_retain(self->place);
    if (self->state == LIFE_STARTED && is_usable(self, current)) {
        place_release(current);
        *done = self->state == LIFE_STARTED && self->place == current;
        return CODE_EXECUTOR_OK;
    }
    bool changed =
        self->place != current || self->state == LIFE_STARTING || self->state == LIFE_STOPPING;
    place_release(current);
    if (changed)
        return CODE_EXECUTOR_OK;
    self->state = LIFE_STARTING;
    *done = true;
    return launch_now(self, owner, error);
}

int32_t lifecycle_bring_up(lifecycle *self, ticket *owner, place **up, code_executor_error *error)
{
    *up = NULL;
    bool done = false;
    int32_t status = CODE_EXECUTOR_OK;
    pthread_mutex_lock(&self->lock);
    while (!done)
        status = step_up(self, owner, &done, error);
    if (status == CODE_EXECUTOR_OK && owner->cancelled)
        status = cancelled_before_begin(error);
    if (status == CODE_EXECUTOR_OK)
        *up = place_retain(self->place);
    pthread_mutex_unlock(&self->lock);
    return status;
}

/* Ends what runs in a place that stays. Whether it did. From STARTING back to STARTING. */
static bool reset_place(lifecycle *self, ticket *owner)
{
    place *current = place_retain(self->place);
    self->resetting = owner;
    pthread_mutex_unlock(&self->lock);
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    bool usable = session_alive(current->session) && !is_replaced(current);
    bool fine = usable && session_reset(current->session, &error) == CODE_EXECUTOR_OK;
    if (usable && !fine) {
        launch_context context = context_of(self, current->work_dir, -1);
        launch_log(&context, CODE_EXECUTOR_LOG_WARNING,
                   "starting anew, as ending what runs failed: %s", error.message);
    }
    place_release(current);
    pthread_mutex_lock(&self->lock);
    self->resetting = NULL;
    return fine;
}

/* Lock held. From STARTED, or from STARTING when a restart is given up. */
static int32_t stop_now(lifecycle *self, code_executor_error *error)
{
    place *old = self->place;
    self->place = NULL;
    self->state = LIFE_STOPPING;
    pthread_mutex_unlock(&self->lock);
    int32_t status = take_down(self, old, !session_alive(old->session), error);
    place_release(old);
    pthread_mutex_lock(&self->lock);
    set_state(self, LIFE_STOPPED);
    return status;
}

/* Whether a restart does not end what runs in the environment there is, but launches another. */
static bool relaunches(const lifecycle *self)
{
    const commandline_launcher *launcher = self->launcher;
    return launcher->restart_relaunches && launcher->restart_relaunches(self->launcher_state);
}

int32_t lifecycle_restart(lifecycle *self, ticket *owner, code_executor_error *error)
{
    int32_t status = CODE_EXECUTOR_OK;
    pthread_mutex_lock(&self->lock);
    cancel_all(self, true);
    while (!owner->cancelled && (self->stops_waiting > 0 || self->state == LIFE_STARTING ||
                                 self->state == LIFE_STOPPING))
        pthread_cond_wait(&self->changed, &self->lock);
    if (owner->cancelled) {
        status = cancelled_before_begin(error);
    } else {
        bool resets = self->state == LIFE_STARTED && !relaunches(self);
        self->state = LIFE_STARTING;
        self->afresh = relaunches(self);
        if (resets && reset_place(self, owner)) {
            set_state(self, LIFE_STARTED);
        } else if (owner->cancelled) {
            stop_now(self, NULL);
            status = error_set(error, CODE_EXECUTOR_CANCELLED, "cancelled while it restarted");
        } else {
            status = launch_now(self, owner, error);
        }
        self->afresh = false;
    }
    pthread_mutex_unlock(&self->lock);
    return status;
}

/* What a launch that failed has left is gone with a stop as well. */
static int32_t drop_kept(lifecycle *self, code_executor_error *error)
{
    self->kept = NULL;
    self->state = LIFE_STOPPING;
    pthread_mutex_unlock(&self->lock);
    int32_t status = remove_private_folders(self, error);
    pthread_mutex_lock(&self->lock);
    set_state(self, LIFE_STOPPED);
    return status;
}

int32_t lifecycle_stop(lifecycle *self, code_executor_error *error)
{
    int32_t status = CODE_EXECUTOR_OK;
    pthread_mutex_lock(&self->lock);
    self->stops_waiting++;
    cancel_all(self, false);
    while (self->state == LIFE_STARTING || self->state == LIFE_STOPPING)
        pthread_cond_wait(&self->changed, &self->lock);
    if (self->state == LIFE_STARTED)
        status = stop_now(self, error);
    else if (self->kept)
        status = drop_kept(self, error);
    self->stops_waiting--;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
    return status;
}

place *lifecycle_look(lifecycle *self, const char **state)
{
    pthread_mutex_lock(&self->lock);
    enum life_state now = self->state;
    place *current = now == LIFE_STARTED ? place_retain(self->place) : NULL;
    pthread_mutex_unlock(&self->lock);
    if (now == LIFE_STARTED)
        *state = session_alive(current->session) ? "started" : "lost";
    else
        *state = now == LIFE_STARTING ? "starting" : "stopped";
    return current;
}
