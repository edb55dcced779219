/* SPDX-License-Identifier: Apache-2.0 */
/*
 * container_body.c: the body of POST /containers/create; see container_body.h.
 *
 * In three steps, each able to change what the one before put there: what every container of ours needs,
 * the options one by one, and container_create, the user's own words, last.
 */
#include "container_body.h"
#include "config.h"
#include "container_user.h"
#include "json.h"
#include "labels.h"
#include "runner/stay.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READ_ONLY_TMP_OPTIONS "rw,exec,nosuid,nodev,mode=1777"
#define HOME_OF_ANYBODY       "HOME=/tmp"

struct body {
    json_object *config;
    const struct body_facts *facts;
    json_object *root;
    json_object *host; /* HostConfig */
};

/* ---- what every container needs ---------------------------------------------------------------- */

/* The runner is PID 1 and talks over standard input and output: no terminal, no log of it, no other init,
 * no health checks that would run beside it, and a kill at once where somebody stops it from outside. */
static bool put_streams(const struct body *body, bool stdin_once)
{
    json_object *entrypoint = json_put_array(body->root, "Entrypoint");
    json_object *health = json_put_object(body->root, "Healthcheck");
    json_object *test = health ? json_put_array(health, "Test") : NULL;
    json_object *words = json_put_array(body->root, "Cmd");
    json_object *log = json_put_object(body->host, "LogConfig");
    return entrypoint && test && log && words && json_append_string(entrypoint, RUNNER_PATH) &&
           (stdin_once || json_append_string(words, RUNNER_STAYS)) &&
           json_append_string(test, "NONE") && json_put_string(log, "Type", "none") &&
           json_put_boolean(body->root, "OpenStdin", true) &&
           json_put_boolean(body->root, "StdinOnce", stdin_once) &&
           json_put_boolean(body->root, "AttachStdin", true) &&
           json_put_boolean(body->root, "AttachStdout", true) &&
           json_put_boolean(body->root, "AttachStderr", true) &&
           json_put_boolean(body->root, "Tty", false) &&
           json_put_boolean(body->host, "Init", false) &&
           json_put_string(body->root, "StopSignal", "SIGKILL");
}

/* The workspace is bound, or an anonymous volume, which goes with the container. */
static bool put_mounts(const struct body *body)
{
    json_object *mounts = json_put_array(body->host, "Mounts");
    if (!body->facts->bind_source) {
        json_object *volumes = json_put_object(body->root, "Volumes");
        return mounts && volumes && json_put_object(volumes, WORKSPACE_FOLDER) &&
               json_append(mounts, runner_volume_mount(body->facts->volume, true));
    }
    json_object *workspace = json_object_new_object();
    if (mounts && workspace && json_put_string(workspace, "Type", "bind") &&
        json_put_string(workspace, "Source", body->facts->bind_source) &&
        json_put_string(workspace, "Target", WORKSPACE_FOLDER))
        return json_append(mounts, workspace) &&
               json_append(mounts, runner_volume_mount(body->facts->volume, true));
    json_object_put(workspace);
    return false;
}

static bool put_labels(const struct body *body, bool keep)
{
    json_object *labels = labels_new(body->facts->launch_id, "executor", keep);
    json_object *more = config_value(body->config, "labels");
    if (!json_put(body->root, "Labels", labels))
        return false;
    if (!more)
        return true;
    json_object_object_foreach(more, name, value)
    {
        if (!json_member(labels, name) &&
            !json_put_string(labels, name, json_object_get_string(value)))
            return false;
    }
    return true;
}

/* A user who is not in the image's /etc/passwd has "/" for a home, where nothing can be written. */
static bool put_user(const struct body *body)
{
    if (!body->facts->user)
        return true;
    if (!json_put_string(body->root, "User", body->facts->user))
        return false;
    if (!container_user_is_chosen(config_string(body->config, "user")))
        return true;
    json_object *environment = json_put_array(body->root, "Env");
    return environment && json_append_string(environment, HOME_OF_ANYBODY);
}

static bool put_essentials(const struct body *body)
{
    bool keep = !config_boolean(body->config, "stop_container");
    return json_put_string(body->root, "Image", config_string(body->config, "image")) &&
           json_put_string(body->root, "WorkingDir", WORKSPACE_FOLDER) &&
           json_put_boolean(body->host, "AutoRemove",
                            config_boolean(body->config, "auto_remove")) &&
           put_streams(body, !keep) && put_mounts(body) && put_labels(body, keep) && put_user(body);
}

/* ---- options ----------------------------------------------------------------------------------- */

/* Those that the API has in the same form. */
static const struct {
    const char *key;
    const char *member; /* of HostConfig */
} plain_options[] = {
    {"network", "NetworkMode"},
    {"pids_limit", "PidsLimit"},
    {"read_only", "ReadonlyRootfs"},
    {"cap_drop", "CapDrop"},
    {"cap_add", "CapAdd"},
    {"runtime", "Runtime"},
    {"dns", "Dns"},
};

static json_object *copy_of(json_object *value)
{
    json_object *copy = NULL;
    return json_object_deep_copy(value, &copy, NULL) == 0 ? copy : NULL;
}

static bool put_plain_options(const struct body *body)
{
    for (size_t i = 0; i < sizeof plain_options / sizeof plain_options[0]; i++) {
        json_object *value = config_value(body->config, plain_options[i].key);
        if (value && !json_put(body->host, plain_options[i].member, copy_of(value)))
            return false;
    }
    return true;
}

/* Bytes from 1073741824, "512m", "1.5g"; -1: more than there can be. */
static int64_t bytes_of(json_object *value)
{
    static const char units[] = "bkmgt";
    if (json_object_is_type(value, json_type_int))
        return json_object_get_int64(value);
    char *rest = NULL;
    double number = strtod(json_object_get_string(value), &rest);
    char unit = (char)(*rest | 0x20);
    const char *found = *rest ? strchr(units, unit) : units;
    number *= pow(1024, (double)(found - units));
    return number >= 1 && number < 9e18 ? (int64_t)number : -1;
}

static int32_t put_limits(const struct body *body, code_executor_error *error)
{
    json_object *memory = config_value(body->config, "memory");
    if (memory) {
        int64_t bytes = bytes_of(memory);
        if (bytes < 0)
            return error_set(error, CODE_EXECUTOR_INVALID, "memory: %s is no amount of memory",
                             json_object_get_string(memory));
        if (!json_put_integer(body->host, "Memory", bytes))
            return error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    }
    if (config_value(body->config, "cpus") &&
        !json_put_integer(body->host, "NanoCpus",
                          (int64_t)llround(config_number(body->config, "cpus") * 1e9)))
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    return CODE_EXECUTOR_OK;
}

static bool put_security(const struct body *body)
{
    json_object *options = json_put_array(body->host, "SecurityOpt");
    json_object *given = config_value(body->config, "security_opt");
    bool own = true;
    if (!options)
        return false;
    for (size_t i = 0; given && i < json_object_array_length(given); i++) {
        const char *option = json_object_get_string(json_object_array_get_idx(given, i));
        if (strncmp(option, "no-new-privileges", strlen("no-new-privileges")) == 0)
            own = false;
        if (strcmp(option, "no-new-privileges:false") != 0 && !json_append_string(options, option))
            return false;
    }
    return !own || json_append_string(options, "no-new-privileges");
}

static bool put_tmpfs(const struct body *body)
{
    json_object *given = config_value(body->config, "tmpfs");
    json_object *tmpfs = json_put_object(body->host, "Tmpfs");
    if (!tmpfs)
        return false;
    if (config_boolean(body->config, "read_only") &&
        !json_put_string(tmpfs, "/tmp", READ_ONLY_TMP_OPTIONS))
        return false;
    if (json_object_is_type(given, json_type_array)) {
        for (size_t i = 0; i < json_object_array_length(given); i++)
            if (!json_put_string(tmpfs, json_object_get_string(json_object_array_get_idx(given, i)),
                                 ""))
                return false;
    } else if (given) {
        json_object_object_foreach(given, path, options)
        {
            if (!json_put_string(tmpfs, path, json_object_get_string(options)))
                return false;
        }
    }
    return true;
}

/* "a:b" from a member a: "b", or the elements of a list as they are; FORMAT joins a name and a value. */
static bool put_joined(const struct body *body, const char *key, const char *member,
                       char *(*join)(const char *name, json_object *value))
{
    json_object *given = config_value(body->config, key);
    json_object *list = json_put_array(body->host, member);
    if (!list)
        return false;
    if (json_object_is_type(given, json_type_array)) {
        for (size_t i = 0; i < json_object_array_length(given); i++)
            if (!json_append(list, copy_of(json_object_array_get_idx(given, i))))
                return false;
    } else if (given) {
        json_object_object_foreach(given, name, value)
        {
            char *text = join(name, value);
            bool added = text && json_append_string(list, text);
            free(text);
            if (!added)
                return false;
        }
    }
    return true;
}

static char *join_host(const char *name, json_object *address)
{
    char *text = NULL;
    return asprintf(&text, "%s:%s", name, json_object_get_string(address)) < 0 ? NULL : text;
}

static char *join_volume(const char *source, json_object *target)
{
    char *text = NULL;
    return asprintf(&text, "%s:%s:%s", source, json_string(target, "bind"),
                    json_string(target, "mode")) < 0
               ? NULL
               : text;
}

static bool put_device_ids(json_object *request, const char *ids)
{
    json_object *list = json_put_array(request, "DeviceIDs");
    for (size_t length; list && *ids; ids += length + (ids[length] == ',')) {
        length = strcspn(ids, ",");
        if (!json_append(list, json_object_new_string_len(ids, (int)length)))
            return false;
    }
    return list != NULL;
}

static bool put_gpus(const struct body *body)
{
    json_object *gpus = config_value(body->config, "gpus");
    json_object *more = config_value(body->config, "device_requests");
    json_object *requests = json_put_array(body->host, "DeviceRequests");
    if (!requests)
        return false;
    for (size_t i = 0; more && i < json_object_array_length(more); i++)
        if (!json_append(requests, copy_of(json_object_array_get_idx(more, i))))
            return false;
    if (!gpus)
        return true;
    json_object *request = json_object_new_object();
    if (!json_append(requests, request))
        return false;
    json_object *abilities = json_put_array(request, "Capabilities");
    json_object *ability = json_object_new_array();
    if (!abilities || !json_append(abilities, ability) || !json_append_string(ability, "gpu"))
        return false;
    if (json_object_is_type(gpus, json_type_int))
        return json_put_integer(request, "Count", json_object_get_int64(gpus));
    const char *text = json_object_get_string(gpus);
    return strcmp(text, "all") == 0 ? json_put_integer(request, "Count", -1)
                                    : put_device_ids(request, text + strlen("device="));
}

/* ---- the user's own words ---------------------------------------------------------------------- */

static bool merge(json_object *into, json_object *from)
{
    json_object_object_foreach(from, key, value)
    {
        json_object *there = json_member(into, key);
        if (json_object_is_type(there, json_type_object) &&
            json_object_is_type(value, json_type_object)) {
            if (!merge(there, value))
                return false;
            continue;
        }
        json_object *copy = value ? copy_of(value) : NULL;
        if ((value && !copy) || json_object_object_add(into, key, copy) != 0)
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------------------------------------ */

int32_t container_body(json_object *config, const struct body_facts *facts, json_object **result,
                       code_executor_error *error)
{
    struct body body = {.config = config, .facts = facts, .root = json_object_new_object()};
    json_object *own_words = config_value(config, "container_create");
    *result = NULL;
    if (body.root)
        body.host = json_put_object(body.root, "HostConfig");
    bool whole = body.host && put_essentials(&body) && put_plain_options(&body) &&
                 put_security(&body) && put_tmpfs(&body) && put_gpus(&body) &&
                 put_joined(&body, "extra_hosts", "ExtraHosts", join_host) &&
                 put_joined(&body, "extra_volumes", "Binds", join_volume);
    int32_t status = whole ? put_limits(&body, error)
                           : error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    if (status == CODE_EXECUTOR_OK && own_words && !merge(body.root, own_words))
        status = error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    if (status != CODE_EXECUTOR_OK) {
        json_object_put(body.root);
        return status;
    }
    *result = body.root;
    return CODE_EXECUTOR_OK;
}

bool container_body_has_ptrace(json_object *body)
{
    static const char *const names[] = {"SYS_PTRACE", "CAP_SYS_PTRACE", "ALL", "CAP_ALL"};
    json_object *added = json_member(json_member(body, "HostConfig"), "CapAdd");
    if (!json_object_is_type(added, json_type_array))
        return false;
    for (size_t i = 0; i < json_object_array_length(added); i++) {
        const char *name = json_object_get_string(json_object_array_get_idx(added, i));
        for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
            if (name && strcasecmp(name, names[k]) == 0)
                return true;
    }
    return false;
}
