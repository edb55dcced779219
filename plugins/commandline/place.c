/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place.c: see place.h.
 *
 *     workspace ─▶ launcher's launch ─▶ session ─▶ files copied, where they must be ─▶ launcher's prepare
 *
 * What fails on the way is undone to where it began. No lock is held in this file.
 */
#include "place.h"

#include "fork_guard.h"
#include "lifecycle.h"
#include "private_folder.h"
#include "workspace.h"
#include "workspace_copy.h"
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Paths of private folders: launchers may keep them as long as the instance lives. */
struct private_folder {
    char *path;
    int lock_fd; /* while it is there */
    bool removed;
    struct private_folder *next;
};

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
 * The workspace
 * --------------------------------------------------------------------------------------------- */

launch_context place_context(const lifecycle *self, const char *work_dir, int cancel_fd)
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

int32_t place_drop_folders(lifecycle *self, code_executor_error *error)
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

bool place_is_replaced(const place *bound)
{
    return bound->binds_work_dir && !has_work_dir(bound);
}

void place_forget_folders(lifecycle *self)
{
    while (self->private_folders) {
        struct private_folder *folder = self->private_folders;
        self->private_folders = folder->next;
        free(folder->path);
        free(folder);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Up
 * --------------------------------------------------------------------------------------------- */

/* A launch whose runner did not answer, or that could not be prepared, is undone. */
static void undo_launch(lifecycle *self, const char *work_dir, bool lost)
{
    launch_context context = place_context(self, work_dir, -1);
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
    launch_context context = place_context(self, fresh->work_dir, self->cancel_fd);
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

/* ------------------------------------------------------------------------------------------------
 * Down, and the next
 * --------------------------------------------------------------------------------------------- */

/* Ends a place's session and what the launcher made for it. No lock held. */
static int32_t shut_down(lifecycle *self, place *old, bool lost, code_executor_error *error)
{
    launch_context context = place_context(self, old->work_dir, -1);
    session_end(old->session);
    return self->launcher->shut_down(self->launcher_state, &context, lost, error);
}

int32_t place_take_down(lifecycle *self, place *old, bool lost, code_executor_error *error)
{
    int32_t status = shut_down(self, old, lost, error);
    int32_t removed = place_drop_folders(self, status == CODE_EXECUTOR_OK ? error : NULL);
    return status == CODE_EXECUTOR_OK ? removed : status;
}

/* Makes room for a new place. Returns the workspace that this one is to have, or NULL for one of its own:
 * a private one is as lasting as one that was given, but for a stop. */
static const char *replace_old(lifecycle *self, place *old)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    launch_context context = place_context(self, old->work_dir, -1);
    bool lost = !session_alive(old->session);
    const char *kept = has_work_dir(old) ? old->work_dir : NULL;
    int32_t status =
        kept ? shut_down(self, old, lost, &error) : place_take_down(self, old, lost, &error);
    if (status != CODE_EXECUTOR_OK) {
        launch_log(&context, CODE_EXECUTOR_LOG_WARNING,
                   "what was left of the former environment could not be removed: %s",
                   error.message);
    }
    place_release(old);
    return kept;
}

int32_t place_replace(lifecycle *self, place *old, place **fresh, code_executor_error *error)
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
        place_drop_folders(self, NULL);
    }
    return status;
}
