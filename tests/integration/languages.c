/* SPDX-License-Identifier: Apache-2.0 */
/*
 * languages.c: the command line of every language, as `host_demo run` on `local` has it run.
 *
 *     PATH = a folder of stand-ins ──▶ host_demo ──▶ the stand-in writes how it was called ──▶ compared
 *
 * A stand-in writes its name and its arguments; where it is asked for an output (`-o`), that becomes a
 * program which does the same. Each candidate of a language is tried with all before it missing: so the
 * order is tested too, and with all missing, what is said of it. What interpreters make of their command
 * lines is tested where they are installed (cases/execute/languages.json).
 */
#include "demo_process.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { CANDIDATES = 6, COMMAND = 256 };

static const char stand_in[] = "#!/bin/sh\n"
                               "printf '%s' \"${0##*/}\"\n"
                               "printf ' %s' \"$@\"\n"
                               "echo\n"
                               "while [ $# -gt 1 ]; do\n"
                               "    if [ \"$1\" = -o ]; then /bin/cp \"$0\" \"$2\"; fi\n"
                               "    shift\n"
                               "done\n";

/* A command is words; its first is the program. `;` stands before what runs next. */
static const struct recorded {
    const char *language;
    const char *file;
    const char *commands[CANDIDATES];
} all_recorded[] = {
    {"python", "a.py", {"python a.py", "python3 a.py"}},
    {"sh", "a.sh", {"sh a.sh"}},
    {"bash", "a.sh", {"bash a.sh"}},
    {"zsh", "a.zsh", {"zsh -f a.zsh"}},
    {"console", "a.sh", {"sh a.sh"}},
    {"pwsh",
     "a.ps1",
     {"pwsh -NoLogo -NoProfile -NonInteractive -File a.ps1",
      "powershell -NoLogo -NoProfile -NonInteractive -File a.ps1"}},
    {"javascript",
     "a.js",
     {"node a.js", "deno run --quiet --allow-all --ext=js a.js",
      "bun run --loader=.javascript:js a.js"}},
    {"typescript",
     "a.ts",
     {"tsx a.ts", "deno run --quiet --allow-all a.ts", "bun run a.ts",
      "ts-node --transpile-only a.ts",
      "node --experimental-strip-types --disable-warning=ExperimentalWarning a.ts"}},
    {"ruby", "a.rb", {"ruby a.rb"}},
    {"perl", "a.pl", {"perl a.pl"}},
    {"php", "a.php", {"php a.php"}},
    {"lua", "a.lua", {"lua a.lua", "lua5.4 a.lua", "lua5.3 a.lua", "luajit a.lua"}},
    {"r", "a.R", {"Rscript --vanilla a.R"}},
    {"julia", "a.jl", {"julia --startup-file=no a.jl"}},
    {"go", "a.go", {"go build -o ./BUILT a.go ; BUILT"}},
    {"rust", "a.rs", {"rustc --edition=2021 --crate-name=main -o ./BUILT a.rs ; BUILT"}},
    {"c",
     "a.c",
     {"cc -o ./BUILT a.c -lm ; BUILT", "gcc -o ./BUILT a.c -lm ; BUILT",
      "clang -o ./BUILT a.c -lm ; BUILT"}},
    {"c++",
     "a.cpp",
     {"c++ -o ./BUILT a.cpp ; BUILT", "g++ -o ./BUILT a.cpp ; BUILT",
      "clang++ -o ./BUILT a.cpp ; BUILT"}},
    {"java", "a.java", {"java a.java"}},
    {"kotlin", "a.kts", {"kotlinc -script a.kts", "kotlin a.kts"}},
    {"c#", "a.csx", {"dotnet-script a.csx", "csharp a.csx", "csi a.csx"}},
    {"swift", "a.swift", {"swift a.swift"}},
    {"scala",
     "a.scala",
     {"scala-cli run --quiet a.scala", "/usr/share/scala-2.11/bin/scala -nc a.scala",
      "scala a.scala"}},
    {"haskell", "a.hs", {"runghc a.hs", "runhaskell a.hs"}},
    {"elixir", "a.exs", {"elixir a.exs"}},
    {"awk", "a.awk", {"awk -f a.awk", "gawk -f a.awk", "mawk -f a.awk"}},
    {"sql", "a.sql", {"sqlite3 -batch -bail -init a.sql :memory: .exit"}},
};
#define RECORDED_COUNT (sizeof all_recorded / sizeof all_recorded[0])

static size_t count_commands(const struct recorded *row)
{
    size_t count = 0;
    while (count < CANDIDATES && row->commands[count] != NULL)
        count++;
    return count;
}

static void program_of(const char *command, char program[COMMAND])
{
    snprintf(program, COMMAND, "%.*s", (int)strcspn(command, " "), command);
}

/* Named by its path a program has no stand-in: it is there, and goes before those behind it, or is not. */
static bool is_path(const char *command)
{
    return command[0] == '/';
}

static bool is_there(const char *command)
{
    char program[COMMAND];
    program_of(command, program);
    return access(program, X_OK) == 0;
}

/* The candidate that is taken where there are stand-ins for those from FIRST on; NULL: none. */
static const char *find_taken(const struct recorded *row, size_t first)
{
    for (size_t i = 0; i < count_commands(row); i++)
        if (is_path(row->commands[i]) ? is_there(row->commands[i]) : i >= first)
            return row->commands[i];
    return NULL;
}

/* What the code's folder of programs is called; it holds stand-ins for the candidates from FIRST on. */
static const char *make_programs(const struct recorded *row, size_t first)
{
    static char folder[512];
    static int number;
    snprintf(folder, sizeof folder, "%s/programs.%d", demo_folder(), number++);
    assert_int_equal(mkdir(folder, 0755), 0);
    for (size_t i = first; i < count_commands(row); i++) {
        char program[COMMAND], path[1024];
        if (is_path(row->commands[i]))
            continue;
        program_of(row->commands[i], program);
        snprintf(path, sizeof path, "%s/%s", folder, program);
        FILE *file = fopen(path, "we");
        assert_non_null(file);
        fputs(stand_in, file);
        fclose(file);
        assert_int_equal(chmod(path, 0755), 0);
    }
    return folder;
}

static void run(const struct recorded *row, const char *programs, struct demo_result *result)
{
    char config[1024], message[256];
    snprintf(config, sizeof config, "{\"languages\":\"all\",\"env\":{\"PATH\":\"%s\"}}", programs);
    bool session = strcmp(row->language, "console") == 0;
    snprintf(message, sizeof message, "```%s\n%s# filename: %s\n```\n", row->language,
             session ? "$ " : "", row->file);
    demo_run(&(struct demo_call){.arguments = {"run", "--quiet", "-e", "local", "-c", config, "-"},
                                 .input = message},
             result);
}

/* The names of programs that are built are random; in OUTPUT each becomes BUILT. */
static void forget_random_names(char *output)
{
    static const char mark[] = "tmp_build_";
    enum { DIGITS = 16 };
    for (char *at = output; (at = strstr(at, mark)) != NULL;) {
        char *end = at + strlen(mark) + DIGITS;
        at = stpcpy(at, "BUILT");
        memmove(at, end, strlen(end) + 1);
    }
}

/* What the stand-ins write when they are called as COMMAND says. */
static void expect_command(const char *command, char *output)
{
    char expected[COMMAND], *to = expected;
    for (const char *at = command; *at != '\0'; at++) {
        bool next = strncmp(at, " ; ", 3) == 0;
        *to++ = next ? '\n' : *at;
        at += next ? 2 : 0;
    }
    /* A stand-in without arguments writes a blank all the same. */
    stpcpy(to, strstr(command, " ; ") != NULL ? " \n" : "\n");
    forget_random_names(output);
    assert_string_equal(output, expected);
}

static void expect_what_was_tried(const struct recorded *row)
{
    struct demo_result result;
    run(row, make_programs(row, CANDIDATES), &result);
    assert_int_equal(result.status, 127);
    char cannot[64];
    snprintf(cannot, sizeof cannot, "Cannot run %s: ", row->language);
    assert_memory_equal(result.words, cannot, strlen(cannot));
    for (size_t i = 0; i < count_commands(row); i++) {
        char program[COMMAND];
        program_of(row->commands[i], program);
        assert_non_null(strstr(result.words, program));
    }
    demo_result_free(&result);
}

static void each_candidate_is_run_when_those_before_are_missing(void **state)
{
    const struct recorded *row = *state;
    for (size_t i = 0; i < count_commands(row); i++) {
        const char *taken = find_taken(row, i);
        if (is_path(taken))
            return; /* the real one; cases/execute/languages.json runs it */
        struct demo_result result;
        run(row, make_programs(row, i), &result);
        expect_command(taken, result.output);
        assert_int_equal(result.status, 0);
        demo_result_free(&result);
    }
    expect_what_was_tried(row);
}

/* ------------------------------------------------------------------------------------------------
 * What is said
 * --------------------------------------------------------------------------------------------- */

static void the_log_tells_how_a_saved_language_is_made_to_run(void **state)
{
    (void)state;
    struct demo_result result;
    demo_run(&(struct demo_call){.arguments = {"run", "-e", "local", "-"},
                                 .input = "```rb\nputs 1\n```\n"},
             &result);
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.words, "{\"execution_policies\": {\"ruby\": true}}"));
    assert_null(strstr(result.output, "execution_policies"));
    demo_result_free(&result);
}

static void refused(const char *config, const char *words)
{
    struct demo_result result;
    demo_run(&(struct demo_call){.arguments = {"run", "-e", "local", "-c", config, "-"},
                                 .input = "```sh\necho ran\n```\n"},
             &result);
    assert_int_equal(result.status, 125);
    assert_string_equal(result.output, "");
    assert_non_null(strstr(result.words, words));
    demo_result_free(&result);
}

static void wrong_words_of_the_configuration_are_refused(void **state)
{
    (void)state;
    refused("{\"languages\": \"some\"}", "the word \"all\"");
    refused("{\"languages\": {\"lua\": {\"command\": []}}}", "languages.lua.commands");
    refused("{\"languages\": {\"mine\": {\"aliases\": [\"py\"]}}}", "already means python");
    refused("{\"languages\": {\"mine\": {\"commands\": [[\"x\"]]}}}", "{file}");
    refused("{\"execution_policies\": {\"pyhton\": true}}", "did you mean \"python\"?");
    refused("{\"execution_policies\": {\"css\": true}}", "no command");
}

int main(void)
{
    enum { OTHERS = 2 };
    static struct CMUnitTest tests[RECORDED_COUNT + OTHERS] = {
        cmocka_unit_test(the_log_tells_how_a_saved_language_is_made_to_run),
        cmocka_unit_test(wrong_words_of_the_configuration_are_refused),
    };
    for (size_t i = 0; i < RECORDED_COUNT; i++) {
        tests[OTHERS + i] =
            (struct CMUnitTest){.name = all_recorded[i].language,
                                .test_func = each_candidate_is_run_when_those_before_are_missing,
                                .initial_state = (void *)(uintptr_t)&all_recorded[i]};
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
