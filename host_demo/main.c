/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_demo: a small host of code executors, to use and to learn from.
 *
 *     main.c ─▶ options.c ─▶ a command
 *         run.c  extract.c  plugins.c  leftovers.c
 *                                         end by themselves
 *         repl.c                          a dialogue, of compose.c (messages from lines), input.c
 *                                         (lines that are typed or pasted), review.c (shall it run?)
 *     message.c         a message, as it is          plan.c           which of its blocks run
 *     executors.c       plugins, labels, routes      configuration.c  theirs, and the workspace
 *     known_languages.c what one of them runs
 *     watch.c           a run, shown while it goes   json_result.c    results as JSON
 *     terminal.c        stdout and stderr            filter.c         what a terminal is spared
 *     interrupt.c       Ctrl-C and signals           text.c           strings
 *     check/            the rules of the ABI, tried on an executor
 *     mcp/              a server for programs that speak the Model Context Protocol
 *
 * It knows executors by the host library (plugin_api/host) alone, and no plugin by more than its
 * name. Invariants: stdout has code's output, or one document, and nothing else; whatever ends the
 * program, what it started has ended before; a block that is not complete is never run.
 */
#include "commands.h"
#include "interrupt.h"
#include "terminal.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const struct command commands[] = {
    {"repl", COMMAND_REPL, "", false, "a dialogue: paste messages, run their code blocks",
     repl_command},
    {"run", COMMAND_RUN, "[FILE|-]", false, "run the code blocks of a Markdown message",
     run_command},
    {"extract", COMMAND_EXTRACT, "[FILE|-]", false, "show the blocks", extract_command},
    {"plugins", COMMAND_PLUGINS, "", false, "list the executors there are", plugins_command},
    {"info", COMMAND_INFO, "NAME|PATH", true, "what one of them takes and runs", info_command},
    {"check", COMMAND_CHECK, "NAME|PATH", true, "whether it keeps the rules of the ABI",
     check_command},
    {"mcp", COMMAND_MCP, "", false, "run code as a server of the Model Context Protocol",
     mcp_command},
    {"ps", COMMAND_PS, "[NAME|PATH]", false, "list what executors have made and is still there",
     ps_command},
    {"prune", COMMAND_PRUNE, "[NAME|PATH]", false, "remove what programs left that have ended",
     prune_command},
};
const size_t command_count = sizeof commands / sizeof *commands;

static int answer_version(void)
{
    static const char version[] = "host_demo " CODE_EXECUTOR_PROJECT_VERSION "\n";
    bool written = terminal_write_plain(STDOUT_FILENO, version, strlen(version));
    return written ? EXIT_OK : terminal_lost_stdout();
}

static int run_by(const struct options *options, const struct command *command)
{
    if (options->help)
        return options_usage(STDOUT_FILENO) ? EXIT_OK : terminal_lost_stdout();
    if (options->version)
        return answer_version();
    if (options->quiet)
        terminal_be_quiet();
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    if (interrupt_open(&error) != CODE_EXECUTOR_OK) {
        say_problem("%s", error.message);
        return EXIT_HOST_FAILED;
    }
    int status = command->run(options);
    int ending = interrupt_ending();
    interrupt_close();
    return ending == 0 ? status : 128 + ending;
}

int main(int argument_count, char **arguments)
{
    (void)argument_count;
    terminal_open();
    struct options options = {0};
    const struct command *command = NULL;
    int status = EXIT_USAGE;
    if (options_read(arguments, &options, &command))
        status = run_by(&options, command);
    options_free(&options);
    return status;
}
