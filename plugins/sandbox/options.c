/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.c: see options.h. What the schema can say of a value has been checked before.
 */
#include "options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------------------------
 * Sizes
 * --------------------------------------------------------------------------------------------- */

/* "512m" and the like, without regard to case, with or without a "b" or "ib" behind. */
static bool parse_size(const char *text, uint64_t *size)
{
    static const char units[] = "bkmgt";
    char *end = NULL;
    errno = 0;
    if (*text < '0' || *text > '9')
        return false;
    uint64_t value = strtoull(text, &end, 10);
    if (errno != 0)
        return false;
    unsigned shift = 0;
    if (*end != '\0') {
        char lower = (char)(*end | 0x20);
        const char *unit = strchr(units, lower);
        if (!unit)
            return false;
        shift = 10 * (unsigned)(unit - units);
        end++;
        if (shift > 0 && (*end | 0x20) == 'i' && (end[1] | 0x20) == 'b')
            end += 2;
        else if (shift > 0 && (*end | 0x20) == 'b')
            end++;
    }
    if (*end != '\0' || (shift > 0 && value > (UINT64_MAX >> shift)))
        return false;
    *size = value << shift;
    return true;
}

/* What a signed number of the kernel's can hold. */
#define SIZE_MOST ((uint64_t)INT64_MAX)

static int32_t read_size(json_object *config, const char *key, uint64_t least, uint64_t *size,
                         code_executor_error *error)
{
    json_object *value = config_value(config, key);
    *size = 0;
    if (!value)
        return CODE_EXECUTOR_OK;
    if (json_object_is_type(value, json_type_int)) {
        *size = (uint64_t)json_object_get_int64(value);
        return CODE_EXECUTOR_OK;
    }
    const char *text = json_object_get_string(value);
    if (!parse_size(text, size) || *size > SIZE_MOST)
        return error_set(error, CODE_EXECUTOR_INVALID,
                         "%s: \"%.40s\" is no size; write bytes, or a number and a unit: 512m, 2g",
                         key, text);
    if (*size < least)
        return error_set(error, CODE_EXECUTOR_INVALID,
                         "%s: \"%.40s\" is too small: at least %" PRIu64 " bytes", key, text,
                         least);
    return CODE_EXECUTOR_OK;
}

/* ------------------------------------------------------------------------------------------------
 * Binds
 * --------------------------------------------------------------------------------------------- */

/* Places inside that are the sandbox's own, with everything beneath them. */
static const char *const reserved[] = {SANDBOX_WORKSPACE, SANDBOX_PROGRAMS, "/proc", "/dev",
                                       "/sys"};

/* Places that a bind would take away whole. */
static const char *const covered[] = {"/", "/etc", "/home", "/run", "/tmp", "/usr", SANDBOX_HOME};

/* PATH, absolute, without empty, "." and ".." parts and slashes at the end. free(); NULL: no memory. */
static char *normal_path(const char *path)
{
    char *folder = path[0] == '/' ? NULL : getcwd(NULL, 0);
    size_t room = (folder ? strlen(folder) : 0) + strlen(path) + 3;
    char *whole = malloc(room);
    char *normal = malloc(room);
    if (whole && normal) {
        snprintf(whole, room, "%s/%s", folder ? folder : "", path);
        size_t length = 0;
        char *rest = NULL;
        for (char *part = strtok_r(whole, "/", &rest); part; part = strtok_r(NULL, "/", &rest)) {
            if (strcmp(part, ".") == 0)
                continue;
            if (strcmp(part, "..") == 0) {
                while (length > 0 && normal[--length] != '/')
                    continue;
                continue;
            }
            normal[length++] = '/';
            memcpy(normal + length, part, strlen(part));
            length += strlen(part);
        }
        if (length == 0)
            normal[length++] = '/';
        normal[length] = '\0';
    } else {
        free(normal);
        normal = NULL;
    }
    free(whole);
    free(folder);
    return normal;
}

static bool is_beneath(const char *path, const char *folder)
{
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

static int32_t check_destination(const char *key, const char *destination,
                                 code_executor_error *error)
{
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++)
        if (is_beneath(destination, reserved[i]))
            return error_set(error, CODE_EXECUTOR_INVALID,
                             "%s: %s lies in %s, which the sandbox fills itself", key, destination,
                             reserved[i]);
    for (size_t i = 0; i < sizeof covered / sizeof covered[0]; i++)
        if (strcmp(destination, covered[i]) == 0)
            return error_set(
                error, CODE_EXECUTOR_INVALID,
                "%s: %s would hide what the sandbox needs there; bind what lies in it, "
                "or give another place inside: PATH:PATH_INSIDE",
                key, destination);
    return CODE_EXECUTOR_OK;
}

/* TEXT is "PATH" or "PATH:PATH_INSIDE". */
static int32_t read_bind(const char *key, const char *text, bool writable, sandbox_bind *bind,
                         code_executor_error *error)
{
    const char *colon = strrchr(text, ':');
    if (colon == text || (colon && colon[1] != '/'))
        return error_set(error, CODE_EXECUTOR_INVALID,
                         "%s: \"%.200s\" is neither PATH nor PATH:PATH_INSIDE, where PATH_INSIDE "
                         "begins with a slash",
                         key, text);
    char *source = colon ? strndup(text, (size_t)(colon - text)) : strdup(text);
    bind->writable = writable;
    bind->source = source ? normal_path(source) : NULL;
    free(source);
    bind->destination = colon ? normal_path(colon + 1) : bind->source ? strdup(bind->source) : NULL;
    if (!bind->source || !bind->destination)
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory for %s", key);
    return check_destination(key, bind->destination, error);
}

static int32_t read_binds(json_object *config, const char *key, bool writable,
                          sandbox_options *options, code_executor_error *error)
{
    const char *const *texts = NULL;
    size_t count = 0;
    int32_t status = config_strings(config, key, &texts, &count, error);
    if (status != CODE_EXECUTOR_OK || count == 0) {
        free((void *)texts);
        return status;
    }
    sandbox_bind *more = realloc(options->binds, (options->bind_count + count) * sizeof *more);
    if (!more) {
        free((void *)texts);
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory for %s", key);
    }
    options->binds = more;
    for (size_t i = 0; status == CODE_EXECUTOR_OK && i < count; i++) {
        sandbox_bind *bind = &options->binds[options->bind_count++];
        memset(bind, 0, sizeof *bind);
        status = read_bind(key, texts[i], writable, bind, error);
    }
    free((void *)texts);
    return status;
}

/* Landlock's list of writable folders (enter.c) has an end, and so has sense. */
#define BINDS_MAX 48

static int32_t check_binds(const sandbox_options *options, code_executor_error *error)
{
    if (options->bind_count > BINDS_MAX)
        return error_set(error, CODE_EXECUTOR_INVALID,
                         "bind_ro and bind_rw hold %zu paths; at most %d are possible",
                         options->bind_count, BINDS_MAX);
    for (size_t i = 0; i < options->bind_count; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(options->binds[i].destination, options->binds[j].destination) == 0)
                return error_set(error, CODE_EXECUTOR_INVALID,
                                 "bind_ro, bind_rw: %s would be two things at once",
                                 options->binds[i].destination);
    return CODE_EXECUTOR_OK;
}

int32_t sandbox_options_read(json_object *config, sandbox_options *options,
                             code_executor_error *error)
{
    memset(options, 0, sizeof *options);
    options->host_network = strcmp(config_string(config, "network"), "host") == 0;
    options->seccomp = config_boolean(config, "seccomp");
    options->processors = config_value(config, "cpus") ? config_number(config, "cpus") : 0;
    options->pids =
        config_value(config, "pids_limit") ? (uint64_t)config_integer(config, "pids_limit") : 0;
    int32_t status = read_size(config, "memory", 8388608, &options->memory, error);
    if (status == CODE_EXECUTOR_OK)
        status = read_size(config, "tmpfs_size", 65536, &options->tmpfs_bytes, error);
    if (status == CODE_EXECUTOR_OK)
        status = read_binds(config, "bind_ro", false, options, error);
    if (status == CODE_EXECUTOR_OK)
        status = read_binds(config, "bind_rw", true, options, error);
    if (status == CODE_EXECUTOR_OK)
        status = check_binds(options, error);
    const char *bubblewrap = config_string(config, "bwrap");
    if (status == CODE_EXECUTOR_OK && bubblewrap && !(options->bubblewrap = strdup(bubblewrap)))
        status = error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory for the configuration");
    if (status != CODE_EXECUTOR_OK)
        sandbox_options_free(options);
    return status;
}

void sandbox_options_free(sandbox_options *options)
{
    for (size_t i = 0; i < options->bind_count; i++) {
        free(options->binds[i].source);
        free(options->binds[i].destination);
    }
    free(options->binds);
    free(options->bubblewrap);
    memset(options, 0, sizeof *options);
}
