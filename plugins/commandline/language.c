/* SPDX-License-Identifier: Apache-2.0 */
/*
 * language.c: the table of languages and what a configuration makes of it; see language.h.
 *
 * Everything of a table lives in its arena; arrays that a configuration extends are copied longer.
 */
#include "language.h"
#include "arena.h"
#include "ascii.h"
#include "config.h"
#include "nearest.h"
#include "text.h"
#include <languages.h>
#include <stdlib.h>
#include <string.h>

enum { SAVED = 0, RUNS = 1, SHELL = 2, SESSION = 4 };

/*
 * Names are joined with languages.h. Commands are words between single spaces; `|` stands before a
 * further candidate and `;` before a further step. A file without a name of its own ends in what its
 * tools ask for; those that ask for nothing keep the name of the language, as they always have.
 *
 * An interpreter that confines scripts by itself (deno) is told not to: the executor is what confines,
 * and a script must not do here what it cannot do there. Nothing asks questions, since nobody answers.
 *
 * No TypeScript is checked for its types, as most of what runs it does not.
 *
 * Go is built and then run, for `go run` ends with 1 whatever the program ended with. Rust's crate has a
 * name of its own, as not every file's can be one. `csi` comes last: it is also a Scheme.
 */
/* clang-format off */
static const struct row {
    const char *name;
    const char *extension;
    const char *name_extensions;
    unsigned flags;
    const char *commands;
} rows[] = {
    {"python", "python", "py pyw", RUNS, "python {file} | python3 {file}"},
    {"sh", "sh", "sh", RUNS | SHELL, "sh {file}"},
    {"bash", "bash", "sh bash", RUNS | SHELL, "bash {file}"},
    {"zsh", "zsh", "zsh", SHELL, "zsh -f {file}"},
    {"console", "sh", "", RUNS | SHELL | SESSION, "sh {file}"},
    {"pwsh", "ps1", "ps1", RUNS | SHELL,
     "pwsh -NoLogo -NoProfile -NonInteractive -File {file} | "
     "powershell -NoLogo -NoProfile -NonInteractive -File {file}"},
    {"javascript", "javascript", "js mjs cjs", SAVED,
     "node {file} | deno run --quiet --allow-all --ext=js {file} | "
     "bun run --loader=.javascript:js {file}"},
    {"typescript", "ts", "ts mts cts", SAVED,
     "tsx {file} | deno run --quiet --allow-all {file} | bun run {file} | "
     "ts-node --transpile-only {file} | "
     "node --experimental-strip-types --disable-warning=ExperimentalWarning {file}"},
    {"ruby", "rb", "rb", SAVED, "ruby {file}"},
    {"perl", "pl", "pl pm", SAVED, "perl {file}"},
    {"php", "php", "php", SAVED, "php {file}"},
    {"lua", "lua", "lua", SAVED, "lua {file} | lua5.4 {file} | lua5.3 {file} | luajit {file}"},
    {"r", "R", "R r", SAVED, "Rscript --vanilla {file}"},
    {"julia", "jl", "jl", SAVED, "julia --startup-file=no {file}"},
    {"go", "go", "go", SAVED, "go build -o {output} {file} ; {output}"},
    {"rust", "rs", "rs", SAVED,
     "rustc --edition=2021 --crate-name=main -o {output} {file} ; {output}"},
    {"c", "c", "c h", SAVED,
     "cc -o {output} {file} -lm | gcc -o {output} {file} -lm | clang -o {output} {file} -lm ; "
     "{output}"},
    {"c++", "cpp", "cpp cc cxx hpp", SAVED,
     "c++ -o {output} {file} | g++ -o {output} {file} | clang++ -o {output} {file} ; {output}"},
    {"java", "java", "java", SAVED, "java {file}"},
    {"kotlin", "kts", "kts kt", SAVED, "kotlinc -script {file} | kotlin {file}"},
    {"c#", "csx", "csx cs", SAVED, "dotnet-script {file} | csharp {file} | csi {file}"},
    {"swift", "swift", "swift", SAVED, "swift {file}"},
    /* Debian's, whose compile server does not find the classes of a Java newer than 8 */
    {"scala", "scala", "scala sc", SAVED,
     "scala-cli run --quiet {file} | /usr/share/scala-2.11/bin/scala -nc {file} | scala {file}"},
    {"haskell", "hs", "hs", SAVED, "runghc {file} | runhaskell {file}"},
    {"elixir", "exs", "exs ex", SAVED, "elixir {file}"},
    {"awk", "awk", "awk", SAVED, "awk -f {file} | gawk -f {file} | mawk -f {file}"},
    {"sql", "sql", "sql", SAVED, "sqlite3 -batch -bail -init {file} :memory: .exit"},
    {"html", "html", "html htm", SAVED, ""},
    {"css", "css", "css", SAVED, ""},
    {"json", "json", "json", SAVED, ""},
    {"yaml", "yaml", "yaml yml", SAVED, ""},
    {"markdown", "md", "md markdown", SAVED, ""},
    {"dockerfile", "dockerfile", "dockerfile", SAVED, ""},
};
/* clang-format on */

static const struct names {
    const char *name;
    const char *aliases;
} all_names[] = {
#define LANGUAGE(name, aliases) {name, aliases},
    CODE_EXECUTOR_LANGUAGES(LANGUAGE)
#undef LANGUAGE
};
#define NAME_COUNT (sizeof all_names / sizeof all_names[0])
_Static_assert(NAME_COUNT == sizeof rows / sizeof rows[0],
               "each language of languages.h has a row");

struct language_table {
    struct arena arena;
    language *languages;
    size_t count;
};

const language *language_find(const language_table *table, const char *name)
{
    for (size_t i = 0; i < table->count; i++) {
        const language *known = &table->languages[i];
        if (text_equal(known->name, name))
            return known;
        for (size_t j = 0; j < known->alias_count; j++)
            if (text_equal(known->aliases[j], name))
                return known;
    }
    return NULL;
}

size_t language_count(const language_table *table)
{
    return table->count;
}

const language *language_at(const language_table *table, size_t index)
{
    return &table->languages[index];
}

void language_table_free(language_table *table)
{
    if (!table)
        return;
    arena_release(&table->arena);
    free(table);
}

/* ------------------------------------------------------------------------------------------------
 * From the rows
 * --------------------------------------------------------------------------------------------- */

static size_t count_character(const char *text, char character)
{
    size_t count = 0;
    for (; *text; text++)
        count += *text == character;
    return count;
}

/* The words of TEXT as an array with a NULL behind it. */
static const char *const *split_words(struct arena *arena, const char *text, size_t *count)
{
    *count = *text ? count_character(text, ' ') + 1 : 0;
    const char **words = arena_get_array(arena, *count + 1, sizeof *words);
    char *at = arena_copy(arena, text, strlen(text));
    if (!words || !at) {
        *count = 0;
        return NULL;
    }
    for (size_t i = 0; i < *count; i++)
        words[i] = strsep(&at, " ");
    return words;
}

/* Candidates are cut out of WORDS, a step's: each `|` becomes the NULL behind a vector. */
static language_step make_step(struct arena *arena, const char **words, size_t count)
{
    language_step step = {NULL, 0};
    const char *const **candidates = arena_get_array(arena, count + 1, sizeof *candidates);
    if (!candidates)
        return step;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || !words[i - 1])
            candidates[step.candidate_count++] = words + i;
        if (strcmp(words[i], "|") == 0)
            words[i] = NULL;
    }
    step.candidates = candidates;
    return step;
}

static void set_commands(struct arena *arena, language *known, const char *commands)
{
    size_t count;
    const char **words = (const char **)split_words(arena, commands, &count);
    if (count == 0)
        return;
    language_step *steps =
        arena_get_array(arena, count_character(commands, ';') + 1, sizeof *steps);
    if (!steps)
        return;
    size_t begin = 0;
    for (size_t i = 0; i <= count; i++) {
        if (i < count && strcmp(words[i], ";") != 0)
            continue;
        words[i] = NULL;
        steps[known->step_count++] = make_step(arena, words + begin, i - begin);
        begin = i + 1;
    }
    known->steps = steps;
}

static void set_from_row(struct arena *arena, language *known, const struct names *names)
{
    const struct row *row = rows;
    while (strcmp(row->name, names->name) != 0)
        row++;
    known->name = row->name;
    known->extension = row->extension;
    known->runs = row->flags & RUNS;
    known->shell = row->flags & SHELL;
    known->session = row->flags & SESSION;
    known->aliases = split_words(arena, names->aliases, &known->alias_count);
    known->name_extensions = split_words(arena, row->name_extensions, &known->name_extension_count);
    set_commands(arena, known, row->commands);
}

/* ------------------------------------------------------------------------------------------------
 * From the configuration
 * --------------------------------------------------------------------------------------------- */

static char *copy_string(struct arena *arena, json_object *string)
{
    const char *text = json_object_get_string(string);
    return text ? arena_copy(arena, text, strlen(text)) : NULL;
}

/* An array of strings as one with a NULL behind it, BEFORE elements of EARLIER in front. */
static const char *const *copy_strings(struct arena *arena, json_object *array,
                                       const char *const *earlier, size_t before)
{
    size_t count = json_object_array_length(array);
    const char **strings = arena_get_array(arena, before + count + 1, sizeof *strings);
    if (!strings)
        return NULL;
    if (before)
        memcpy(strings, earlier, before * sizeof *strings);
    for (size_t i = 0; i < count; i++)
        strings[before + i] = copy_string(arena, json_object_array_get_idx(array, i));
    return strings;
}

static language_step copy_step(struct arena *arena, json_object *commands)
{
    language_step step = {NULL, json_object_array_length(commands)};
    const char *const **candidates =
        arena_get_array(arena, step.candidate_count, sizeof *candidates);
    for (size_t i = 0; candidates && i < step.candidate_count; i++)
        candidates[i] = copy_strings(arena, json_object_array_get_idx(commands, i), NULL, 0);
    step.candidates = candidates;
    return step;
}

static bool mentions_file(json_object *command)
{
    for (size_t i = 0; i < json_object_array_length(command); i++)
        if (strstr(json_object_get_string(json_object_array_get_idx(command, i)), "{file}"))
            return true;
    return false;
}

/* What the schema cannot say of the commands of the first step: each is about the file. */
static int32_t check_commands(const char *name, const char *key, json_object *commands,
                              code_executor_error *error)
{
    for (size_t i = 0; i < json_object_array_length(commands); i++)
        if (!mentions_file(json_object_array_get_idx(commands, i)))
            return error_set(error, CODE_EXECUTOR_INVALID,
                             "\"languages.%s.%s[%zu]\" has no argument with {file}", name, key, i);
    return CODE_EXECUTOR_OK;
}

/* "commands" is short for "steps" of one. */
static int32_t apply_commands(struct arena *arena, language *known, json_object *entry,
                              code_executor_error *error)
{
    json_object *commands = config_value(entry, "commands");
    json_object *steps = config_value(entry, "steps");
    if (!commands && !steps)
        return CODE_EXECUTOR_OK;
    if (commands && steps)
        return error_set(error, CODE_EXECUTOR_INVALID,
                         "\"languages.%s\" has both \"commands\" and \"steps\"", known->name);
    int32_t status =
        check_commands(known->name, commands ? "commands" : "steps[0]",
                       commands ? commands : json_object_array_get_idx(steps, 0), error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    size_t count = commands ? 1 : json_object_array_length(steps);
    language_step *copies = arena_get_array(arena, count, sizeof *copies);
    for (size_t i = 0; copies && i < count; i++)
        copies[i] = copy_step(arena, commands ? commands : json_object_array_get_idx(steps, i));
    known->steps = copies;
    known->step_count = copies ? count : 0;
    known->runs = true;
    return CODE_EXECUTOR_OK;
}

static int32_t apply_aliases(language_table *table, language *known, json_object *entry,
                             code_executor_error *error)
{
    json_object *aliases = config_value(entry, "aliases");
    size_t count = aliases ? json_object_array_length(aliases) : 0;
    for (size_t i = 0; i < count; i++) {
        const char *alias = json_object_get_string(json_object_array_get_idx(aliases, i));
        const language *other = language_find(table, alias);
        if (other && other != known)
            return error_set(error, CODE_EXECUTOR_INVALID,
                             "\"languages.%s.aliases\": \"%s\" already means %s", known->name,
                             alias, other->name);
    }
    if (count) {
        known->aliases = copy_strings(&table->arena, aliases, known->aliases, known->alias_count);
        known->alias_count += count;
    }
    return CODE_EXECUTOR_OK;
}

static void apply_extension(struct arena *arena, language *known, json_object *entry)
{
    json_object *extension = config_value(entry, "extension");
    if (!extension)
        return;
    const char **extensions =
        arena_get_array(arena, known->name_extension_count + 2, sizeof *extensions);
    known->extension = copy_string(arena, extension);
    if (!extensions)
        return;
    extensions[0] = known->extension;
    if (known->name_extension_count)
        memcpy(extensions + 1, known->name_extensions,
               known->name_extension_count * sizeof *extensions);
    known->name_extensions = extensions;
    known->name_extension_count++;
}

/* A language that only the configuration knows. */
static language *add_language(language_table *table, const char *name, json_object *entry)
{
    char *copy = arena_copy(&table->arena, name, strlen(name));
    if (!copy)
        return NULL;
    for (char *c = copy; *c; c++)
        *c = ascii_lower(*c);
    language *known = &table->languages[table->count++];
    known->name = copy;
    known->extension = copy;
    if (!config_value(entry, "extension"))
        known->name_extensions = split_words(&table->arena, copy, &known->name_extension_count);
    return known;
}

/* "all", the one string that the schema allows: whatever has a command runs. */
static void run_all(language_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        table->languages[i].runs = table->languages[i].step_count > 0;
}

static int32_t apply_languages(language_table *table, json_object *languages,
                               code_executor_error *error)
{
    if (json_object_is_type(languages, json_type_string)) {
        run_all(table);
        return CODE_EXECUTOR_OK;
    }
    json_object_object_foreach(languages, name, entry)
    {
        language *known = (language *)language_find(table, name);
        if (!known)
            known = add_language(table, name, entry);
        if (!known)
            return CODE_EXECUTOR_OK; /* the arena has failed: the caller sees to it */
        int32_t status = apply_aliases(table, known, entry, error);
        if (status == CODE_EXECUTOR_OK)
            status = apply_commands(&table->arena, known, entry, error);
        if (status != CODE_EXECUTOR_OK)
            return status;
        apply_extension(&table->arena, known, entry);
        if (config_value(entry, "shell"))
            known->shell = config_boolean(entry, "shell");
        if (table->arena.failed)
            return CODE_EXECUTOR_OK;
    }
    return CODE_EXECUTOR_OK;
}

static int32_t refuse_policy(const language_table *table, const char *name,
                             code_executor_error *error)
{
    char brief[64];
    nearest_search search = nearest_begin(name);
    for (size_t i = 0; i < table->count; i++) {
        nearest_consider(&search, table->languages[i].name);
        for (size_t j = 0; j < table->languages[i].alias_count; j++)
            nearest_consider(&search, table->languages[i].aliases[j]);
    }
    error_set(error, CODE_EXECUTOR_INVALID,
              "\"execution_policies\" has the unknown language \"%s\"",
              text_shorten(name, brief, sizeof brief));
    if (search.nearest)
        return error_append(error, CODE_EXECUTOR_INVALID, "; did you mean \"%s\"?", search.nearest);
    return error_append(error, CODE_EXECUTOR_INVALID, "; \"languages\" adds one");
}

static int32_t apply_policies(language_table *table, json_object *policies,
                              code_executor_error *error)
{
    json_object_object_foreach(policies, name, runs)
    {
        language *known = (language *)language_find(table, name);
        if (!known)
            return refuse_policy(table, name, error);
        known->runs = json_object_get_boolean(runs);
        if (known->runs && known->step_count == 0)
            return error_set(error, CODE_EXECUTOR_INVALID,
                             "\"execution_policies\" would run %s, for which there is no command; "
                             "\"languages\" can give it one",
                             known->name);
    }
    return CODE_EXECUTOR_OK;
}

static int32_t build(language_table *table, json_object *policies, json_object *languages,
                     code_executor_error *error)
{
    bool adds = json_object_is_type(languages, json_type_object);
    size_t more = adds ? (size_t)json_object_object_length(languages) : 0;
    table->languages = arena_get_array(&table->arena, NAME_COUNT + more, sizeof(language));
    if (!table->languages)
        return CODE_EXECUTOR_OK;
    for (size_t i = 0; i < NAME_COUNT; i++)
        set_from_row(&table->arena, &table->languages[i], &all_names[i]);
    if (table->arena.failed)
        return CODE_EXECUTOR_OK;
    table->count = NAME_COUNT;
    int32_t status = languages ? apply_languages(table, languages, error) : CODE_EXECUTOR_OK;
    if (status == CODE_EXECUTOR_OK && policies && !table->arena.failed)
        status = apply_policies(table, policies, error);
    return status;
}

int32_t language_table_create(json_object *execution_policies, json_object *languages,
                              language_table **table, code_executor_error *error)
{
    *table = calloc(1, sizeof **table);
    int32_t status =
        *table ? build(*table, execution_policies, languages, error) : CODE_EXECUTOR_NO_MEMORY;
    if (!*table || (*table)->arena.failed)
        status = error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory for the table of languages");
    if (status != CODE_EXECUTOR_OK) {
        language_table_free(*table);
        *table = NULL;
    }
    return status;
}
