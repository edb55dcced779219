/* SPDX-License-Identifier: Apache-2.0 */
/*
 * configuration.c: see configuration.h. What is wrong with a configuration the plugin says, in its
 * own words: here it is looked into only as far as its workspace goes, and its text is left as it
 * is.
 */
#include "configuration.h"
#include "message.h"
#include "terminal.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void free_json(json_object **object)
{
    json_object_put(*object);
}

json_object *parse_object(const char *text)
{
    json_tokener *tokener = json_tokener_new();
    if (tokener == NULL)
        return NULL;
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
    json_object *object = json_tokener_parse_ex(tokener, text, (int)strlen(text) + 1);
    json_tokener_free(tokener);
    if (!json_object_is_type(object, json_type_object)) {
        json_object_put(object);
        return NULL;
    }
    return object;
}

static bool has_workspace(const code_executor_v1 *table)
{
    CLEANUP(free_json) json_object *schema = parse_object(table->config_schema);
    json_object *properties = NULL;
    return schema != NULL && json_object_object_get_ex(schema, "properties", &properties) &&
           json_object_object_get_ex(properties, "work_dir", NULL);
}

static int32_t make_workspace(char **workspace, code_executor_error *error)
{
    const char *parent = getenv("TMPDIR");
    parent = parent == NULL || *parent != '/' ? "/tmp" : parent;
    char *path = NULL;
    if (asprintf(&path, "%s/host_demo-XXXXXX", parent) < 0)
        return fail_no_memory(error);
    if (mkdtemp(path) == NULL) {
        int32_t status =
            fail(error, CODE_EXECUTOR_IO,
                 "Cannot make a workspace in %s: %s. TMPDIR or --work-dir names another place.",
                 parent, strerror(errno));
        free(path);
        return status;
    }
    *workspace = path;
    return CODE_EXECUTOR_OK;
}

/* Puts work_dir in front of the members of the object TEXT, whose own text stays as it is, so
 * that what the plugin says about it is about what was written. */
static bool add_work_dir(const char *text, json_object *object, const char *work_dir,
                         struct bytes *to)
{
    CLEANUP(free_json) json_object *path = json_object_new_string(work_dir);
    const char *brace = strchr(text, '{');
    return path != NULL && brace != NULL && bytes_append_text(to, "{\"work_dir\":") &&
           bytes_append_text(
               to, json_object_to_json_string_ext(path, JSON_C_TO_STRING_NOSLASHESCAPE)) &&
           bytes_append_text(to, json_object_object_length(object) == 0 ? "" : ",") &&
           bytes_append_text(to, brace + 1);
}

int32_t configuration_read(const char *given, struct bytes *config, code_executor_error *error)
{
    if (given == NULL)
        return CODE_EXECUTOR_OK;
    if (*given == '@') {
        int32_t status = message_read(given + 1, config, error);
        if (status == CODE_EXECUTOR_OK && strlen(bytes_text(config)) != config->length) {
            return fail(error, CODE_EXECUTOR_INVALID, "The configuration in %s is no JSON text.",
                        given + 1);
        }
        return status;
    }
    return bytes_append_text(config, given) ? CODE_EXECUTOR_OK : fail_no_memory(error);
}

/* Makes what --work-dir, or a temporary folder, is for a configuration that names no workspace. */
static int32_t add_workspace(const char *text, json_object *object, const char *work_dir,
                             struct configuration *made, code_executor_error *error)
{
    int32_t status = work_dir == NULL ? make_workspace(&made->workspace, error) : CODE_EXECUTOR_OK;
    if (status != CODE_EXECUTOR_OK)
        return status;
    work_dir = work_dir == NULL ? made->workspace : work_dir;
    if (add_work_dir(text, object, work_dir, &made->text))
        return CODE_EXECUTOR_OK;
    if (made->workspace != NULL) {
        rmdir(made->workspace);
        free(made->workspace);
    }
    bytes_free(&made->text);
    return fail_no_memory(error);
}

int32_t configuration_make(const char *given, const code_executor_v1 *table, const char *label,
                           const char *work_dir, struct configuration *made,
                           code_executor_error *error)
{
    *made = (struct configuration){0};
    CLEANUP(bytes_free) struct bytes read = {0};
    int32_t status = configuration_read(given, &read, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    const char *text = read.length == 0 ? "{}" : read.data;
    CLEANUP(free_json) json_object *object = parse_object(text);
    bool configured = object != NULL && json_object_object_get_ex(object, "work_dir", NULL);
    if (configured && work_dir != NULL) {
        made->given_twice = true;
        return fail(error, CODE_EXECUTOR_INVALID,
                    "The workspace of %s is given twice: by --work-dir and by work_dir in its "
                    "configuration.",
                    label);
    }
    if (work_dir != NULL && !has_workspace(table))
        say_problem("%s has no workspace: --work-dir is nothing to it.", label);
    if (object == NULL || configured || !has_workspace(table))
        return bytes_append_text(&made->text, text) ? CODE_EXECUTOR_OK : fail_no_memory(error);
    return add_workspace(text, object, work_dir, made, error);
}
