/* SPDX-License-Identifier: Apache-2.0 */
/*
 * repl.c: the dialogue: what a line that begins with a colon does, and what happens to a message.
 *
 *     compose ─┬─ command ──▶ the table below
 *              └─ message ──▶ plan ──▶ review (shown, confirmed) ──▶ watch
 *
 * Ctrl-C cancels what runs and leaves the dialogue as it is. All it says goes to stderr, so that
 * stdout has code's output alone here too.
 */
#include "commands.h"
#include "compose.h"
#include "executors.h"
#include "input.h"
#include "interrupt.h"
#include "message.h"
#include "plan.h"
#include "plugins.h"
#include "review.h"
#include "terminal.h"
#include "watch.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct repl {
    const struct options *options;
    struct executors *executors;
    struct input *input;
    const char *const *command_names; /* of the table below */
    bool ended;
    int status;
};

struct repl_command {
    const char *name;
    const char *arguments;
    const char *help;
    void (*run)(struct repl *repl, char *arguments);
};

static void say_error(const code_executor_error *error)
{
    say_problem("%s", error->message);
}

/* Cuts the first word off TEXT; returns what is behind it. */
static char *cut_word(char *text)
{
    size_t length = strcspn(text, " \t");
    char *rest = text + length + strspn(text + length, " \t");
    text[length] = '\0';
    return rest;
}

/* ------------------------------------------------------------------------------------------------
 * Messages
 * --------------------------------------------------------------------------------------------- */

static void run_plan(struct repl *repl, const struct plan *plan)
{
    CLEANUP(run_end_free) struct run_end end = {.error = CODE_EXECUTOR_ERROR_INIT};
    interrupt_clear();
    watch_run(repl->executors, plan, repl->options->timeout, WATCH_DIALOGUE, &end);
    interrupt_clear();
    if (end.write_errno != 0) {
        errno = end.write_errno;
        repl->status = terminal_lost_stdout();
        repl->ended = true;
    } else if (end.error.status != CODE_EXECUTOR_OK) {
        say_error(&end.error);
    } else if (end.outcome == CODE_EXECUTOR_OUTCOME_CANCELLED && end.result == NULL) {
        say(TONE_RED, "cancelled");
    }
}

static void take_message(struct repl *repl, const struct bytes *message)
{
    CLEANUP(plan_free) struct plan plan = {0};
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    int32_t status = plan_make(message, &plan, &error);
    if (status == CODE_EXECUTOR_OK && plan.extraction->block_count == 0) {
        say(TONE_YELLOW, "No code blocks in this message: a block begins with a line of ``` and a "
                         "language. (:help lists the commands, :quit leaves.)");
        return;
    }
    for (size_t i = 0; i < plan.count && status == CODE_EXECUTOR_OK; i++)
        status = executors_need(repl->executors, plan.blocks[i]->language, &error);
    if (status != CODE_EXECUTOR_OK) {
        say_error(&error);
        return;
    }
    switch (review(repl->input, repl->executors, &plan)) {
    case REVIEW_RUN:
        run_plan(repl, &plan);
        break;
    case REVIEW_QUIT:
        repl->ended = true;
        break;
    case REVIEW_UNANSWERED:
        if (!input_is_edited(repl->input) && !interrupt_pending()) {
            say_problem("stdin ended before an answer; nothing of this message was run. "
                        "`host_demo run -` runs a message from stdin without asking.");
        }
        break;
    case REVIEW_NOTHING:
    default:
        break;
    }
}

/* ------------------------------------------------------------------------------------------------
 * Commands
 * --------------------------------------------------------------------------------------------- */

static void command_help(struct repl *repl, char *arguments);

static void command_plugins(struct repl *repl, char *arguments)
{
    (void)repl;
    (void)arguments;
    CLEANUP(bytes_free) struct bytes text = {0};
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    if (plugins_append_list(&text, STDERR_FILENO, &error) == CODE_EXECUTOR_OK)
        say_text(&text);
    else
        say_error(&error);
}

static void show_routes(const struct repl *repl)
{
    CLEANUP(bytes_free) struct bytes text = {0};
    if (executors_append_routes(repl->executors, &text))
        say_text(&text);
}

static void command_load(struct repl *repl, char *arguments)
{
    char *config = cut_word(arguments);
    const struct executor *loaded = NULL;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    int32_t status = executors_load(repl->executors, arguments, *config == '\0' ? NULL : config,
                                    &loaded, &error);
    if (status == CODE_EXECUTOR_OK)
        status = executors_route(repl->executors, NULL, loaded, &error);
    if (status != CODE_EXECUTOR_OK) {
        say_error(&error);
        return;
    }
    show_routes(repl);
}

static void command_route(struct repl *repl, char *arguments)
{
    char *name = cut_word(arguments);
    char *config = cut_word(name);
    const struct executor *loaded = NULL;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    if (*arguments != '\0' && *name == '\0') {
        say_problem(":route needs a language and an executor: :route python docker");
        return;
    }
    if (*arguments != '\0' &&
        (executors_load(repl->executors, name, *config == '\0' ? NULL : config, &loaded, &error) !=
             CODE_EXECUTOR_OK ||
         executors_route(repl->executors, arguments, loaded, &error) != CODE_EXECUTOR_OK)) {
        say_error(&error);
        return;
    }
    show_routes(repl);
}

/* PATH with ~ as a shell would have it. */
static bool append_path(struct bytes *to, const char *path)
{
    const char *home = getenv("HOME");
    if (strncmp(path, "~/", 2) == 0 && home != NULL)
        return bytes_append_text(to, home) && bytes_append_text(to, path + 1);
    return bytes_append_text(to, path);
}

static void command_run(struct repl *repl, char *arguments)
{
    CLEANUP(bytes_free) struct bytes path = {0};
    CLEANUP(bytes_free) struct bytes message = {0};
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    if (strcmp(arguments, "-") == 0)
        say_problem(":run reads a file; paste a message here instead.");
    else if (!append_path(&path, arguments))
        say_problem("No memory.");
    else if (message_read(path.data, &message, &error) != CODE_EXECUTOR_OK)
        say_error(&error);
    else
        take_message(repl, &message);
}

/* Calls CHANGE on every executor that is up, and says what became of it. */
static void change_all(struct repl *repl,
                       int32_t (*change)(const struct executor *executor,
                                         code_executor_error *error),
                       const char *done)
{
    size_t changed = 0;
    interrupt_clear();
    for (size_t i = 0; i < executors_count(repl->executors); i++) {
        const struct executor *executor = executors_at(repl->executors, i);
        code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
        if (!executor_is_up(executor) || !interrupt_begin(executors_cancel, repl->executors))
            continue;
        int32_t status = change(executor, &error);
        interrupt_finish();
        changed++;
        if (status == CODE_EXECUTOR_OK)
            say(TONE_PLAIN, "%s %s.", executor->label, done);
        else
            say_problem("%s: %s", executor->label, error.message);
    }
    interrupt_clear();
    if (changed == 0)
        say(TONE_PLAIN, "Nothing is up: an executor starts when a block first needs it.");
}

static int32_t restart(const struct executor *executor, code_executor_error *error)
{
    return executor->table->restart(executor->instance, error);
}

static int32_t stop(const struct executor *executor, code_executor_error *error)
{
    return executor->table->stop(executor->instance, error);
}

static void command_restart(struct repl *repl, char *arguments)
{
    (void)arguments;
    change_all(repl, restart, "is fresh");
}

static void command_stop(struct repl *repl, char *arguments)
{
    (void)arguments;
    change_all(repl, stop, "is down; the next block starts it");
}

static void command_quit(struct repl *repl, char *arguments)
{
    (void)arguments;
    repl->ended = true;
}

static const struct repl_command repl_commands[] = {
    {":help", "", "this list", command_help},
    {":plugins", "", "the executors there are", command_plugins},
    {":load", "NAME [JSON]", "send blocks to another executor, configured by JSON or @FILE",
     command_load},
    {":route", "[LANG NAME [JSON]]", "send one language elsewhere; alone: show what goes where",
     command_route},
    {":run", "FILE", "run the blocks of a message in a file", command_run},
    {":restart", "", "end what code left running; the workspace stays", command_restart},
    {":stop", "", "bring the executors down", command_stop},
    {":quit", "", "or Ctrl-D", command_quit},
};
enum { REPL_COMMANDS = sizeof repl_commands / sizeof *repl_commands };

static void command_help(struct repl *repl, char *arguments)
{
    (void)repl;
    (void)arguments;
    CLEANUP(bytes_free) struct bytes text = {0};
    bool whole = bytes_append_text(
        &text, "Paste or type a message with code blocks in it. An empty line ends it, but not\n"
               "inside of a block. You see what would run where before it does. Ctrl-C cancels\n"
               "what runs.\n\n");
    for (size_t i = 0; i < REPL_COMMANDS; i++) {
        const struct repl_command *command = &repl_commands[i];
        int padding = 20 - (int)(strlen(command->name) + strlen(command->arguments));
        whole =
            whole && bytes_format(&text, "  %s%s%s %s%*s  %s\n", tone_on(STDERR_FILENO, TONE_BOLD),
                                  command->name, tone_off(STDERR_FILENO), command->arguments,
                                  padding, "", command->help);
    }
    if (whole)
        say_text(&text);
}

static bool needs_argument(const struct repl_command *command)
{
    return *command->arguments != '\0' && *command->arguments != '[';
}

static void take_command(struct repl *repl, char *line)
{
    char *arguments = cut_word(line);
    size_t length = strlen(arguments);
    while (length > 0 && strchr(" \t\r", arguments[length - 1]) != NULL)
        arguments[--length] = '\0';
    for (size_t i = 0; i < REPL_COMMANDS; i++) {
        const struct repl_command *command = &repl_commands[i];
        if (strcmp(line, command->name) != 0)
            continue;
        if (needs_argument(command) && length == 0)
            say_problem("%s needs more: %s %s", line, line, command->arguments);
        else if (*command->arguments == '\0' && length > 0)
            say_problem("%s takes nothing behind it.", line);
        else
            command->run(repl, arguments);
        return;
    }
    if (*line == '/') {
        *line = ':'; /* The spelling of other dialogues. */
        say_problem("Commands begin with a colon here: %s; :help lists those there are.", line);
        return;
    }
    const char *near = nearest_word(line, repl->command_names, REPL_COMMANDS);
    if (near != NULL)
        say_problem("There is no command %s. Did you mean %s?", line, near);
    else
        say_problem("There is no command %s. :help lists those there are.", line);
}

/* ------------------------------------------------------------------------------------------------
 * The dialogue
 * --------------------------------------------------------------------------------------------- */

static void greet(const struct repl *repl)
{
    if (!terminal_is_quiet() && input_is_edited(repl->input)) {
        say(TONE_DIM, "host_demo %s. Paste or type a message; an empty line ends it. :help helps.",
            CODE_EXECUTOR_PROJECT_VERSION);
        show_routes(repl);
    }
}

static void talk(struct repl *repl)
{
    CLEANUP(bytes_free) struct bytes text = {0};
    while (!repl->ended) {
        if (interrupt_pending() && !input_is_edited(repl->input))
            break; /* A script that is interrupted does not go on with its next line. */
        interrupt_clear();
        switch (compose(repl->input, &text)) {
        case COMPOSED_COMMAND:
            take_command(repl, text.data);
            break;
        case COMPOSED_MESSAGE:
            take_message(repl, &text);
            break;
        case COMPOSED_NOTHING:
            break;
        case COMPOSED_END:
        default:
            repl->ended = true;
            break;
        }
    }
    if (interrupt_pending())
        repl->status = 130;
}

static void close_input(struct input **input)
{
    input_close(*input);
}

int repl_command(const struct options *options)
{
    CLEANUP(executors_close_at) struct executors *executors = NULL;
    CLEANUP(close_input) struct input *input = NULL;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    const char *names[REPL_COMMANDS];
    for (size_t i = 0; i < REPL_COMMANDS; i++)
        names[i] = repl_commands[i].name;
    interrupt_idle_wakes();
    int32_t status = executors_open(options->work_dir, &executors, &error);
    if (status == CODE_EXECUTOR_OK)
        status = executors_load_named(executors, options, &error);
    if (status == CODE_EXECUTOR_OK)
        status = input_open(names, REPL_COMMANDS, &input, &error);
    if (status != CODE_EXECUTOR_OK) {
        say_error(&error);
        return executors_are_misused(executors) ? EXIT_USAGE : EXIT_HOST_FAILED;
    }
    if (executors_need(executors, NULL, &error) != CODE_EXECUTOR_OK)
        say_error(&error); /* :load may mend it. */
    struct repl repl = {
        .options = options,
        .executors = executors,
        .input = input,
        .command_names = names,
    };
    greet(&repl);
    talk(&repl);
    return repl.status;
}
