/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.c: reads the command line. An option is a row of the table: its names, what it takes, for
 * which commands it is, and the function that keeps it.
 */
#include "options.h"
#include "terminal.h"
#include "text.h"
#include <code_executor_host.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS (COMMAND_REPL | COMMAND_RUN | COMMAND_MCP)
#define LEFT (COMMAND_PS | COMMAND_PRUNE)
#define ALL  (RUNS | COMMAND_EXTRACT | COMMAND_PLUGINS | COMMAND_INFO | COMMAND_CHECK | LEFT)

struct option {
    const char *name;
    char letter;
    const char *value; /* what it takes, or NULL */
    int commands;      /* enum command_set */
    const char *help;
    bool (*keep)(struct options *options, const char *value); /* false: wrong, and said so */
};

static bool keep_executor(struct options *options, const char *value)
{
    options->executor = value;
    return true;
}

static bool keep_config(struct options *options, const char *value)
{
    options->config = value;
    return true;
}

static bool keep_work_dir(struct options *options, const char *value)
{
    options->work_dir = value;
    return true;
}

static bool keep_probes(struct options *options, const char *value)
{
    options->probes = value;
    return true;
}

static bool keep_rules(struct options *options, const char *value)
{
    options->rules = value;
    return true;
}

static bool keep_route(struct options *options, const char *value)
{
    const char *equals = strchr(value, '=');
    if (equals == NULL || equals == value || equals[1] == '\0') {
        say_problem("--route takes LANGUAGE=EXECUTOR, as in --route python=docker; got `%s`.",
                    value);
        return false;
    }
    char *language = strndup(value, (size_t)(equals - value));
    for (size_t i = 0; i < options->route_count && language != NULL; i++) {
        const char *other = options->routes[i].language;
        if (code_executor_language_equal(other, language)) {
            say_problem("--route names one language twice: `%s` and `%s`.", other, language);
            free(language);
            return false;
        }
    }
    struct route_option *routes =
        realloc(options->routes, (options->route_count + 1) * sizeof *options->routes);
    options->routes = routes == NULL ? options->routes : routes;
    if (routes == NULL || language == NULL) {
        free(language);
        say_problem("No memory.");
        return false;
    }
    routes[options->route_count++] = (struct route_option){language, equals + 1};
    return true;
}

static bool keep_timeout(struct options *options, const char *value)
{
    char *end = NULL;
    double seconds = strtod(value, &end);
    if (end == value || *end != '\0' || !isfinite(seconds)) {
        say_problem("--timeout takes a number of seconds; got `%s`.", value);
        return false;
    }
    if (seconds < 1) {
        say_problem("Timeout must be greater than or equal to 1.");
        return false;
    }
    options->timeout = seconds;
    return true;
}

static bool keep_all(struct options *options, const char *value)
{
    (void)value;
    options->all = true;
    return true;
}

static bool keep_clean(struct options *options, const char *value)
{
    (void)value;
    options->clean = true;
    return true;
}

static bool keep_json(struct options *options, const char *value)
{
    (void)value;
    options->json = true;
    return true;
}

static bool keep_quiet(struct options *options, const char *value)
{
    (void)value;
    options->quiet = true;
    return true;
}

static bool keep_help(struct options *options, const char *value)
{
    (void)value;
    options->help = true;
    return true;
}

static bool keep_version(struct options *options, const char *value)
{
    (void)value;
    options->version = true;
    return true;
}

static const struct option option_table[] = {
    {"executor", 'e', "NAME|PATH", RUNS,
     "which executor (default: sandbox where it works, else local)", keep_executor},
    {"config", 'c', "JSON|@FILE", RUNS | LEFT | COMMAND_CHECK,
     "its configuration; `info NAME` lists the keys", keep_config},
    {"work-dir", 'w', "DIR", RUNS, "the workspace (default: a temporary one for each executor)",
     keep_work_dir},
    {"route", 0, "LANG=NAME", RUNS,
     "another executor for a language; NAME:{...} or NAME:@FILE configures it", keep_route},
    {"clean", 0, NULL, RUNS, "remove the temporary workspaces in the end, files and all",
     keep_clean},
    {"timeout", 0, "SECONDS", RUNS | COMMAND_CHECK, "for each block, or rule of check; at least 1",
     keep_timeout},
    {"probes", 0, "JSON|@FILE", COMMAND_CHECK, "code to check with, where none is known",
     keep_probes},
    {"rules", 0, "RULE,...", COMMAND_CHECK, "only these, instead of all", keep_rules},
    {"all", 0, NULL, COMMAND_PRUNE, "also what belongs to programs that run, or perhaps do",
     keep_all},
    {"json", 0, NULL, ALL & ~(COMMAND_REPL | COMMAND_MCP),
     "one JSON document on stdout, at the end", keep_json},
    {"quiet", 'q', NULL, ALL, "say nothing but problems", keep_quiet},
    {"help", 'h', NULL, ALL, "this text", keep_help},
    {"version", 0, NULL, ALL, "the version", keep_version},
};
enum { OPTION_COUNT = sizeof option_table / sizeof *option_table };

/* ------------------------------------------------------------------------------------------------
 * Reading
 * --------------------------------------------------------------------------------------------- */

struct reader {
    char **next;
    struct options *options;
    const struct option *seen[OPTION_COUNT];
    size_t seen_count;
};

static const struct option *find_long(const char *name, size_t length)
{
    for (size_t i = 0; i < OPTION_COUNT; i++)
        if (strlen(option_table[i].name) == length &&
            strncmp(option_table[i].name, name, length) == 0)
            return &option_table[i];
    return NULL;
}

static const struct option *find_letter(char letter)
{
    for (size_t i = 0; i < OPTION_COUNT; i++)
        if (option_table[i].letter == letter && letter != '\0')
            return &option_table[i];
    return NULL;
}

static void say_unknown_option(const char *argument)
{
    const char *names[OPTION_COUNT];
    for (size_t i = 0; i < OPTION_COUNT; i++)
        names[i] = option_table[i].name;
    const char *word = argument + strspn(argument, "-");
    CLEANUP(free_text) char *name = strndup(word, strcspn(word, "="));
    const char *near = name == NULL ? NULL : nearest_word(name, names, OPTION_COUNT);
    if (near != NULL)
        say_problem("There is no option `%s`. Did you mean `--%s`?", argument, near);
    else
        say_problem("There is no option `%s`. `host_demo --help` lists those there are.", argument);
}

/* VALUE is what stands in the same argument (`--x=value`, `-xvalue`), or NULL. */
static bool take_option(struct reader *reader, const struct option *option, const char *value)
{
    if (option->value == NULL && value != NULL) {
        say_problem("--%s takes no value.", option->name);
        return false;
    }
    if (option->value != NULL && value == NULL) {
        value = *reader->next;
        if (value == NULL) {
            say_problem("--%s needs a value: --%s %s.", option->name, option->name, option->value);
            return false;
        }
        reader->next++;
    }
    bool new = true;
    for (size_t i = 0; i < reader->seen_count; i++)
        new = new && reader->seen[i] != option;
    if (new)
        reader->seen[reader->seen_count++] = option;
    return option->keep(reader->options, value);
}

static bool take_long(struct reader *reader, const char *argument)
{
    size_t length = strcspn(argument + 2, "=");
    const struct option *option = find_long(argument + 2, length);
    if (option == NULL) {
        say_unknown_option(argument);
        return false;
    }
    const char *rest = argument + 2 + length;
    return take_option(reader, option, *rest == '=' ? rest + 1 : NULL);
}

static bool take_letters(struct reader *reader, const char *argument)
{
    for (const char *letter = argument + 1; *letter != '\0'; letter++) {
        const struct option *option = find_letter(*letter);
        if (option == NULL) {
            say_unknown_option(argument);
            return false;
        }
        bool takes_rest = option->value != NULL && letter[1] != '\0';
        if (!take_option(reader, option, takes_rest ? letter + 1 : NULL))
            return false;
        if (option->value != NULL)
            return true;
    }
    return true;
}

static bool say_unknown_command(const char *word)
{
    const char *names[16];
    size_t count = 0;
    for (; count < command_count && count < sizeof names / sizeof *names; count++)
        names[count] = commands[count].name;
    const char *near = nearest_word(word, names, count);
    if (strcmp(word, "help") == 0) {
        say_problem("There is no command `help`: host_demo --help");
    } else if (near != NULL) {
        say_problem("There is no command `%s`. Did you mean `%s`?", word, near);
    } else {
        say_problem("There is no command `%s`. To run the code in a file: host_demo run %s", word,
                    word);
    }
    return false;
}

static bool take_word(struct reader *reader, const char *word, const struct command **command)
{
    if (*command == NULL) {
        for (size_t i = 0; i < command_count; i++) {
            if (strcmp(commands[i].name, word) == 0) {
                *command = &commands[i];
                return true;
            }
        }
        return say_unknown_command(word);
    }
    if (*(*command)->argument == '\0' || reader->options->argument != NULL) {
        say_problem("`%s` is one argument too many for `%s`.", word, (*command)->name);
        return false;
    }
    reader->options->argument = word;
    return true;
}

static bool check_fit(const struct reader *reader, const struct command *command)
{
    for (size_t i = 0; i < reader->seen_count; i++) {
        if ((reader->seen[i]->commands & (int)command->set) == 0) {
            say_problem("--%s is not for `%s`.", reader->seen[i]->name, command->name);
            return false;
        }
    }
    if (reader->options->clean && reader->options->work_dir != NULL) {
        say_problem("--clean is for temporary workspaces: the one that --work-dir names is yours.");
        return false;
    }
    if (command->needs_argument && reader->options->argument == NULL) {
        say_problem("`%s` needs to know which: host_demo %s %s", command->name, command->name,
                    command->argument);
        return false;
    }
    return true;
}

bool options_read(char **arguments, struct options *options, const struct command **command)
{
    struct reader reader = {.next = arguments + (*arguments != NULL), .options = options};
    bool only_words = false;
    *command = NULL;
    while (*reader.next != NULL) {
        const char *argument = *reader.next++;
        bool fine;
        if (!only_words && strcmp(argument, "--") == 0) {
            only_words = true;
            continue;
        }
        if (!only_words && strncmp(argument, "--", 2) == 0)
            fine = take_long(&reader, argument);
        else if (!only_words && argument[0] == '-' && argument[1] != '\0')
            fine = take_letters(&reader, argument);
        else
            fine = take_word(&reader, argument, command);
        if (!fine)
            return false;
    }
    *command = *command == NULL ? &commands[0] : *command;
    return options->help || options->version || check_fit(&reader, *command);
}

void options_free(struct options *options)
{
    for (size_t i = 0; i < options->route_count; i++)
        free(options->routes[i].language);
    free(options->routes);
    options->routes = NULL;
    options->route_count = 0;
}

/* ------------------------------------------------------------------------------------------------
 * Usage
 * --------------------------------------------------------------------------------------------- */

static bool append_commands(struct bytes *text)
{
    bool whole = true;
    for (size_t i = 0; i < command_count; i++) {
        char call[64];
        snprintf(call, sizeof call, "%s%s%s", commands[i].name,
                 *commands[i].argument == '\0' ? "" : " ", commands[i].argument);
        whole = whole && bytes_format(text, "    host_demo %-20s  %s\n", i == 0 ? "" : call,
                                      commands[i].help);
    }
    return whole;
}

static bool append_options(struct bytes *text)
{
    bool whole = true;
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const struct option *option = &option_table[i];
        char call[64];
        char letter[8] = "    ";
        if (option->letter != '\0')
            snprintf(letter, sizeof letter, "-%c, ", option->letter);
        snprintf(call, sizeof call, "%s--%s%s%s", letter, option->name,
                 option->value == NULL ? "" : " ", option->value == NULL ? "" : option->value);
        whole = whole && bytes_format(text, "    %-28s  %s\n", call, option->help);
    }
    return whole;
}

bool options_usage(int descriptor)
{
    CLEANUP(bytes_free) struct bytes text = {0};
    bool whole =
        bytes_append_text(&text, "Runs the code blocks of a Markdown message by executor plugins.\n"
                                 "\n") &&
        append_commands(&text) && bytes_append_text(&text, "\n") && append_options(&text) &&
        bytes_append_text(
            &text,
            "\n"
            "Code's output goes to stdout and stderr as it comes; what host_demo says, to stderr.\n"
            "Plugins are looked for in CODE_EXECUTOR_PLUGIN_PATH (folders separated by colons), "
            "then\n"
            "where the program was built or installed; a name with a slash is a path.\n"
            "\n"
            "Exit status of run: that of the code; 2 when the command line is wrong in itself; 125 "
            "when\n"
            "the host or the executor failed (no such file or executor, a wrong configuration), or "
            "there\nwas no code to run; 141 "
            "when nobody reads stdout any more.\n");
    return whole && terminal_write_plain(descriptor, text.data, text.length);
}
