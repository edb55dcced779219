/* SPDX-License-Identifier: Apache-2.0 */
/*
 * repl_demo.c: the dialogue of host_demo as a person sees it, over a pseudo-terminal, and as a
 * script uses it, over pipes. One behaviour a test; each waits for what it expects to see.
 */
#include "demo_process.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define CTRL_C      "\003"
#define CTRL_D      "\004"
#define ENTER       "\r"
#define ARROW_UP    "\033[A"
#define PASTE(text) "\033[200~" text "\033[201~"
#define QUESTION    "s shows the code) "

enum { PATIENCE_SECONDS = 30 };

struct talk {
    pid_t process;
    int terminal;
    char seen[1 << 18];
    size_t length;
    size_t mark; /* what was expected so far lies before it */
    bool at_prompt;
};

static struct talk *begin_with(const char *const *arguments)
{
    struct talk *talk = calloc(1, sizeof *talk);
    assert_non_null(talk);
    int inner;
    struct winsize size = {.ws_row = 40, .ws_col = 120};
    assert_int_equal(openpty(&talk->terminal, &inner, NULL, NULL, &size), 0);
    fcntl(talk->terminal, F_SETFD, FD_CLOEXEC);
    setenv("TERM", "xterm", 1);
    talk->process = demo_start(arguments, inner, inner, inner);
    close(inner);
    return talk;
}

static struct talk *begin(void)
{
    static const char *const arguments[] = {"-e", "echo", NULL};
    return begin_with(arguments);
}

static bool read_more(struct talk *talk, int milliseconds)
{
    struct pollfd event = {talk->terminal, POLLIN, 0};
    if (poll(&event, 1, milliseconds) <= 0)
        return true;
    if (talk->length >= sizeof talk->seen - 1)
        return false;
    ssize_t got =
        read(talk->terminal, talk->seen + talk->length, sizeof talk->seen - 1 - talk->length);
    talk->length += got > 0 ? (size_t)got : 0;
    return got > 0 || (got < 0 && errno == EINTR);
}

static void expect(struct talk *talk, const char *text)
{
    double deadline = demo_now() + PATIENCE_SECONDS;
    for (;;) {
        const char *found =
            memmem(talk->seen + talk->mark, talk->length - talk->mark, text, strlen(text));
        if (found != NULL) {
            talk->mark = (size_t)(found - talk->seen) + strlen(text);
            return;
        }
        if (demo_now() > deadline || !read_more(talk, 200))
            break;
    }
    print_error("not seen: %s\nbut: %s\n", text, talk->seen + talk->mark);
    kill(talk->process, SIGKILL);
    fail();
}

/* Nothing of the kind has been seen, up to now. */
static void expect_none(struct talk *talk, const char *text)
{
    if (memmem(talk->seen, talk->length, text, strlen(text)) != NULL) {
        print_error("seen: %s\nin: %s\n", text, talk->seen);
        kill(talk->process, SIGKILL);
        fail();
    }
}

static void type(struct talk *talk, const char *text)
{
    talk->at_prompt = false;
    assert_int_equal(write(talk->terminal, text, strlen(text)), strlen(text));
}

/* The prompt is there, and lines are edited, when the terminal is told to bracket pastes. */
static void expect_prompt(struct talk *talk)
{
    if (!talk->at_prompt) {
        expect(talk, "\033[?2004h");
        talk->at_prompt = true;
    }
}

/* The exit status; reads what still comes, so that the process does not wait for us. */
static int end(struct talk *talk)
{
    double deadline = demo_now() + PATIENCE_SECONDS;
    while (demo_now() < deadline && read_more(talk, 200)) {
    }
    int status = demo_wait(talk->process, PATIENCE_SECONDS);
    close(talk->terminal);
    free(talk);
    return status;
}

static void quit(struct talk *talk)
{
    expect_prompt(talk);
    type(talk, ":quit" ENTER);
    assert_int_equal(end(talk), 0);
}

static void run_block(struct talk *talk, const char *code)
{
    char text[400], command[400];
    snprintf(text, sizeof text, "```echo\n%s\n```\n", code);
    snprintf(command, sizeof command, ":run %s" ENTER, demo_file("block.md", text, strlen(text)));
    expect_prompt(talk);
    type(talk, command);
    expect(talk, QUESTION);
    type(talk, "y" ENTER);
}

/* ---- dialogues --------------------------------------------------------------------------------- */

struct step {
    void (*take)(struct talk *talk, const char *text);
    const char *text;
};
/* clang-format off */
#define PROMPT      {await_prompt, ""}
#define TYPE(text)  {type, text}
#define SEE(text)   {expect, text}
#define NEVER(text) {expect_none, text}
#define RUN(code)   {run_block, code}
/* clang-format on */

static void await_prompt(struct talk *talk, const char *nothing)
{
    (void)nothing;
    expect_prompt(talk);
}

/* Each begins at a first prompt and ends with :quit at a last one. */
static struct dialogue {
    const char *name;
    struct step steps[24]; /* the last is none */
} dialogues[] = {
    {"a_pasted_message_is_shown_confirmed_and_run",
     {TYPE(PASTE("Sure:\r\r```echo\rprint it ran\r```\r\rDone.\r")),
      SEE("An empty line ends the message."), TYPE(ENTER), SEE("1 line"), SEE("print it ran"),
      SEE(QUESTION), TYPE("y" ENTER), SEE("it ran\r\n"), SEE("[1] ok, ")}},
    {"one_pasted_line_is_edited",
     {TYPE(PASTE(":hel\033[5~p\r")), SEE(":hel[5~p"), TYPE("\b\b\b\bp" ENTER), SEE(":restart")}},
    {"what_is_pasted_behind_the_last_line_is_edited",
     {TYPE(PASTE("```echo\rprint whole\r```")), SEE("still open"), PROMPT, TYPE(ENTER), PROMPT,
      TYPE(ENTER), SEE(QUESTION), TYPE("y" ENTER), SEE("whole\r\n")}},
    {"no_runs_nothing",
     {TYPE(PASTE("```echo\rraw 414243\r```\r")), SEE("ends the message"), TYPE(ENTER),
      SEE(QUESTION), TYPE("n" ENTER), PROMPT, NEVER("ABC")}},
    {"a_number_runs_that_block_alone",
     {TYPE(PASTE("```echo\rraw 414243\r```\r```echo\rraw 444546\r```\r")), SEE("ends the message"),
      TYPE(ENTER), SEE(QUESTION), TYPE("3" ENTER), SEE("That is no answer"), SEE(QUESTION),
      TYPE("2" ENTER), SEE("[2] echo"), SEE("DEF"), SEE("[2] ok"), NEVER("ABC")}},
    {"progress_is_one_line_that_goes_away",
     {RUN("progress 5000000 20000000\nprogress 20000000 20000000\nprint done"),
      SEE("\r\033[Ksomething   25 %  5.0 of 20.0 MB\r\033[Kdone\r\n")}},
    {"progress_that_takes_a_while_tells_its_rate",
     {RUN("progress 5000000 20000000\nsleep 1000\nprogress 10000000 20000000\n"
          "progress 20000000 20000000\nprint done"),
      SEE("something   50 %  10.0 of 20.0 MB  "), SEE(" MB/s\r\033[Kdone\r\n")}},
    {"an_interrupt_cancels_the_block_and_not_the_host",
     {RUN("raw 626567756e\nsleep 90000"), SEE("begun"), TYPE(CTRL_C), SEE("[1] cancelled, "),
      RUN("raw 616761696e"), SEE("again"), SEE("[1] ok")}},
    {"an_interrupt_at_the_prompt_drops_the_line",
     {TYPE(":quit"), SEE(":quit"), TYPE(CTRL_C), SEE("^C"), PROMPT, TYPE("a message" ENTER), PROMPT,
      TYPE(CTRL_C), SEE("^C"), PROMPT, TYPE(":help" ENTER), SEE(":restart")}},
    {"a_command_within_a_message_gets_a_hint",
     {TYPE("a message" ENTER), PROMPT, TYPE(":quit" ENTER),
      SEE(":quit is a part of the message now"), PROMPT, TYPE(CTRL_C), SEE("^C"), PROMPT,
      TYPE("```echo" ENTER), PROMPT, TYPE(":help" ENTER), PROMPT, TYPE(CTRL_C),
      NEVER(":help is a part")}},
    {"a_wrong_command_names_the_right_one",
     {TYPE(":plugin" ENTER), SEE("There is no command :plugin. Did you mean :plugins?"), PROMPT,
      TYPE(":zzz" ENTER), SEE(":help lists those there are.")}},
    {"executors_are_loaded_and_routed",
     {TYPE(":load echo {\"greeting\": \"x\"}" ENTER), SEE("echo#2\r\n"), PROMPT,
      TYPE(":route js echo" ENTER), SEE("echo#2\r\n"), SEE("js"), SEE("echo\r\n"), PROMPT,
      TYPE(":route ts echo {\"greeting\": \"y\"}" ENTER), SEE("ts"), SEE("echo#3\r\n"), PROMPT,
      TYPE(":load nothing" ENTER), SEE("There is no plugin"), RUN("config"),
      SEE("\"greeting\": \"x\"")}},
    {"stop_and_restart_tell_what_they_did",
     {TYPE(":stop" ENTER), SEE("Nothing is up"), RUN("print x"), SEE("[1] ok"), PROMPT,
      TYPE(":restart" ENTER), SEE("echo is fresh."), PROMPT, TYPE(":stop" ENTER),
      SEE("echo is down")}},
};
enum { DIALOGUES = sizeof dialogues / sizeof dialogues[0] };

static void hold_dialogue(void **state)
{
    const struct dialogue *dialogue = *state;
    struct talk *talk = begin();
    expect_prompt(talk);
    for (const struct step *step = dialogue->steps; step->take; step++)
        step->take(talk, step->text);
    quit(talk);
}

/* ---- what needs more --------------------------------------------------------------------------- */

static void a_typed_message_ends_with_an_empty_line_outside_of_its_fence(void **state)
{
    (void)state;
    struct talk *talk = begin();
    static const char *const lines[] = {"```echo", "", "print typed", "", "```", ""};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        expect_prompt(talk);
        type(talk, lines[i]);
        type(talk, ENTER);
    }
    expect(talk, QUESTION);
    type(talk, "y" ENTER);
    expect(talk, "typed\r\n");
    quit(talk);
}

/* Without bracketed paste a message can hold an empty line and the answer behind it. */
static void a_message_cannot_answer_the_question(void **state)
{
    (void)state;
    struct talk *talk = begin();
    expect_prompt(talk);
    type(talk, "```echo" ENTER "raw 414243" ENTER "```" ENTER ENTER "y" ENTER "y" ENTER);
    usleep(300000);
    type(talk, ENTER);
    expect(talk, QUESTION);
    type(talk, "n" ENTER);
    expect_prompt(talk);
    expect_none(talk, "ABC");
    quit(talk);
}

static void what_hides_is_made_visible(void **state)
{
    (void)state;
    struct talk *talk = begin();
    static const char text[] = "```echo\nprint a\rb \033[8m\u202e\n```\n";
    char command[400];
    snprintf(command, sizeof command, ":run %s" ENTER, demo_file("hides.md", text, strlen(text)));
    expect_prompt(talk);
    type(talk, command);
    expect(talk, "print a^Mb ^[[8m<U+202E>");
    expect(talk, QUESTION);
    type(talk, "n" ENTER);
    quit(talk);
}

static void output_cannot_command_the_terminal(void **state)
{
    (void)state;
    struct talk *talk = begin();
    /* A title, a report of the cursor, the clipboard, a clear screen; then red, which passes. */
    static const char text[] =
        "```echo\nraw 411b5d303b7469746c6507421b5b366e431b5d35323b633b61611b5c"
        "441b5b324a451b5b33316d46\n```\n";
    char command[400];
    snprintf(command, sizeof command, ":run %s" ENTER, demo_file("escapes.md", text, strlen(text)));
    expect_prompt(talk);
    type(talk, command);
    expect(talk, QUESTION);
    type(talk, "y" ENTER);
    expect(talk, "ABCDE\033[31mF");
    expect_none(talk, "title");
    quit(talk);
}

static void a_second_interrupt_ends_the_host(void **state)
{
    (void)state;
    struct talk *talk = begin();
    run_block(talk, "raw 626567756e\nstubborn 60000");
    expect(talk, "begun");
    usleep(500000); /* until it is in the order that does not care */
    type(talk, CTRL_C);
    usleep(500000);
    type(talk, CTRL_C);
    assert_int_equal(end(talk), 130);
}

static void lines_are_remembered_from_one_time_to_the_next(void **state)
{
    (void)state;
    struct talk *talk = begin();
    expect_prompt(talk);
    type(talk, ":route remembered" ENTER);
    expect(talk, "needs a language");
    quit(talk);
    talk = begin();
    expect_prompt(talk);
    type(talk, ARROW_UP ARROW_UP);
    expect(talk, "remembered");
    type(talk, CTRL_C);
    quit(talk);
}

static void end_of_file_at_the_prompt_quits(void **state)
{
    (void)state;
    struct talk *talk = begin();
    expect_prompt(talk);
    type(talk, CTRL_D);
    assert_int_equal(end(talk), 0);
}

static void a_terminal_that_goes_away_ends_the_host(void **state)
{
    (void)state;
    struct talk *talk = begin();
    run_block(talk, "raw 626567756e\nsleep 90000");
    expect(talk, "begun");
    close(talk->terminal);
    assert_int_equal(demo_wait(talk->process, PATIENCE_SECONDS), 128 + SIGHUP);
    free(talk);
}

static void it_is_small_when_idle(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip();
#endif
    struct talk *talk = begin();
    expect_prompt(talk);
    char path[64], line[256];
    long kilobytes = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)talk->process);
    FILE *status = fopen(path, "re");
    assert_non_null(status);
    while (fgets(line, sizeof line, status) != NULL)
        if (strncmp(line, "VmRSS:", 6) == 0)
            kilobytes = strtol(line + 6, NULL, 10);
    fclose(status);
    assert_in_range(kilobytes, 1, 16 * 1024 - 1);
    quit(talk);
}

static struct demo_result script(const char *text)
{
    struct demo_result result;
    demo_run(&(struct demo_call){.arguments = {"-e", "echo"}, .input = text}, &result);
    return result;
}

static void a_script_can_talk_too(void **state)
{
    (void)state;
    struct demo_result result = script("```echo\nprint one\n\nprint two\n```\n\ny\n:nonsense\n"
                                       "```echo\nprint three\n```\n\nn\n:quit\n");
    assert_int_equal(result.status, 0);
    assert_string_equal(result.output, "one\ntwo\n");
    assert_non_null(strstr(result.words, "There is no command :nonsense."));
    demo_result_free(&result);
}

static void a_script_that_does_not_answer_runs_nothing(void **state)
{
    (void)state;
    struct demo_result result = script("```echo\nprint one\n```\n");
    assert_int_equal(result.status, 0);
    assert_string_equal(result.output, "");
    assert_non_null(strstr(result.words, "host_demo run -"));
    demo_result_free(&result);
}

static void commands_are_answers_too(void **state)
{
    (void)state;
    struct demo_result result = script("```echo\nprint one\n```\n\n:help\n:quit\n:nonsense\n");
    assert_int_equal(result.status, 0);
    assert_string_equal(result.output, "");
    assert_non_null(strstr(result.words, "a number runs that block alone"));
    assert_null(strstr(result.words, "no answer"));
    assert_null(strstr(result.words, "nonsense"));
    demo_result_free(&result);
}

static void a_route_for_a_language_that_nobody_knows_is_refused(void **state)
{
    (void)state;
    struct demo_result result = script(":route pyton local\n:route\n:quit\n");
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.words, "Did you mean `python`?"));
    assert_null(strstr(result.words, "  pyton"));
    assert_non_null(strstr(result.words, "  everything  "));
    demo_result_free(&result);
}

static void a_slash_is_answered_with_the_colon(void **state)
{
    (void)state;
    struct demo_result result = script("/help\n:quit\n");
    assert_non_null(strstr(result.words, "Commands begin with a colon here: :help"));
    demo_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest others[] = {
        cmocka_unit_test(a_typed_message_ends_with_an_empty_line_outside_of_its_fence),
        cmocka_unit_test(a_message_cannot_answer_the_question),
        cmocka_unit_test(what_hides_is_made_visible),
        cmocka_unit_test(output_cannot_command_the_terminal),
        cmocka_unit_test(a_second_interrupt_ends_the_host),
        cmocka_unit_test(lines_are_remembered_from_one_time_to_the_next),
        cmocka_unit_test(end_of_file_at_the_prompt_quits),
        cmocka_unit_test(a_terminal_that_goes_away_ends_the_host),
        cmocka_unit_test(it_is_small_when_idle),
        cmocka_unit_test(a_script_can_talk_too),
        cmocka_unit_test(a_script_that_does_not_answer_runs_nothing),
        cmocka_unit_test(commands_are_answers_too),
        cmocka_unit_test(a_route_for_a_language_that_nobody_knows_is_refused),
        cmocka_unit_test(a_slash_is_answered_with_the_colon),
    };
    enum { OTHERS = sizeof others / sizeof others[0] };
    struct CMUnitTest tests[DIALOGUES + OTHERS];
    for (size_t i = 0; i < DIALOGUES; i++)
        tests[i] = (struct CMUnitTest){
            .name = dialogues[i].name, .test_func = hold_dialogue, .initial_state = &dialogues[i]};
    memcpy(tests + DIALOGUES, others, sizeof others);
    return cmocka_run_group_tests_name("repl", tests, NULL, NULL);
}
