/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.c: the table of what profiles say; see profile.h.
 *
 * "strict" is for code that nobody has read. What it holds against, beside what every container of ours has
 * (no-new-privileges, the engine's system call filter, no log):
 *   - network: nothing leaves, nothing is fetched, no service of the machine or its cloud is asked;
 *   - read_only, tmpfs: what code changes outside the workspace is gone with the container, and cannot
 *     wait for the next one to use it; the limit keeps a full /tmp from taking all of the memory;
 *   - cap_drop, user: most ways out of a container begin as root or with a capability;
 *   - memory, cpus, pids_limit: the machine stays usable under a fork bomb or a leak.
 */
#include "profile.h"
#include "config.h"
#include "json.h"
#include <string.h>

static const struct {
    const char *key;
    const char *value; /* JSON */
} strict[] = {
    {"network", "\"none\""},
    {"read_only", "true"},
    {"tmpfs", "{\"/tmp\": \"rw,exec,nosuid,nodev,mode=1777,size=64m\"}"},
    {"cap_drop", "[\"ALL\"]"},
    {"user", "\"unprivileged\""},
    {"memory", "\"512m\""},
    {"cpus", "1"},
    {"pids_limit", "256"},
};

int32_t profile_apply(json_object *given, code_executor_error *error)
{
    const char *name = config_string(given, "profile");
    if (!name || strcmp(name, "strict") != 0)
        return CODE_EXECUTOR_OK;
    for (size_t i = 0; i < sizeof strict / sizeof strict[0]; i++) {
        if (json_object_object_get_ex(given, strict[i].key, NULL))
            continue;
        if (!json_put(given, strict[i].key, json_tokener_parse(strict[i].value)))
            return error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    }
    return CODE_EXECUTOR_OK;
}
