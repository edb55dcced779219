/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins.c: `host_demo plugins` and `host_demo info NAME`: what executors there are, and what one
 * of them takes and runs.
 */
#include "plugins.h"
#include "commands.h"
#include "terminal.h"
#include <code_executor_host.h>
#include <errno.h>
#include <json-c/json.h>
#include <string.h>
#include <unistd.h>

static int write_and_end(const struct bytes *text)
{
    bool written = terminal_write_plain(STDOUT_FILENO, bytes_text(text), text->length);
    return written ? EXIT_OK : terminal_lost_stdout();
}

static int say_error(const code_executor_error *error)
{
    say_problem("%s", error->message);
    return EXIT_HOST_FAILED;
}

static int out_of_memory(void)
{
    say_problem("No memory.");
    return EXIT_HOST_FAILED;
}

static void put_json(json_object **object)
{
    json_object_put(*object);
}

/* OBJECT may be NULL where memory ended while it was made. */
static int write_json(json_object *object)
{
    const char *text = object == NULL
                           ? NULL
                           : json_object_to_json_string_ext(
                                 object, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE);
    CLEANUP(bytes_free) struct bytes line = {0};
    if (text == NULL || !bytes_append_json(&line, text) || !bytes_append_text(&line, "\n"))
        return out_of_memory();
    return write_and_end(&line);
}

static json_object *string_or_null(const char *text)
{
    return text == NULL ? NULL : json_object_new_string(text);
}

/* TEXT is a plugin's, or the name of a file. */
static bool append_shown(struct bytes *to, const char *before, const char *text, const char *after)
{
    CLEANUP(bytes_free) struct bytes scratch = {0};
    return bytes_append_text(to, before) && bytes_append_text(to, visible(&scratch, text)) &&
           bytes_append_text(to, after);
}

/* ------------------------------------------------------------------------------------------------
 * plugins
 * --------------------------------------------------------------------------------------------- */

static void free_list(code_executor_plugin_list **list)
{
    code_executor_plugin_list_free(*list);
}

static bool append_entry(struct bytes *text, int descriptor,
                         const code_executor_plugin_entry *entry)
{
    bool loads = entry->problem == NULL;
    bool whole = append_shown(text, tone_on(descriptor, loads ? TONE_BOLD : TONE_RED), entry->name,
                              tone_off(descriptor)) &&
                 (loads ? append_shown(text, " ", entry->version, ": ") &&
                              append_shown(text, "", entry->description, "\n")
                        : append_shown(text, ": ", entry->problem, "\n")) &&
                 append_shown(text, "    ", "", tone_on(descriptor, TONE_DIM)) &&
                 append_shown(text, "", entry->path, tone_off(descriptor)) &&
                 bytes_append_text(text, "\n");
    if (whole && entry->shadowed_by != NULL) {
        whole =
            append_shown(text, "    not used by this name: ", entry->shadowed_by, " comes first\n");
    }
    return whole;
}

static bool append_folders(struct bytes *text, const code_executor_plugin_list *list)
{
    bool whole = bytes_append_text(text, "No plugins. These folders were searched:\n");
    for (size_t i = 0; i < list->folder_count; i++)
        whole = whole && append_shown(text, "    ", list->folders[i], "\n");
    return whole && bytes_append_text(text, "CODE_EXECUTOR_PLUGIN_PATH adds others.\n");
}

int32_t plugins_append_list(struct bytes *text, int descriptor, code_executor_error *error)
{
    CLEANUP(free_list) code_executor_plugin_list *list = NULL;
    int32_t status = code_executor_plugin_list_make(&list, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    bool whole = list->entry_count > 0 || append_folders(text, list);
    for (size_t i = 0; i < list->entry_count; i++)
        whole = whole && append_entry(text, descriptor, list->entries[i]);
    return whole ? CODE_EXECUTOR_OK : fail_no_memory(error);
}

static json_object *entry_json(const code_executor_plugin_entry *entry)
{
    json_object *object = json_object_new_object();
    json_object_object_add(object, "name", string_or_null(entry->name));
    json_object_object_add(object, "path", string_or_null(entry->path));
    json_object_object_add(object, "version", string_or_null(entry->version));
    json_object_object_add(object, "description", string_or_null(entry->description));
    json_object_object_add(object, "problem", string_or_null(entry->problem));
    json_object_object_add(object, "shadowed_by", string_or_null(entry->shadowed_by));
    return object;
}

static int write_list_json(code_executor_error *error)
{
    CLEANUP(free_list) code_executor_plugin_list *list = NULL;
    if (code_executor_plugin_list_make(&list, error) != CODE_EXECUTOR_OK)
        return say_error(error);
    CLEANUP(put_json) json_object *array = json_object_new_array();
    for (size_t i = 0; i < list->entry_count; i++)
        json_object_array_add(array, entry_json(list->entries[i]));
    return write_json(array);
}

int plugins_command(const struct options *options)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    if (options->json)
        return write_list_json(&error);
    CLEANUP(bytes_free) struct bytes text = {0};
    if (plugins_append_list(&text, STDOUT_FILENO, &error) != CODE_EXECUTOR_OK)
        return say_error(&error);
    return write_and_end(&text);
}

/* ------------------------------------------------------------------------------------------------
 * info
 * --------------------------------------------------------------------------------------------- */

struct loaded_plugin {
    code_executor_plugin *plugin;
    const code_executor_v1 *table;
    const code_executor_language *const *languages;
    size_t language_count;
    bool lists_languages;
};

static void unload(struct loaded_plugin *loaded)
{
    if (loaded->plugin != NULL)
        code_executor_plugin_unload(loaded->plugin);
}

static int32_t load(const char *name, struct loaded_plugin *loaded, code_executor_error *error)
{
    int32_t status = code_executor_plugin_load(name, &loaded->plugin, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    loaded->table = code_executor_plugin_table(loaded->plugin);
    const code_executor_languages_v1 *extension =
        loaded->table->get_extension(NULL, CODE_EXECUTOR_EXTENSION_LANGUAGES);
    if (extension != NULL) {
        loaded->lists_languages = true;
        status = extension->list(NULL, &loaded->languages, &loaded->language_count, error);
    }
    return status;
}

static json_object *language_json(const code_executor_language *language)
{
    json_object *object = json_object_new_object();
    json_object *aliases = json_object_new_array();
    for (size_t i = 0; i < language->alias_count; i++)
        json_object_array_add(aliases, string_or_null(language->aliases[i]));
    json_object_object_add(object, "name", string_or_null(language->name));
    json_object_object_add(object, "aliases", aliases);
    json_object_object_add(object, "runs", json_object_new_boolean(language->runs));
    json_object_object_add(object, "command", string_or_null(language->command));
    return object;
}

/* What an instance with the default configuration is: its isolation and limits on this machine. Nothing is
 * started. NULL where there is no such instance. */
static json_object *describe_defaults(const struct loaded_plugin *loaded)
{
    const code_executor_v1 *table = loaded->table;
    code_executor_instance *instance = NULL;
    char *text = NULL;
    json_object *description = NULL;
    if (table->create(NULL, "{}", &instance, NULL) == CODE_EXECUTOR_OK &&
        table->describe(instance, &text, NULL) == CODE_EXECUTOR_OK)
        description = json_tokener_parse(text);
    table->string_free(text);
    table->destroy(instance);
    return description;
}

static int write_info_json(const struct loaded_plugin *loaded)
{
    const code_executor_v1 *table = loaded->table;
    CLEANUP(put_json) json_object *object = json_object_new_object();
    json_object_object_add(object, "name", string_or_null(table->name));
    json_object_object_add(object, "version", string_or_null(table->version));
    json_object_object_add(object, "description", string_or_null(table->description));
    json_object_object_add(object, "path",
                           string_or_null(code_executor_plugin_path(loaded->plugin)));
    json_object_object_add(object, "abi_version", json_object_new_int((int)table->abi_version));
    json_object_object_add(object, "config_schema", json_tokener_parse(table->config_schema));
    json_object *languages = loaded->lists_languages ? json_object_new_array() : NULL;
    for (size_t i = 0; i < loaded->language_count; i++)
        json_object_array_add(languages, language_json(loaded->languages[i]));
    json_object_object_add(object, "languages", languages);
    json_object_object_add(object, "defaults", describe_defaults(loaded));
    return write_json(object);
}

/* The type or types that a property may have: "string", "integer or null", "one of a, b". */
static bool append_type(struct bytes *text, json_object *property)
{
    json_object *type = NULL;
    bool whole = true;
    if (json_object_object_get_ex(property, "enum", &type) &&
        json_object_is_type(type, json_type_array)) {
        for (size_t i = 0; i < json_object_array_length(type); i++) {
            whole =
                whole && bytes_format(text, "%s%s", i == 0 ? "" : ", ",
                                      json_object_get_string(json_object_array_get_idx(type, i)));
        }
        return whole;
    }
    if (!json_object_object_get_ex(property, "type", &type))
        return true;
    if (!json_object_is_type(type, json_type_array))
        return bytes_append_text(text, json_object_get_string(type));
    for (size_t i = 0; i < json_object_array_length(type); i++) {
        whole = whole && bytes_format(text, "%s%s", i == 0 ? "" : " or ",
                                      json_object_get_string(json_object_array_get_idx(type, i)));
    }
    return whole;
}

static const char *member_text(json_object *object, const char *key)
{
    json_object *member = NULL;
    if (!json_object_object_get_ex(object, key, &member))
        return "";
    return json_object_to_json_string_ext(member,
                                          JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
}

static bool append_option(struct bytes *text, const char *key, json_object *property)
{
    enum { INDENT = 6, COLUMNS = 90 };
    CLEANUP(bytes_free) struct bytes type = {0};
    json_object *description = NULL;
    json_object_object_get_ex(property, "description", &description);
    CLEANUP(bytes_free) struct bytes scratch = {0};
    return append_type(&type, property) &&
           append_shown(text, "  ", "", tone_on(STDOUT_FILENO, TONE_BOLD)) &&
           append_shown(text, "", key, tone_off(STDOUT_FILENO)) &&
           append_shown(text, "  ", bytes_text(&type), ", default ") &&
           append_shown(text, "", member_text(property, "default"), "\n") &&
           (description == NULL ||
            (bytes_format(text, "%*s", INDENT, "") &&
             bytes_append_wrapped(text, visible(&scratch, json_object_get_string(description)),
                                  COLUMNS, INDENT) &&
             bytes_append_text(text, "\n")));
}

/* The keys of SCHEMA, NULL or of any type, each with BEFORE and AFTER before its name; and below each those of
 * its own: of an object, of the objects in an object (NAME stands for their names) or in an array. */
static bool append_options(struct bytes *text, const char *before, const char *after,
                           json_object *schema)
{
    json_object *properties = NULL;
    bool whole = true;
    if (!json_object_object_get_ex(schema, "properties", &properties))
        return true;
    json_object_object_foreach(properties, key, property)
    {
        CLEANUP(bytes_free) struct bytes name = {0};
        json_object *named = NULL, *elements = NULL;
        json_object_object_get_ex(property, "additionalProperties", &named);
        json_object_object_get_ex(property, "items", &elements);
        whole = whole && bytes_format(&name, "%s%s%s", before, after, key) &&
                append_option(text, bytes_text(&name), property) &&
                append_options(text, bytes_text(&name), ".", property) &&
                append_options(text, bytes_text(&name), ".NAME.", named) &&
                append_options(text, bytes_text(&name), "[].", elements);
    }
    return whole;
}

static bool append_options_of(struct bytes *text, const char *schema_text)
{
    CLEANUP(put_json) json_object *schema = json_tokener_parse(schema_text);
    json_object *properties = NULL;
    if (schema == NULL || !json_object_object_get_ex(schema, "properties", &properties) ||
        json_object_object_length(properties) == 0)
        return bytes_append_text(text, "\nIt has no configuration.\n");
    return bytes_append_text(text, "\nConfiguration (a JSON object with these keys):\n") &&
           append_options(text, "", "", schema);
}

static bool append_languages(struct bytes *text, const struct loaded_plugin *loaded)
{
    if (!loaded->lists_languages)
        return true;
    bool whole = bytes_append_text(text, "\nLanguages:\n");
    for (size_t i = 0; i < loaded->language_count && whole; i++) {
        const code_executor_language *language = loaded->languages[i];
        CLEANUP(bytes_free) struct bytes aliases = {0};
        for (size_t k = 0; k < language->alias_count; k++) {
            whole =
                whole && bytes_format(&aliases, "%s%s", k == 0 ? "" : ", ", language->aliases[k]);
        }
        CLEANUP(bytes_free) struct bytes line = {0}, scratch = {0};
        whole =
            whole &&
            bytes_format(&line, "  %-12s  %-24s  %s%s\n", language->name, bytes_text(&aliases),
                         language->runs ? "runs: " : "saved only",
                         language->runs && language->command != NULL ? language->command : "") &&
            bytes_append_text(text, visible(&scratch, bytes_text(&line)));
    }
    return whole;
}

static bool append_defaults(struct bytes *text, const struct loaded_plugin *loaded)
{
    CLEANUP(put_json) json_object *description = describe_defaults(loaded);
    json_object *isolation = NULL;
    json_object *limits = NULL;
    if (!json_object_object_get_ex(description, "isolation", &isolation) ||
        !json_object_object_get_ex(description, "limits", &limits) ||
        !json_object_is_type(limits, json_type_object))
        return true;
    bool whole = append_shown(text, "\nIsolation: ", json_object_get_string(isolation), "\n");
    if (json_object_object_length(limits) > 0)
        whole = whole && bytes_append_text(text, "\nLimits by default, on this machine:\n");
    json_object_object_foreach(limits, key, limit)
    {
        CLEANUP(bytes_free) struct bytes line = {0};
        whole = whole &&
                bytes_format(&line, "  %-18s  %s", key,
                             limit == NULL ? "not set" : member_text(limits, key)) &&
                append_shown(text, "", bytes_text(&line), "\n");
    }
    return whole;
}

int info_command(const struct options *options)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    CLEANUP(unload) struct loaded_plugin loaded = {0};
    if (load(options->argument, &loaded, &error) != CODE_EXECUTOR_OK)
        return say_error(&error);
    if (options->json)
        return write_info_json(&loaded);
    CLEANUP(bytes_free) struct bytes text = {0};
    if (!append_shown(&text, tone_on(STDOUT_FILENO, TONE_BOLD), loaded.table->name,
                      tone_off(STDOUT_FILENO)) ||
        !append_shown(&text, " ", loaded.table->version, ": ") ||
        !append_shown(&text, "", loaded.table->description, "\n") ||
        !append_shown(&text, "", code_executor_plugin_path(loaded.plugin), "\n") ||
        !append_options_of(&text, loaded.table->config_schema) ||
        !append_languages(&text, &loaded) || !append_defaults(&text, &loaded))
        return out_of_memory();
    return write_and_end(&text);
}
