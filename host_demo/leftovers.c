/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leftovers.c: `host_demo ps` and `host_demo prune`: what executors have made and is still there, in
 * words or as JSON, and away with it. By the extension code_executor.leftovers/1 of each plugin that has
 * it, or of the one that is named.
 */
#include "commands.h"
#include "configuration.h"
#include "terminal.h"
#include <code_executor_host.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* One call of the program. */
struct asking {
    const struct options *options;
    bool prunes;
    struct bytes config;
    json_object *items; /* of all executors asked, each with "executor" */
    size_t asked;
    bool failed;
};

static void release(struct asking *asking)
{
    bytes_free(&asking->config);
    json_object_put(asking->items);
}

/* ------------------------------------------------------------------------------------------------
 * Asking
 * --------------------------------------------------------------------------------------------- */

static bool keep_items(struct asking *asking, const char *executor, const char *json)
{
    CLEANUP(free_json) json_object *list = json_tokener_parse(json);
    if (!json_object_is_type(list, json_type_array))
        return false;
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        json_object *item = json_object_get(json_object_array_get_idx(list, i));
        json_object *name = json_object_new_string(executor);
        if (!json_object_is_type(item, json_type_object) || name == NULL ||
            json_object_object_add(item, "executor", name) != 0 ||
            json_object_array_add(asking->items, item) != 0)
            return false;
    }
    return true;
}

static void ask_table(struct asking *asking, const char *name, const code_executor_v1 *table,
                      const code_executor_leftovers_v1 *leftovers)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    const char *config = bytes_text(&asking->config);
    char *json = NULL;
    int32_t status = asking->prunes ? leftovers->prune(config, asking->options->all, &json, &error)
                                    : leftovers->list(config, &json, &error);
    if (json != NULL && !keep_items(asking, name, json)) {
        say_problem("%s: what it answers is not what it should be.", name);
        asking->failed = true;
    }
    table->string_free(json);
    if (status != CODE_EXECUTOR_OK) {
        say_problem("%s: %s", name, error.message);
        asking->failed = true;
    }
    asking->asked++;
}

/* NAMED: by the user, who is to know when it has nothing of the kind. */
static void ask_plugin(struct asking *asking, const char *name, bool named)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    code_executor_plugin *plugin = NULL;
    if (code_executor_plugin_load(name, &plugin, &error) != CODE_EXECUTOR_OK) {
        say_problem("%s", error.message);
        asking->failed = true;
        return;
    }
    const code_executor_v1 *table = code_executor_plugin_table(plugin);
    const code_executor_leftovers_v1 *leftovers =
        table->get_extension(NULL, CODE_EXECUTOR_EXTENSION_LEFTOVERS);
    if (leftovers != NULL) {
        ask_table(asking, table->name, table, leftovers);
    } else if (named) {
        say_problem("%s keeps no list of what it makes: all of it ends with the program.",
                    table->name);
        asking->failed = true;
    }
    code_executor_plugin_unload(plugin);
}

static void ask_all(struct asking *asking)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    code_executor_plugin_list *list = NULL;
    if (code_executor_plugin_list_make(&list, &error) != CODE_EXECUTOR_OK) {
        say_problem("%s", error.message);
        asking->failed = true;
        return;
    }
    for (size_t i = 0; i < list->entry_count; i++)
        if (list->entries[i]->problem == NULL && list->entries[i]->shadowed_by == NULL)
            ask_plugin(asking, list->entries[i]->name, false);
    code_executor_plugin_list_free(list);
}

/* ------------------------------------------------------------------------------------------------
 * Telling
 * --------------------------------------------------------------------------------------------- */

enum { COLUMN_COUNT = 7, ID_LENGTH = 12 };

static const char *const titles[COLUMN_COUNT] = {"KIND", "NAME",  "ID",   "STATE",
                                                 "AGE",  "IMAGE", "OWNER"};

struct row {
    struct bytes cells[COLUMN_COUNT];
};

static void free_rows(struct row **rows)
{
    free(*rows);
}

static json_object *member(json_object *item, const char *key)
{
    json_object *found = NULL;
    json_object_object_get_ex(item, key, &found);
    return found;
}

/* What somebody else chose, so that a terminal shows it and no more. */
static bool append_text(struct bytes *cell, json_object *item, const char *key, size_t length)
{
    json_object *value = member(item, key);
    const char *text =
        json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "-";
    return bytes_append_visible(cell, text, strnlen(text, length), false);
}

/* As short as engines show it; "-" where it says no more than the name. */
static bool append_id(struct bytes *cell, json_object *item)
{
    if (json_object_equal(member(item, "id"), member(item, "name")))
        return bytes_append_text(cell, "-");
    return append_text(cell, item, "id", ID_LENGTH);
}

static bool append_age(struct bytes *cell, json_object *item)
{
    static const struct {
        int64_t seconds;
        const char *unit;
    } units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
    json_object *created = member(item, "created");
    int64_t age = (int64_t)time(NULL) - json_object_get_int64(created);
    if (created == NULL || age < 0)
        return bytes_append_text(cell, "-");
    size_t i = 0;
    while (units[i].seconds > 1 && age < 2 * units[i].seconds)
        i++;
    return bytes_format(cell, "%" PRId64 " %s", age / units[i].seconds, units[i].unit);
}

static bool append_owner(struct bytes *cell, json_object *item)
{
    json_object *owner = member(item, "owner");
    json_object *alive = member(owner, "alive");
    const char *state = alive == NULL                    ? "from elsewhere"
                        : json_object_get_boolean(alive) ? "running"
                                                         : "ended";
    if (owner == NULL)
        return bytes_append_text(cell, "-");
    return bytes_format(cell, "%" PRId64 ", %s%s", json_object_get_int64(member(owner, "pid")),
                        state, json_object_get_boolean(member(item, "kept")) ? ", to be kept" : "");
}

static bool fill_row(struct row *row, json_object *item)
{
    return append_text(&row->cells[0], item, "kind", SIZE_MAX) &&
           append_text(&row->cells[1], item, "name", SIZE_MAX) && append_id(&row->cells[2], item) &&
           append_text(&row->cells[3], item, "state", SIZE_MAX) &&
           append_age(&row->cells[4], item) &&
           append_text(&row->cells[5], item, "image", SIZE_MAX) &&
           append_owner(&row->cells[6], item);
}

static bool append_row(struct bytes *text, const struct row *row, const size_t *widths)
{
    bool whole = true;
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        const char *cell = row == NULL ? titles[i] : bytes_text(&row->cells[i]);
        size_t taken = utf8_columns(cell, strlen(cell));
        int padding = i + 1 < COLUMN_COUNT ? (int)(widths[i] - taken) + 2 : 0;
        whole = whole && bytes_format(text, "%s%*s", cell, padding, "");
    }
    return whole && bytes_append_text(text, "\n");
}

static bool append_table(struct bytes *text, json_object *items)
{
    size_t count = json_object_array_length(items);
    size_t widths[COLUMN_COUNT];
    CLEANUP(free_rows) struct row *rows = calloc(count + 1, sizeof *rows);
    bool whole = rows != NULL;
    for (size_t i = 0; i < COLUMN_COUNT; i++)
        widths[i] = strlen(titles[i]);
    for (size_t k = 0; whole && k < count; k++) {
        whole = fill_row(&rows[k], json_object_array_get_idx(items, k));
        for (size_t i = 0; i < COLUMN_COUNT; i++) {
            size_t taken = utf8_columns(bytes_text(&rows[k].cells[i]), rows[k].cells[i].length);
            widths[i] = taken > widths[i] ? taken : widths[i];
        }
    }
    whole = whole && append_row(text, NULL, widths);
    for (size_t k = 0; rows != NULL && k < count; k++) {
        whole = whole && append_row(text, &rows[k], widths);
        for (size_t i = 0; i < COLUMN_COUNT; i++)
            bytes_free(&rows[k].cells[i]);
    }
    return whole;
}

static int tell(const struct asking *asking)
{
    CLEANUP(bytes_free) struct bytes text = {0};
    bool whole = true;
    if (asking->options->json) {
        const char *json = json_object_to_json_string_ext(
            asking->items, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE);
        whole = json != NULL && bytes_append_json(&text, json) && bytes_append_text(&text, "\n");
    } else if (json_object_array_length(asking->items) > 0) {
        whole = append_table(&text, asking->items);
    } else if (!asking->failed) {
        say_note(asking->prunes ? "Nothing to remove." : "Nothing is there.");
    }
    if (!whole) {
        say_problem("No memory.");
        return EXIT_HOST_FAILED;
    }
    if (asking->prunes && json_object_array_length(asking->items) > 0)
        say_note("Removed %zu.", json_object_array_length(asking->items));
    if (!terminal_write_plain(STDOUT_FILENO, bytes_text(&text), text.length))
        return terminal_lost_stdout();
    return asking->failed ? EXIT_HOST_FAILED : EXIT_OK;
}

/* ------------------------------------------------------------------------------------------------ */

static int ask_and_tell(const struct options *options, bool prunes)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    CLEANUP(release) struct asking asking = {.options = options, .prunes = prunes};
    const char *named = options->argument;
    if (options->config != NULL && named == NULL) {
        say_problem("--config is for one executor: name it.");
        return EXIT_USAGE;
    }
    asking.items = json_object_new_array();
    if (asking.items == NULL ||
        configuration_read(options->config, &asking.config, &error) != CODE_EXECUTOR_OK) {
        say_problem("%s", asking.items == NULL ? "No memory." : error.message);
        return EXIT_HOST_FAILED;
    }
    if (named != NULL)
        ask_plugin(&asking, named, true);
    else
        ask_all(&asking);
    return tell(&asking);
}

int ps_command(const struct options *options)
{
    return ask_and_tell(options, false);
}

int prune_command(const struct options *options)
{
    return ask_and_tell(options, true);
}
