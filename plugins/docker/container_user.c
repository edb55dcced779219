/* SPDX-License-Identifier: Apache-2.0 */
/*
 * container_user.c: see container_user.h.
 *
 *     engine rootless ─▶ 0:0, which is the engine's own user
 *     auto            ─▶ this process
 *     unprivileged    ─▶ this process; if that is root: the workspace's owner; if that is root: nobody
 *
 * Nobody needs a workspace that he can write to. The folder keeps its owner, and a group that can write
 * there already (but root's) is used; else it is given nobody's group, with that right.
 */
#include "container_user.h"
#include "json.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOBODY 65534u

bool container_user_is_chosen(const char *option)
{
    return option && (strcmp(option, "auto") == 0 || strcmp(option, "unprivileged") == 0);
}

static int32_t ask_rootless(struct container_user *self, struct engine *engine,
                            code_executor_error *error)
{
    struct answer CLEANUP_ANSWER answer = {0};
    int32_t status = engine_call(engine, "GET", "/info", NULL, &answer, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    if (answer.status != 200)
        return engine_refusal(engine, &answer, "ask whether the engine is rootless", error);
    json_object *options = json_member(answer.json, "SecurityOptions");
    size_t count =
        json_object_is_type(options, json_type_array) ? json_object_array_length(options) : 0;
    for (size_t i = 0; i < count; i++) {
        const char *option = json_object_get_string(json_object_array_get_idx(options, i));
        self->rootless = self->rootless || (option && strstr(option, "name=rootless"));
    }
    self->rootless_known = true;
    return CODE_EXECUTOR_OK;
}

static int32_t open_to_group(int folder, const char *work_dir, unsigned mode,
                             code_executor_error *error)
{
    if (fchown(folder, (uid_t)-1, NOBODY) == 0 && fchmod(folder, (mode & 07777u) | 070u) == 0)
        return CODE_EXECUTOR_OK;
    return error_set_errno(error, CODE_EXECUTOR_DENIED, errno,
                           "cannot open the workspace %s to user %u, as whom code runs (user: "
                           "unprivileged): choose another work_dir, or another user",
                           work_dir, NOBODY);
}

static int32_t choose_by_workspace(const char *work_dir, uid_t *uid, gid_t *gid,
                                   code_executor_error *error)
{
    struct stat status;
    if (!work_dir) {
        *uid = *gid = NOBODY;
        return CODE_EXECUTOR_OK;
    }
    int folder = open(work_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 || fstat(folder, &status) != 0) {
        int number = errno;
        if (folder >= 0)
            close(folder);
        return error_set_errno(error, CODE_EXECUTOR_IO, number, "cannot look at the workspace %s",
                               work_dir);
    }
    int32_t result = CODE_EXECUTOR_OK;
    *uid = status.st_uid;
    *gid = status.st_gid;
    if (*uid == 0) {
        *uid = NOBODY;
        if (*gid == 0 || (status.st_mode & 070) != 070) {
            *gid = NOBODY;
            result = open_to_group(folder, work_dir, status.st_mode, error);
        }
    } else if (*gid == 0) {
        *gid = NOBODY;
    }
    close(folder);
    return result;
}

int32_t container_user_choose(struct container_user *self, struct engine *engine,
                              const char *option, const char *work_dir, const char **user,
                              code_executor_error *error)
{
    int32_t status = CODE_EXECUTOR_OK;
    uid_t uid = geteuid();
    gid_t gid = getegid();
    *user = option;
    if (!container_user_is_chosen(option))
        return CODE_EXECUTOR_OK;
    if (!self->rootless_known)
        status = ask_rootless(self, engine, error);
    if (status == CODE_EXECUTOR_OK && self->rootless)
        uid = gid = 0;
    else if (status == CODE_EXECUTOR_OK && uid == 0 && strcmp(option, "unprivileged") == 0)
        status = choose_by_workspace(work_dir, &uid, &gid, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    snprintf(self->text, sizeof self->text, "%u:%u", uid, gid);
    *user = self->text;
    return CODE_EXECUTOR_OK;
}
