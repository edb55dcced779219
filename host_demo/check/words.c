/* SPDX-License-Identifier: Apache-2.0 */
/*
 * words.c: rules about the table and what an executor says of itself.
 */
#include "json_text.h"
#include "plain_schema.h"
#include "schema.h"
#include "subject.h"
#include <dlfcn.h>
#include <string.h>

void rule_loads(struct subject *subject)
{
    subject_load(subject);
}

void rule_table_is_whole(struct subject *subject)
{
    subject_load(subject);
    expect(subject, "struct_size is that of version 1, %zu", sizeof *subject->table);
    if (subject->table->struct_size < sizeof *subject->table)
        saw(subject, "%zu", subject->table->struct_size);
    expect(subject, "reserved is 0");
    if (subject->table->reserved != 0)
        saw(subject, "%u", (unsigned)subject->table->reserved);
}

static void must_be_line(struct subject *subject, const char *what, const char *text)
{
    expect(subject, "%s is one line of UTF-8 that is not empty", what);
    if (text == NULL || *text == '\0')
        saw(subject, text == NULL ? "NULL" : "it is empty");
    for (size_t length = strlen(text), at = 0; at < length;) {
        size_t sequence = utf8_sequence(text + at, length - at);
        if (sequence == 0 || (unsigned char)text[at] < 0x20)
            saw(subject, "byte %zu is %02x: %.200s", at, (unsigned)(unsigned char)text[at], text);
        at += sequence;
    }
}

void rule_words_are_set(struct subject *subject)
{
    subject_load(subject);
    const char *name = subject->table->name;
    expect(subject, "name is [a-z0-9_-]+");
    if (name == NULL || *name == '\0' ||
        name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-")] != '\0')
        saw(subject, "%.200s", name == NULL ? "NULL" : name);
    must_be_line(subject, "version", subject->table->version);
    must_be_line(subject, "description", subject->table->description);
}

void rule_entry_is_constant(struct subject *subject)
{
    subject_load(subject);
    void *library = dlopen(code_executor_plugin_path(subject->plugin), RTLD_NOW | RTLD_LOCAL);
    code_executor_entry_v1 entry = NULL;
    if (library != NULL)
        *(void **)&entry = dlsym(library, CODE_EXECUTOR_ENTRY_SYMBOL);
    if (entry == NULL)
        not_applicable(subject, "it cannot be opened twice: %.400s", dlerror());
    step(subject, "code_executor_plugin_v1");
    expect(subject, "the table that the first call returned");
    if (entry() != subject->table)
        saw(subject, "another one");
}

/* ------------------------------------------------------------------------------------------------
 * The schema
 * --------------------------------------------------------------------------------------------- */

void rule_schema_is_one(struct subject *subject)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    json_object *schema = NULL;
    subject_load(subject);
    const char *text = subject->table->config_schema;
    expect(subject, "config_schema is JSON text");
    if (text == NULL)
        saw(subject, "NULL");
    if (json_text_parse(text, &schema, &error) != CODE_EXECUTOR_OK)
        saw(subject, "%.1400s", error.message);
    expect(subject, "config_schema is JSON Schema of an object");
    if (plain_schema(schema, &error) != CODE_EXECUTOR_OK)
        saw(subject, "%.1400s", error.message);
}

void rule_schema_explains(struct subject *subject)
{
    subject_load(subject);
    json_object *schema = subject_schema(subject), *properties = NULL;
    if (!json_object_object_get_ex(schema, "properties", &properties))
        return;
    json_object_object_foreach(properties, key, property)
    {
        code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
        json_object *description = NULL, *value = NULL;
        expect(subject, "the key \"%.200s\" has a description", key);
        if (!json_object_object_get_ex(property, "description", &description) ||
            json_object_get_string_len(description) == 0)
            saw(subject, "none");
        expect(subject, "the key \"%.200s\" has a default", key);
        if (!json_object_object_get_ex(property, "default", &value))
            saw(subject, "none");
        expect(subject, "the default of \"%.200s\" is right by its own schema", key);
        if (schema_check(property, value, &error) == CODE_EXECUTOR_INVALID)
            saw(subject, "%.1400s", error.message);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Extensions
 * --------------------------------------------------------------------------------------------- */

void rule_unknown_extension(struct subject *subject)
{
    code_executor_instance *instance = load_and_create(subject);
    step(subject, "get_extension");
    expect(subject, "NULL for \"nobody.knows/1\"");
    if (subject->table->get_extension(NULL, "nobody.knows/1") != NULL ||
        subject->table->get_extension(instance, "nobody.knows/1") != NULL)
        saw(subject, "something else");
    destroy(subject, instance);
}

static void check_language(struct subject *subject, const code_executor_language *language)
{
    expect(subject, "a language with struct_size %zu and a name", sizeof *language);
    if (language == NULL)
        saw(subject, "NULL");
    if (language->struct_size < sizeof *language)
        saw(subject, "struct_size %zu", language->struct_size);
    if (language->name == NULL || *language->name == '\0')
        saw(subject, "no name");
    expect(subject, "the aliases of %.100s are names", language->name);
    for (size_t i = 0; i < language->alias_count; i++)
        if (language->aliases == NULL || language->aliases[i] == NULL || *language->aliases[i] == 0)
            saw(subject, "alias %zu is none", i);
}

static void check_list(struct subject *subject, code_executor_instance *instance)
{
    const code_executor_language *const *languages = NULL;
    size_t count = 0;
    step(subject, "get_extension");
    const code_executor_languages_v1 *extension =
        subject->table->get_extension(instance, CODE_EXECUTOR_EXTENSION_LANGUAGES);
    if (extension == NULL)
        not_applicable(subject, "it has no " CODE_EXECUTOR_EXTENSION_LANGUAGES);
    expect(subject, "struct_size of the extension is its size");
    if (extension->struct_size < sizeof *extension)
        saw(subject, "%zu", extension->struct_size);
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    step(subject, "list");
    expect(subject, "list succeeds, %s", instance == NULL ? "for the plugin" : "for an instance");
    int32_t status = extension->list(instance, &languages, &count, &error);
    if (status != CODE_EXECUTOR_OK)
        saw_status(subject, status, &error);
    for (size_t i = 0; i < count; i++)
        check_language(subject, languages[i]);
}

void rule_languages(struct subject *subject)
{
    code_executor_instance *instance = load_and_create(subject);
    check_list(subject, NULL);
    check_list(subject, instance);
    destroy(subject, instance);
}

static void check_leftover(struct subject *subject, json_object *item)
{
    static const char *const members[] = {"kind",    "id",    "name", "state",
                                          "created", "image", "kept", "owner"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        expect(subject, "each of the list is an object with \"%s\"", members[i]);
        if (!json_object_is_type(item, json_type_object) ||
            !json_object_object_get_ex(item, members[i], NULL))
            saw(subject, "%.1000s", json_object_to_json_string(item));
    }
}

void rule_leftovers(struct subject *subject)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    json_object *list = NULL;
    char *text = NULL;
    subject_load(subject);
    const code_executor_leftovers_v1 *extension =
        subject->table->get_extension(NULL, CODE_EXECUTOR_EXTENSION_LEFTOVERS);
    if (extension == NULL)
        not_applicable(subject, "it has no " CODE_EXECUTOR_EXTENSION_LEFTOVERS);
    step(subject, "list");
    expect(subject, "list succeeds");
    int32_t status = extension->list(bytes_text(&subject->config), &text, &error);
    if (status != CODE_EXECUTOR_OK)
        saw_status(subject, status, &error);
    expect(subject, "list returns a JSON array");
    if (text == NULL || json_text_parse(text, &list, NULL) != CODE_EXECUTOR_OK ||
        !json_object_is_type(list, json_type_array))
        saw(subject, "%.1000s", text == NULL ? "NULL" : text);
    for (size_t i = 0; i < json_object_array_length(list); i++)
        check_leftover(subject, json_object_array_get_idx(list, i));
    step(subject, "string_free");
    subject->table->string_free(text);
}
