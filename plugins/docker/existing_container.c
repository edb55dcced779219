/* SPDX-License-Identifier: Apache-2.0 */
/*
 * existing_container.c: see existing_container.h.
 *
 * The runner's file goes into the root folder: there nobody but root can replace it before it is run, no
 * tmpfs hides it from the engine, and every image has one. With a read-only root it goes into the workspace.
 * Where the runner is root it removes its file itself as soon as it runs; another user may not be able
 * to, so there a second exec does it as root. Where no mount of the container's shows the workspace, it is
 * copied to a folder beside the file, which goes when the runner does, in the same ways (runner/guest.h). Where
 * both were killed a third one does it at the end, or the next start in the same container.
 *
 * Attack: root in the container (or, in the workspace, whoever may write there) replaces the file between
 * the two requests, and forges results. It could do so with a debugger at any time: a container that is
 * shared with code that is not trusted yields results that are not trusted either.
 */
#include "existing_container.h"
#include "attach.h"
#include "clock.h"
#include "config.h"
#include "docker.h"
#include "existing_runner.h"
#include "existing_workspace.h"
#include "json.h"
#include "runner/remove_itself.h"
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define USUAL_LIMIT_MS 500
#define END_LIMIT_MS   10000 /* a tree that resists takes the runner a while to kill */
#define LOOK_EVERY_MS  10

/* What is known of the container, for one start. */
struct existing {
    struct docker *docker;
    const launch_context *context;
    json_object *inspected;
    char *folder;     /* the workspace, in it */
    const char *user; /* whom the runner is to be; NULL: the container's own */
};

/* ---- the configuration ------------------------------------------------------------------------- */

int32_t existing_container_check(json_object *given, code_executor_error *error)
{
    static const char *const meaningful[] = {"container",
                                             "user",
                                             "init_command",
                                             "docker_host",
                                             "tls",
                                             "bind_dir",
                                             "work_dir",
                                             "timeout",
                                             "env",
                                             "execution_policies",
                                             "languages",
                                             "docker_context",
                                             "workspace",
                                             "workspace_max_bytes",
                                             "max_output_bytes",
                                             "delete_tmp_files"};
    if (!config_value(given, "container"))
        return CODE_EXECUTOR_OK;
    json_object_object_foreach(given, key, value)
    {
        bool known = value == NULL;
        for (size_t i = 0; i < sizeof meaningful / sizeof meaningful[0]; i++)
            known = known || strcmp(key, meaningful[i]) == 0;
        if (!known)
            return error_set(error, CODE_EXECUTOR_INVALID,
                             "\"%s\" has no effect on a container that runs already, which "
                             "\"container\" names: leave out one of the two",
                             key);
    }
    return CODE_EXECUTOR_OK;
}

/* ---- the container ----------------------------------------------------------------------------- */

/* States other than running, and the way out of them. */
static int32_t judge_state(const char *name, json_object *state, code_executor_error *error)
{
    static const struct {
        const char *member;
        const char *words;
    } table[] = {
        {"Paused", "is paused: docker unpause"},
        {"Restarting", "is restarting again and again: look at docker logs"},
        {"Dead", "could not be removed whole, and cannot be used: look at docker inspect"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (json_object_get_boolean(json_member(state, table[i].member)))
            return error_set(error, CODE_EXECUTOR_UNAVAILABLE, "container %s %s %s", name,
                             table[i].words, name);
    if (json_object_get_boolean(json_member(state, "Running")))
        return CODE_EXECUTOR_OK;
    const char *words = json_string(state, "Status");
    return error_set(error, CODE_EXECUTOR_UNAVAILABLE,
                     "container %s does not run (%s): docker start %s", name,
                     words ? words : "its state is not known", name);
}

static int32_t inspect(struct existing *self, code_executor_error *error)
{
    struct container *container = &self->docker->container;
    const char *name = config_string(self->docker->config, "container");
    char path[320];
    struct answer CLEANUP_ANSWER answer = {0};
    snprintf(path, sizeof path, "/containers/%.256s/json", name);
    int32_t status = engine_call(self->docker->engine, "GET", path, NULL, &answer, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    if (answer.status == 404)
        return error_set(error, CODE_EXECUTOR_NOT_FOUND,
                         "there is no container %s (option container): docker ps -a lists those "
                         "that there are",
                         name);
    const char *id = json_string(answer.json, "Id");
    if (answer.status != 200 || !id || strlen(id) >= sizeof container->id)
        return engine_refusal(self->docker->engine, &answer, "look at the container", error);
    strcpy(container->id, id);
    snprintf(container->name, sizeof container->name, "%s", name);
    self->inspected = json_object_get(answer.json);
    return judge_state(name, json_member(answer.json, "State"), error);
}

/* A folder for the copy of the workspace, which goes with the runner. */
static int32_t choose_copy(struct existing *self, code_executor_error *error)
{
    if (asprintf(&self->folder, "/" RUNNER_FILE_PREFIX "%s" RUNNER_FOLDER_SUFFIX,
                 self->docker->launch_id) >= 0)
        return CODE_EXECUTOR_OK;
    self->folder = NULL;
    return error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
}

/* Where code is saved and runs: a mount of the container's that shows the workspace; else it is copied. */
static int32_t find_workspace(struct existing *self, code_executor_error *error)
{
    struct docker *docker = self->docker;
    const char *path = docker->bind_dir ? docker->bind_dir : self->context->work_dir;
    code_executor_error why = CODE_EXECUTOR_ERROR_INIT;
    if (docker->way == WORKSPACE_COPIED)
        return choose_copy(self, error);
    int32_t status =
        existing_workspace_find(json_member(self->inspected, "Mounts"), path, &self->folder, &why);
    if (status == CODE_EXECUTOR_OK)
        return status;
    if (docker->way == WORKSPACE_BOUND)
        return error_set(error, status, "container %s: %s", docker->container.name, why.message);
    launch_log(self->context, CODE_EXECUTOR_LOG_INFO,
               "the workspace is copied to container %s and back: %s", docker->container.name,
               why.message);
    docker->way = WORKSPACE_COPIED;
    return choose_copy(self, error);
}

/* ---- the runner's file ------------------------------------------------------------------------- */

static int32_t put_runner(struct existing *self, code_executor_error *error)
{
    struct docker *docker = self->docker;
    json_object *host = json_member(self->inspected, "HostConfig");
    bool read_only = json_object_get_boolean(json_member(host, "ReadonlyRootfs"));
    char name[64];
    snprintf(name, sizeof name, RUNNER_FILE_PREFIX "%s", docker->launch_id);
    bool beside = read_only && docker->way != WORKSPACE_COPIED;
    docker->runner_in_workspace = beside;
    if (asprintf(&docker->runner_file, "%s/%s", beside ? self->folder : "", name) < 0) {
        docker->runner_file = NULL;
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    }
    char folder[96] = "";
    if (docker->way == WORKSPACE_COPIED)
        snprintf(folder, sizeof folder, "%s" RUNNER_FOLDER_SUFFIX, name);
    return existing_runner_bring(docker, self->context, name, folder[0] ? folder : NULL,
                                 beside ? self->folder : "/", error);
}

/* ---- running it --------------------------------------------------------------------------------- */

static bool is_root(const char *user)
{
    return !user || user[0] == '\0' || strcmp(user, "root") == 0 || strcmp(user, "0") == 0 ||
           strncmp(user, "root:", 5) == 0 || strncmp(user, "0:", 2) == 0;
}

static int32_t choose_user(struct existing *self, code_executor_error *error)
{
    struct docker *docker = self->docker;
    int32_t status =
        container_user_choose(&docker->user, docker->engine, config_string(docker->config, "user"),
                              self->context->work_dir, &self->user, error);
    const char *own = json_string(json_member(self->inspected, "Config"), "User");
    docker->runner_removes_itself = is_root(self->user ? self->user : own);
    return status;
}

static int32_t run_runner(struct existing *self, transport **opened, code_executor_error *error)
{
    struct docker *docker = self->docker;
    const struct exec_options options = {
        .argument = RUNNER_REMOVES_ITSELF,
        .user = self->user,
        .folder = self->folder,
        .attach = true,
        .own_home = container_user_is_chosen(config_string(docker->config, "user")),
        .removes_folder = docker->way == WORKSPACE_COPIED,
    };
    int32_t status = existing_runner_exec(docker, docker->runner_file, &options,
                                          docker->container.exec_id, error);
    if (status == CODE_EXECUTOR_OK)
        status = container_watch(&docker->container, error);
    if (status == CODE_EXECUTOR_OK)
        status = container_watched(&docker->container, error);
    docker->container.started = true;
    return status == CODE_EXECUTOR_OK ? attach_open(&docker->container, opened, error) : status;
}

/* ---- the end ----------------------------------------------------------------------------------- */

/* Whether the runner is gone; as far as that can be known. */
static bool has_ended(struct docker *docker, bool *lost)
{
    char path[160];
    struct answer CLEANUP_ANSWER answer = {0};
    snprintf(path, sizeof path, "/exec/%s/json", docker->container.exec_id);
    *lost = engine_call(docker->engine, "GET", path, NULL, &answer, NULL) != CODE_EXECUTOR_OK;
    return !*lost &&
           (answer.status != 200 || !json_object_get_boolean(json_member(answer.json, "Running")));
}

void existing_container_describe_end(struct container *container, char *words, size_t size)
{
    char path[160];
    struct answer CLEANUP_ANSWER answer = {0};
    snprintf(path, sizeof path, "/exec/%s/json", container->exec_id);
    bool known =
        engine_call(container->engine, "GET", path, NULL, &answer, NULL) == CODE_EXECUTOR_OK &&
        answer.status == 200;
    json_object *code = known ? json_member(answer.json, "ExitCode") : NULL;
    if (code)
        snprintf(words, size,
                 "goes on, but the runner in it ended with exit code %lld: it was killed, or could "
                 "not be run",
                 (long long)json_object_get_int64(code));
    else
        snprintf(words, size, "no longer answers: the engine closed the connection to it");
}

/* Waits until the runner is gone, or that is not to be expected. */
static bool await_runner(struct docker *docker, int limit_ms)
{
    int64_t deadline_ms = now_ms() + limit_ms;
    bool lost = false;
    if (!docker->container.exec_id[0] || docker->container.ended)
        return true;
    while (!has_ended(docker, &lost)) {
        if (lost || now_ms() >= deadline_ms)
            return false;
        poll(NULL, 0, LOOK_EVERY_MS);
    }
    return true;
}

/* A file of ours in the root folder, as before: a root that is read-only takes none. */
static int32_t bring_again(struct docker *docker, const launch_context *context, char file[80],
                           code_executor_error *error)
{
    char name[64];
    snprintf(name, sizeof name, RUNNER_FILE_PREFIX "%s", docker->launch_id);
    snprintf(file, 80, "/%s", name);
    return existing_runner_bring(docker, context, name, NULL, "/", error);
}

/* Attack: code stops the runner, whose user it is, so that it does not end. */
static void wake_runner(struct docker *docker, const launch_context *context)
{
    char file[80];
    if (!docker->runner_in_workspace &&
        bring_again(docker, context, file, NULL) == CODE_EXECUTOR_OK)
        existing_runner_wake(docker, file, NULL);
}

static int32_t judge_left(struct docker *docker, const launch_context *context,
                          code_executor_error *error)
{
    char path[160];
    struct answer CLEANUP_ANSWER answer = {0};
    const char *name = docker->container.name;
    snprintf(path, sizeof path, "/containers/%s/json", docker->container.id);
    int32_t status = engine_call(docker->engine, "GET", path, NULL, &answer, error);
    if (status != CODE_EXECUTOR_OK)
        return error_prefix(error, status, "it is not known whether code in %s has ended: ", name);
    json_object *state = json_member(answer.json, "State");
    if (!json_object_get_boolean(json_member(state, "Running")))
        return CODE_EXECUTOR_OK;
    if (json_object_get_boolean(json_member(state, "Paused")))
        return error_set(error, CODE_EXECUTOR_UNAVAILABLE,
                         "container %s is paused: what code has started in it ends as soon as it "
                         "goes on (docker unpause %s)",
                         name, name);
    wake_runner(docker, context);
    if (await_runner(docker, END_LIMIT_MS))
        return CODE_EXECUTOR_OK;
    return error_set(error, CODE_EXECUTOR_TIMED_OUT,
                     "what code has started in container %s did not end within %d s", name,
                     END_LIMIT_MS / 1000);
}

/*
 * Where it lies in the workspace, which code can write to.
 * Attack: code that is not root puts another program in its place, and waits for us to run that as root. So
 * there the file is only taken away, by name, on this side; the runner itself has tried before.
 */
static void unlink_runner(const struct docker *docker, const char *work_dir)
{
    int folder = open(work_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return;
    unlinkat(folder, strrchr(docker->runner_file, '/') + 1, 0);
    close(folder);
}

static void forget_runner(struct docker *docker)
{
    free(docker->runner_file);
    docker->runner_file = NULL;
}

void existing_container_settle(struct docker *docker, const launch_context *context)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    if (!docker->runner_file)
        return;
    if (docker->runner_in_workspace)
        unlink_runner(docker, context->work_dir);
    else if (!docker->runner_removes_itself &&
             existing_runner_take_care(docker, docker->runner_file, docker->way == WORKSPACE_COPIED,
                                       &error) != CODE_EXECUTOR_OK)
        launch_log(context, CODE_EXECUTOR_LOG_WARNING, "%s stays in container %s: %s",
                   docker->runner_file, docker->container.name, error.message);
    forget_runner(docker);
}

/* Whether the container runs, so that what is left there can be cleared away. */
static bool copy_can_go(struct docker *docker)
{
    char path[160];
    struct answer CLEANUP_ANSWER answer = {0};
    snprintf(path, sizeof path, "/containers/%s/json", docker->container.id);
    return engine_call(docker->engine, "GET", path, NULL, &answer, NULL) == CODE_EXECUTOR_OK &&
           json_object_get_boolean(json_member(json_member(answer.json, "State"), "Running"));
}

/* A folder of ours is still there: the runner was killed, or the caretaker, or both with the container. */
static void clear_copy(struct docker *docker, const launch_context *context, const char *folder)
{
    char file[80];
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    int32_t status = CODE_EXECUTOR_OK;
    if (!copy_can_go(docker))
        status = error_set(&error, CODE_EXECUTOR_UNAVAILABLE, "the container does not run");
    if (status == CODE_EXECUTOR_OK)
        status = bring_again(docker, context, file, &error);
    if (status == CODE_EXECUTOR_OK)
        status = existing_runner_take_care(docker, file, true, &error);
    if (status != CODE_EXECUTOR_OK)
        launch_log(context, CODE_EXECUTOR_LOG_WARNING,
                   "%s stays in container %s until code runs there again: %s", folder,
                   docker->container.name, error.message);
}

/* The runner has ended, and should have removed the copy; or the caretaker is about to. */
static void see_copy_gone(struct docker *docker, const launch_context *context)
{
    char folder[96];
    int64_t size = -1, deadline_ms = now_ms() + USUAL_LIMIT_MS;
    snprintf(folder, sizeof folder, "/" RUNNER_FILE_PREFIX "%s" RUNNER_FOLDER_SUFFIX,
             docker->launch_id);
    while (container_look(&docker->container, folder, "look at the copied workspace", &size,
                          NULL) == CODE_EXECUTOR_OK &&
           size >= 0) {
        if (now_ms() >= deadline_ms) {
            clear_copy(docker, context, folder);
            return;
        }
        poll(NULL, 0, LOOK_EVERY_MS);
    }
}

int32_t existing_container_leave(struct docker *docker, const launch_context *context,
                                 code_executor_error *error)
{
    int32_t status = CODE_EXECUTOR_OK;
    if (!await_runner(docker, USUAL_LIMIT_MS))
        status = judge_left(docker, context, error);
    if (docker->runner_file && docker->runner_in_workspace) /* it has never answered */
        unlink_runner(docker, context->work_dir);
    else if (docker->runner_file)
        existing_runner_take_care(docker, docker->runner_file, docker->way == WORKSPACE_COPIED,
                                  NULL);
    else if (docker->way == WORKSPACE_COPIED && status == CODE_EXECUTOR_OK)
        see_copy_gone(docker, context);
    forget_runner(docker);
    container_let_go(&docker->container);
    docker->container.exec_id[0] = '\0';
    return status;
}

/* ------------------------------------------------------------------------------------------------ */

static int32_t start(struct existing *self, transport **opened, code_executor_error *error)
{
    int32_t status = inspect(self, error);
    if (status == CODE_EXECUTOR_OK)
        status = find_workspace(self, error);
    if (status == CODE_EXECUTOR_OK)
        status = choose_user(self, error);
    if (status == CODE_EXECUTOR_OK)
        status = put_runner(self, error);
    return status == CODE_EXECUTOR_OK ? run_runner(self, opened, error) : status;
}

int32_t existing_container_start(struct docker *docker, const launch_context *context,
                                 transport **opened, char **folder, code_executor_error *error)
{
    struct existing self = {.docker = docker, .context = context};
    *opened = NULL;
    docker->container = (struct container){.engine = docker->engine};
    docker->prepared = false;
    int32_t status = CODE_EXECUTOR_OK;
    if (!labels_random_id(docker->launch_id))
        status = error_set(error, CODE_EXECUTOR_IO, "the system has no random numbers to give");
    if (status == CODE_EXECUTOR_OK)
        status = start(&self, opened, error);
    if (status == CODE_EXECUTOR_OK) {
        *folder = self.folder;
        self.folder = NULL;
    } else {
        engine_clean_up(docker->engine);
        existing_container_leave(docker, context, NULL);
    }
    json_object_put(self.inspected);
    free(self.folder);
    return status;
}
