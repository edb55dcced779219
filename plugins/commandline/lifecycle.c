/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lifecycle.c: see lifecycle.h.
 *
 * Locking. The lock guards what is in struct lifecycle and is never held while the launcher, the session
 * or the host is called. Whoever carries out a transition is alone with the launcher: the state says so.
 */
#include "lifecycle.h"

#include "fork_guard.h"
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

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
    place_forget_folders(self);
    fork_guard_close(self->cancel_fd);
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->lock);
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
    int32_t status = place_replace(self, old, &fresh, &why);
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
    launch_context context = place_context(self, asked->work_dir, -1);
    pthread_mutex_unlock(&self->lock);
    bool alive = session_alive(asked->session);
    bool replaced = alive && place_is_replaced(asked);
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
    bool usable = session_alive(current->session) && !place_is_replaced(current);
    bool fine = usable && session_reset(current->session, &error) == CODE_EXECUTOR_OK;
    if (usable && !fine) {
        launch_context context = place_context(self, current->work_dir, -1);
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
    int32_t status = place_take_down(self, old, !session_alive(old->session), error);
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
    int32_t status = place_drop_folders(self, error);
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
