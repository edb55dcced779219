/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runner_kill.c: however a tree of processes is grown, it dies when its time is up, when it is
 * cancelled, reset, or left alone; and what shall live on lives on.
 *
 * Every test ends with client_end, which fails where a process is left.
 */
#include "runner_client.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* A daemon as they come: forked twice, a session of its own; its number is in the file `daemon`. */
#define START_DAEMON                                                                               \
    "(setsid sh -c 'echo $$ > daemon.new; mv daemon.new daemon; exec sleep 1000' &) ; "            \
    "while [ ! -e daemon ]; do sleep 0.02; done; "

static bool alive(pid_t pid)
{
    return kill(pid, 0) == 0;
}

static void assert_how(client_exit *result, uint32_t how)
{
    if (result->how != how)
        print_error("how %u, detail: %s\n", result->how, result->detail);
    assert_int_equal(result->how, how);
    client_exit_free(result);
}

static void time_out_kills_what_has_forked_away(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    client_exit result = client_run(&runner, &(client_command){
                                                 .script = START_DAEMON "echo before; sleep 1000",
                                                 .timeout_ms = 1500,
                                                 .grace_ms = 500,
                                             });
    assert_string_equal(result.output[1], "before\n");
    assert_how(&result, EXIT_TIMED_OUT);
    assert_false(alive(read_number("daemon")));
    client_end(&runner);
}

static void time_out_gives_the_tree_a_chance_to_clean_up(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    client_exit result = client_run(
        &runner, &(client_command){
                     .script = "trap 'echo cleaned; exit 0' TERM; while :; do sleep 0.1; done",
                     .timeout_ms = 1500,
                     .grace_ms = 10000,
                 });
    assert_string_equal(result.output[1], "cleaned\n");
    assert_how(&result, EXIT_TIMED_OUT);
    client_end(&runner);
}

static void time_out_ends_what_ignores_sigterm(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    client_exit result =
        client_run(&runner, &(client_command){
                                .script = "trap '' TERM; echo stubborn; while :; do sleep 1; done",
                                .timeout_ms = 1500,
                                .grace_ms = 200,
                            });
    assert_string_equal(result.output[1], "stubborn\n");
    assert_how(&result, EXIT_TIMED_OUT);
    client_end(&runner);
}

static void time_out_ends_what_has_stopped_itself(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    client_exit result =
        client_run(&runner, &(client_command){.script = "sleep 1000 & kill -STOP $!; kill -STOP $$",
                                              .timeout_ms = 500,
                                              .grace_ms = 200});
    assert_how(&result, EXIT_TIMED_OUT);
    client_end(&runner);
}

static void kill_ends_the_whole_tree(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    client_spawn(&runner, 1, &(client_command){.script = START_DAEMON "sleep 1000"});
    await_file("daemon");
    client_kill(&runner, 1, SIGTERM, 300);
    client_exit result = client_wait(&runner, 1);
    assert_how(&result, EXIT_CANCELLED);
    assert_false(alive(read_number("daemon")));
    client_end(&runner);
}

static void kill_without_grace_kills_at_once(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    client_spawn(&runner, 1,
                 &(client_command){.script = "trap '' TERM; echo > ready; sleep 1000; sleep 1000"});
    await_file("ready");
    client_kill(&runner, 1, SIGKILL, 100000);
    client_exit result = client_wait(&runner, 1);
    assert_how(&result, EXIT_CANCELLED);
    client_end(&runner);
}

static void kill_touches_no_other_execution(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    client_spawn(&runner, 1, &(client_command){.script = "echo > one; sleep 1000"});
    client_spawn(&runner, 2,
                 &(client_command){.script = "while [ ! -e go ]; do sleep 0.05; done; echo lives"});
    await_file("one");
    client_kill(&runner, 1, SIGTERM, 300);
    client_exit result = client_wait(&runner, 1);
    assert_how(&result, EXIT_CANCELLED);
    close(open("go", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    result = client_wait(&runner, 2);
    assert_string_equal(result.output[0], "lives\n");
    assert_how(&result, EXIT_EXITED);
    client_end(&runner);
}

static void kill_and_credit_for_unknown_numbers_are_ignored(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    client_kill(&runner, 5, SIGTERM, 300);
    client_credit(&runner, 5, 300);
    client_exit result = client_run_script(&runner, "true");
    assert_how(&result, EXIT_EXITED);
    client_end(&runner);
}

static void what_is_in_the_background_holds_nobody_up_and_lives_on(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    client_exit result = client_run_script(&runner, START_DAEMON "sleep 1000 & echo started");
    assert_string_equal(result.output[0], "started\n");
    assert_how(&result, EXIT_EXITED);
    result = client_run_script(&runner, "kill -0 $(cat daemon) && echo there");
    assert_string_equal(result.output[0], "there\n");
    assert_how(&result, EXIT_EXITED);
    client_end(&runner);
    assert_false(alive(read_number("daemon")));
}

static void writing_in_the_background_neither_blocks_nor_kills(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    client_exit result = client_run_script(
        &runner, "(while [ ! -e go ]; do sleep 0.05; done; head -c 3000000 /dev/zero && "
                 "head -c 3000000 /dev/zero >&2 && echo > written) & echo started");
    assert_string_equal(result.output[0], "started\n");
    assert_how(&result, EXIT_EXITED);
    close(open("go", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    await_file("written");
    /* None of it reaches the host. */
    assert_false(client_readable(&runner, 100));
    client_end(&runner);
}

static void what_is_in_the_background_outlives_a_host_that_reads_late(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    client_spawn(&runner, 1,
                 &(client_command){
                     .script = START_DAEMON "echo said", .timeout_ms = 3000, .no_credit = true});
    /* Long after the time would have been up. */
    assert_false(client_readable(&runner, 10000));
    client_credit(&runner, 1, 100);
    client_exit result = client_wait(&runner, 1);
    assert_string_equal(result.output[0], "said\n");
    assert_how(&result, EXIT_EXITED);
    assert_true(alive(read_number("daemon")));
    client_end(&runner);
}

static void a_flood_from_the_background_holds_up_no_exit(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    for (int i = 0; i < 3; i++) {
        client_exit result = client_run_script(&runner, "yes & sleep 0.1");
        assert_how(&result, EXIT_EXITED);
    }
    client_end(&runner);
}

static void what_the_command_wrote_before_its_end_arrives_despite_the_background(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    for (int i = 0; i < 20; i++) {
        client_exit result =
            client_run_script(&runner, "sleep 1000 & head -c 60000 /dev/zero; echo last >&2");
        assert_int_equal(result.length[1], 60000);
        assert_string_equal(result.output[2], "last\n");
        assert_how(&result, EXIT_EXITED);
    }
    client_end(&runner);
}

static void reset_ends_all_and_answers_last(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    client_exit result = client_run_script(&runner, START_DAEMON);
    assert_how(&result, EXIT_EXITED);
    client_spawn(&runner, 1, &(client_command){.script = "echo > one; sleep 1000"});
    client_spawn(&runner, 2, &(client_command){.script = "yes", .credit = 1000});
    await_file("one");
    client_send(&runner, FRAME_RESET, 0, 0, NULL, 0);
    int exits = 0;
    for (;;) {
        client_frame frame;
        assert_true(client_receive(&runner, &frame));
        if (frame.header.type == FRAME_RESET_DONE)
            break;
        if (frame.header.type == FRAME_OUTPUT)
            continue;
        assert_int_equal(frame.header.type, FRAME_EXIT);
        client_parse_exit(&frame, &result);
        assert_int_equal(result.how, EXIT_CANCELLED);
        exits++;
    }
    assert_int_equal(exits, 2);
    assert_false(alive(read_number("daemon")));
    result = client_run_script(&runner, "echo fresh");
    assert_string_equal(result.output[0], "fresh\n");
    assert_how(&result, EXIT_EXITED);
    client_end(&runner);
}

static void reset_when_nothing_runs_answers(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    client_reset(&runner);
    client_reset(&runner);
    client_end(&runner);
}

static void end_of_file_ends_all(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    client_spawn(&runner, 1, &(client_command){.script = START_DAEMON "trap '' TERM; sleep 1000"});
    client_spawn(&runner, 2, &(client_command){.script = "yes", .credit = 1000});
    await_file("daemon");
    assert_int_equal(client_end(&runner), 0);
    assert_false(alive(read_number("daemon")));
}

static void a_killed_runner_leaves_nothing(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    client_spawn(&runner, 1, &(client_command){.script = START_DAEMON "sleep 1000"});
    await_file("daemon");
    kill(runner.pid, SIGKILL);
    client_await_end(&runner);
    assert_false(alive(read_number("daemon")));
}

static void a_killed_supervisor_loses_its_tree_alone(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    client_spawn(&runner, 2,
                 &(client_command){.script = "while [ ! -e go ]; do sleep 0.05; done; echo lives"});
    client_spawn(
        &runner, 1,
        &(client_command){.script = START_DAEMON "echo said; kill -KILL $PPID; sleep 1000"});
    client_exit result = client_wait(&runner, 1);
    assert_string_equal(result.output[0], "said\n");
    assert_how(&result, EXIT_LOST);
    assert_false(alive(read_number("daemon")));
    close(open("go", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    result = client_wait(&runner, 2);
    assert_string_equal(result.output[0], "lives\n");
    assert_how(&result, EXIT_EXITED);
    client_end(&runner);
}

static void a_supervisor_killed_from_the_background_takes_the_rest_along(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    client_exit result =
        client_run_script(&runner, START_DAEMON
                          "supervisor=$PPID; (sleep 0.3; kill -KILL $supervisor; sleep 1000) &");
    assert_how(&result, EXIT_EXITED);
    for (int i = 0; i < 1000 && alive(read_number("daemon")); i++)
        usleep(10000);
    assert_false(alive(read_number("daemon")));
    client_end(&runner);
}

static void a_supervisor_that_is_ready_and_killed_is_replaced(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    for (int i = 0; i < 5; i++) {
        client_exit result =
            client_run_script(&runner, "runner=$(cut -d' ' -f4 /proc/$PPID/stat); "
                                       "for p in $(cat /proc/$runner/task/$runner/children); do "
                                       "[ $p = $PPID ] || kill -KILL $p; done; echo ok");
        assert_string_equal(result.output[0], "ok\n");
        assert_how(&result, EXIT_EXITED);
    }
    client_end(&runner);
}

static void a_stopped_supervisor_still_times_out(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    client_exit result = client_run(&runner, &(client_command){
                                                 .script = "kill -STOP $PPID; sleep 1000",
                                                 .timeout_ms = 500,
                                                 .grace_ms = 100,
                                             });
    assert_how(&result, EXIT_TIMED_OUT);
    client_end(&runner);
}

static void a_supervisor_that_is_stopped_again_and_again_still_times_out(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    client_exit result =
        client_run(&runner, &(client_command){
                                .script = "trap '' TERM; (trap '' TERM; while kill -STOP $PPID; do "
                                          ":; done) & while kill -STOP $PPID; do :; done",
                                .timeout_ms = 500,
                                .grace_ms = 100,
                            });
    assert_how(&result, EXIT_TIMED_OUT);
    client_end(&runner);
}

static void a_stopped_runner_goes_on_at_the_end_of_the_command(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    client_exit result = client_run_script(
        &runner, "kill -STOP $(cut -d' ' -f4 /proc/$PPID/stat); sleep 0.3; echo x");
    assert_string_equal(result.output[0], "x\n");
    assert_how(&result, EXIT_EXITED);
    client_end(&runner);
}

static void signals_to_runner_and_supervisor_do_nothing(void **state)
{
    (void)state;
    client runner = client_start(NULL);
    client_exit result = client_run_script(
        &runner, "runner=$(cut -d' ' -f4 /proc/$PPID/stat); for s in HUP INT QUIT USR1 USR2 PIPE "
                 "ALRM TERM CHLD TSTP TTIN WINCH; do kill -$s $PPID $runner; done; echo x");
    assert_string_equal(result.output[0], "x\n");
    assert_how(&result, EXIT_EXITED);
    client_end(&runner);
}

/* ------------------------------------------------------------------------------------------------
 * Fork bombs
 * --------------------------------------------------------------------------------------------- */

/* A user of whom nothing else runs, with room for so many processes. */
static void become_limited_user(void *argument)
{
    const struct rlimit processes = {300, 300};
    (void)argument;
    if (setgroups(0, NULL) != 0 || setresgid(54321, 54321, 54321) != 0 ||
        setrlimit(RLIMIT_NPROC, &processes) != 0 || setresuid(54321, 54321, 54321) != 0)
        _exit(124);
}

static client start_limited(void)
{
    /* That user may not reach the folder of the build. */
    assert_int_equal(system("cp " ATTACKER " attacker && chmod 755 attacker"), 0);
    return client_start(&(client_options){.prepare = geteuid() == 0 ? become_limited_user : NULL});
}

static void a_fork_bomb_ends_with_its_time(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip_because("only root can become a user whose processes are counted alone");
    client runner = start_limited();
    client_exit result =
        client_run(&runner, &(client_command){.script = "exec ./attacker fork-without-end runner",
                                              .timeout_ms = 1000,
                                              .grace_ms = 200});
    assert_how(&result, EXIT_TIMED_OUT);
    client_end(&runner);
}

static void a_fork_bomb_in_the_background_ends_with_the_reset(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip_because("only root can become a user whose processes are counted alone");
    client runner = start_limited();
    client_exit result =
        client_run_script(&runner, "./attacker fork-without-end runner & sleep 0.5; echo on");
    assert_how(&result, EXIT_EXITED);
    client_reset(&runner);
    result = client_run_script(&runner, "echo fresh");
    assert_string_equal(result.output[0], "fresh\n");
    assert_how(&result, EXIT_EXITED);
    client_end(&runner);
}

static void processes_that_run_away_are_caught(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip_because("only root can become a user whose processes are counted alone");
    client runner = start_limited();
    for (int i = 0; i < 3; i++) {
        client_exit result = client_run_script(&runner, "./attacker run-away runner");
        assert_how(&result, EXIT_EXITED);
        client_reset(&runner);
        result = client_run_script(&runner, "ps -u 54321 -o comm= | grep -c attacker");
        assert_string_equal(result.output[0], "0\n");
        client_exit_free(&result);
    }
    client_end(&runner);
}

/* Root is out of reach of such code (guard.c). Both notice when something wakes them: here an orphan's end, and
 * output. */
static void a_tree_dies_whose_code_takes_away_the_limits_of_its_supervisor(void **state)
{
    (void)state;
    client runner = start_limited();
    client_exit result =
        client_run_script(&runner, "trap '' TERM; (setsid sleep 1000 &); echo x; ./attacker "
                                   "take-limits $PPID; (sleep 0.1 &); sleep 1000");
    assert_string_equal(result.output[0], "x\n");
    assert_how(&result, EXIT_LOST);
    client_end(&runner);
}

static void a_runner_whose_limits_are_taken_away_ends_with_all_it_started(void **state)
{
    (void)state;
    client runner = start_limited();
    client_spawn(
        &runner, 1,
        &(client_command){
            .script = "trap '' TERM; (setsid sleep 1000 &); ./attacker take-limits $(cut -d' ' -f4 "
                      "/proc/$PPID/stat); ./attacker take-limits $PPID; echo x; sleep 1000"});
    client_frame frame;
    do {
        assert_true(client_receive(&runner, &frame));
    } while (frame.header.type == FRAME_EXIT || frame.header.type == FRAME_OUTPUT);
    assert_int_equal(frame.header.type, FRAME_ERROR);
    client_await_end(&runner);
}

/* ------------------------------------------------------------------------------------------------
 * As the first process of a container
 * --------------------------------------------------------------------------------------------- */

static void mount_proc(void *argument)
{
    (void)argument;
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("proc", "/proc", "proc", 0, NULL) != 0)
        _exit(124);
}

static void unmount_proc(void *argument)
{
    (void)argument;
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", "/proc", "tmpfs", 0, NULL) != 0)
        _exit(124);
}

static void as_first_process_it_times_out_and_ends_all(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip_because("needs a pid namespace, which root alone can make");
    client runner =
        client_start(&(client_options){.own_pid_namespace = true, .prepare = mount_proc});
    client_exit result =
        client_run(&runner, &(client_command){.script = "(setsid sleep 1000 &) ; sleep 1000",
                                              .timeout_ms = 500,
                                              .grace_ms = 200});
    assert_how(&result, EXIT_TIMED_OUT);
    result = client_run_script(&runner, "cat /proc/[0-9]*/comm | sort | uniq -c | grep sleep");
    assert_string_equal(result.output[0], "");
    client_exit_free(&result);
    client_spawn(&runner, 1, &(client_command){.script = START_DAEMON "sleep 1000"});
    await_file("daemon");
    assert_int_equal(WEXITSTATUS(client_end(&runner)), 0);
}

static pid_t only_child(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    return read_number(path);
}

static void as_first_process_it_obeys_sigterm(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip_because("needs a pid namespace, which root alone can make");
    client runner =
        client_start(&(client_options){.own_pid_namespace = true, .prepare = mount_proc});
    client_spawn(&runner, 1, &(client_command){.script = START_DAEMON "sleep 1000"});
    await_file("daemon");
    kill(only_child(runner.pid), SIGTERM);
    client_frame frame;
    /* Whoever sent it tells the host why. */
    while (client_receive(&runner, &frame))
        assert_int_not_equal(frame.header.type, FRAME_ERROR);
    assert_int_equal(WEXITSTATUS(client_await_end(&runner)), 128 + SIGTERM);
}

static void without_proc_a_tree_dies_all_the_same(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip_because("needs a pid namespace, which root alone can make");
    client runner =
        client_start(&(client_options){.own_pid_namespace = true, .prepare = unmount_proc});
    client_exit result =
        client_run(&runner, &(client_command){.script = "(setsid sh -c 'trap \"\" TERM; echo > "
                                                        "ready; sleep 1000; sleep 1000' &) ; sleep "
                                                        "1000",
                                              .timeout_ms = 2500,
                                              .grace_ms = 200});
    assert_how(&result, EXIT_TIMED_OUT);
    assert_true(file_exists("ready"));
    /* With a process left, the reset would take its time. */
    client_reset(&runner);
    client_end(&runner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUNNER_TEST(time_out_kills_what_has_forked_away),
        RUNNER_TEST(time_out_gives_the_tree_a_chance_to_clean_up),
        RUNNER_TEST(time_out_ends_what_ignores_sigterm),
        RUNNER_TEST(time_out_ends_what_has_stopped_itself),
        RUNNER_TEST(kill_ends_the_whole_tree),
        RUNNER_TEST(kill_without_grace_kills_at_once),
        RUNNER_TEST(kill_touches_no_other_execution),
        RUNNER_TEST(kill_and_credit_for_unknown_numbers_are_ignored),
        RUNNER_TEST(what_is_in_the_background_holds_nobody_up_and_lives_on),
        RUNNER_TEST(writing_in_the_background_neither_blocks_nor_kills),
        RUNNER_TEST(what_is_in_the_background_outlives_a_host_that_reads_late),
        RUNNER_TEST(a_flood_from_the_background_holds_up_no_exit),
        RUNNER_TEST(what_the_command_wrote_before_its_end_arrives_despite_the_background),
        RUNNER_TEST(reset_ends_all_and_answers_last),
        RUNNER_TEST(reset_when_nothing_runs_answers),
        RUNNER_TEST(end_of_file_ends_all),
        RUNNER_TEST(a_killed_runner_leaves_nothing),
        RUNNER_TEST(a_killed_supervisor_loses_its_tree_alone),
        RUNNER_TEST(a_supervisor_killed_from_the_background_takes_the_rest_along),
        RUNNER_TEST(a_supervisor_that_is_ready_and_killed_is_replaced),
        RUNNER_TEST(a_stopped_supervisor_still_times_out),
        RUNNER_TEST(a_supervisor_that_is_stopped_again_and_again_still_times_out),
        RUNNER_TEST(a_stopped_runner_goes_on_at_the_end_of_the_command),
        RUNNER_TEST(signals_to_runner_and_supervisor_do_nothing),
        RUNNER_TEST(a_fork_bomb_ends_with_its_time),
        RUNNER_TEST(a_fork_bomb_in_the_background_ends_with_the_reset),
        RUNNER_TEST(processes_that_run_away_are_caught),
        RUNNER_TEST(a_tree_dies_whose_code_takes_away_the_limits_of_its_supervisor),
        RUNNER_TEST(a_runner_whose_limits_are_taken_away_ends_with_all_it_started),
        RUNNER_TEST(as_first_process_it_times_out_and_ends_all),
        RUNNER_TEST(as_first_process_it_obeys_sigterm),
        RUNNER_TEST(without_proc_a_tree_dies_all_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
