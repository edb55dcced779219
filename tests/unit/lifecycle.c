/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lifecycle.c: starts, stops and what comes between them, with a launcher that counts and fails as it is
 * told. It is called through the table of a plugin that is made of it.
 */
#include "commandline.h"
#include "config.h"
#include "fake_runner.h"
#include "fork_guard.h"
#include "private_folder.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* ------------------------------------------------------------------------------------------------
 * The launcher
 * --------------------------------------------------------------------------------------------- */

enum behaviour {
    SUCCEEDS,
    FAILS,
    WAITS, /* until it is cancelled, or until behaviour changes */
    DEAF   /* succeeds, but the runner does not greet */
};

static struct {
    atomic_int behaviour;
    atomic_int launches; /* begun */
    atomic_int shut_downs;
    atomic_int lost;     /* of those, how many were told so */
    atomic_int inside;   /* threads within launch or shut_down */
    atomic_bool crowded; /* there were two */
    atomic_bool answers_reset;
    atomic_bool binds;
    atomic_bool relaunches; /* for a restart */
    atomic_bool fails_to_shut_down;
    char work_dir[4096]; /* of the last launch */
    fake_runner *runner; /* of the last launch */
} fake;

static char current_folder[4096];

static void enter(void)
{
    if (atomic_fetch_add(&fake.inside, 1) != 0)
        atomic_store(&fake.crowded, true);
}

static void leave(void)
{
    atomic_fetch_sub(&fake.inside, 1);
}

/* Greets, runs what it is told in no time, but `cat` until it is killed. */
static void be_runner(fake_runner *self)
{
    struct frame_header header;
    unsigned char hello[64];
    while (fake_read(self, &header)) {
        if (header.type == FRAME_HELLO && atomic_load(&fake.behaviour) != DEAF) {
            fake_write_bytes(self, hello,
                             fake_compose_hello(hello, PROTOCOL_MAGIC, PROTOCOL_VERSION));
        } else if (header.type == FRAME_SPAWN) {
            fake_output(self, header.execution, 1, "ran\n");
            if (!memmem(self->payload, header.length, "STAY=1", 6))
                fake_exit(self, header.execution, EXIT_EXITED, 0);
        } else if (header.type == FRAME_KILL) {
            fake_exit(self, header.execution, EXIT_CANCELLED, 0);
        } else if (header.type == FRAME_RESET && atomic_load(&fake.answers_reset)) {
            fake_write(self, FRAME_RESET_DONE, 0, 0, NULL, 0);
        }
    }
}

static int32_t fake_configure(const launch_context *context, json_object *config, void **state,
                              code_executor_error *error)
{
    (void)context;
    (void)config;
    (void)error;
    *state = malloc(1); /* for a sanitizer to miss */
    return *state ? CODE_EXECUTOR_OK : CODE_EXECUTOR_NO_MEMORY;
}

static int32_t wait_for_change(const launch_context *context, code_executor_error *error)
{
    while (atomic_load(&fake.behaviour) == WAITS) {
        struct pollfd ready = {.fd = context->cancel_fd, .events = POLLIN};
        poll(&ready, 1, 5);
        if (launch_cancelled(context))
            return error_set(error, CODE_EXECUTOR_CANCELLED, "the launch was cancelled");
    }
    return CODE_EXECUTOR_OK;
}

static int32_t fake_launch(void *state, const launch_context *context, launched *made,
                           code_executor_error *error)
{
    (void)state;
    enter();
    atomic_fetch_add(&fake.launches, 1);
    launch_progress(context, "launching", 1, 2);
    int32_t status = wait_for_change(context, error);
    if (status == CODE_EXECUTOR_OK && atomic_load(&fake.behaviour) == FAILS)
        status = error_set(error, CODE_EXECUTOR_UNAVAILABLE, "it does not want to");
    if (status == CODE_EXECUTOR_OK) {
        snprintf(fake.work_dir, sizeof fake.work_dir, "%s", context->work_dir);
        fake.runner = calloc(1, sizeof *fake.runner);
        made->folder = strdup("/workspace");
        made->binds_work_dir = atomic_load(&fake.binds);
        made->transport = fake_runner_start(fake.runner, be_runner, NULL);
    }
    leave();
    return status;
}

static int32_t fake_shut_down(void *state, const launch_context *context, bool lost,
                              code_executor_error *error)
{
    (void)state;
    (void)context;
    enter();
    atomic_fetch_add(&fake.shut_downs, 1);
    atomic_fetch_add(&fake.lost, lost);
    fake_runner_join(fake.runner); /* it has come to an end: its connection is closed */
    free(fake.runner);
    fake.runner = NULL;
    leave();
    return atomic_load(&fake.fails_to_shut_down)
               ? error_set(error, CODE_EXECUTOR_IO, "something is left")
               : CODE_EXECUTOR_OK;
}

static bool fake_restart_relaunches(void *state)
{
    (void)state;
    return atomic_load(&fake.relaunches);
}

static void fake_destroy(void *state)
{
    free(state);
}

static const commandline_launcher fake_launcher = {.configure = fake_configure,
                                                   .launch = fake_launch,
                                                   .shut_down = fake_shut_down,
                                                   .restart_relaunches = fake_restart_relaunches,
                                                   .destroy = fake_destroy};

CODE_EXECUTOR_COMMANDLINE_PLUGIN(
    fake_launcher, "fake", "1", "Counts",
    COMMANDLINE_SCHEMA_BEGIN COMMANDLINE_SCHEMA_PROPERTIES
    "\"last\": {\"type\": \"null\", \"default\": null}" COMMANDLINE_SCHEMA_END);

/* ------------------------------------------------------------------------------------------------
 * The host
 * --------------------------------------------------------------------------------------------- */

static const code_executor_v1 *table;
static code_executor_instance *instance;
static char logged[4096];
static atomic_int progressed;

static void keep_log(void *user_data, int32_t level, const char *message)
{
    (void)user_data;
    (void)level;
    size_t used = strlen(logged);
    snprintf(logged + used, sizeof logged - used, "%s\n", message);
}

static void count_progress(void *user_data, const char *what, uint64_t done, uint64_t total)
{
    (void)user_data;
    atomic_fetch_add(&progressed, strcmp(what, "launching") == 0 && done == 1 && total == 2);
}

static void create(const char *config)
{
    const code_executor_host host = {
        .struct_size = sizeof host, .log = keep_log, .progress = count_progress};
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    table = code_executor_plugin_v1();
    logged[0] = '\0';
    if (table->create(&host, config, &instance, &error) != CODE_EXECUTOR_OK)
        fail_msg("%s", error.message);
}

static int set_up(void **state)
{
    (void)state;
    memset(&fake, 0, sizeof fake);
    atomic_store(&fake.answers_reset, true);
    atomic_store(&progressed, 0);
    create("{}");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    atomic_store(&fake.behaviour, SUCCEEDS);
    table->destroy(instance);
    assert_int_equal(atomic_load(&fake.inside), 0);
    return atomic_load(&fake.crowded) ? -1 : 0;
}

struct call {
    pthread_t thread;
    uint64_t id; /* 0: start */
    bool stays;  /* it runs until it is killed */
    int32_t status;
    int32_t outcome; /* -1: no result */
};

static void call_now(struct call *call)
{
    static const char *const environment[] = {"STAY=1"};
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    call->outcome = -1;
    if (call->id == 0) {
        call->status = table->start(instance, &error);
        return;
    }
    const code_executor_block block = {sizeof block, "sh", "true", 4};
    const code_executor_block *const blocks[] = {&block};
    const code_executor_request request = {.struct_size = sizeof request,
                                           .blocks = blocks,
                                           .block_count = 1,
                                           .execution_id = call->id,
                                           .environment = environment,
                                           .environment_count = call->stays};
    code_executor_result *result;
    call->status = table->execute(instance, &request, &result, &error);
    if (result) {
        call->outcome = result->outcome;
        table->result_free(result);
    }
}

static void *call_on_thread(void *call)
{
    call_now(call);
    return NULL;
}

static void call_begin(struct call *call, uint64_t id)
{
    *call = (struct call){.id = id};
    assert_int_equal(pthread_create(&call->thread, NULL, call_on_thread, call), 0);
}

static void call_join(struct call *call)
{
    pthread_join(call->thread, NULL);
}

static void await_value(atomic_int *value, int expected)
{
    for (int i = 0; i < 60000 && atomic_load(value) != expected; i++)
        usleep(1000);
    assert_int_equal(atomic_load(value), expected);
}

/* Long enough for a thread to have got where it waits; nothing breaks when it was not. */
static void let_them_wait(void)
{
    usleep(50000);
}

/* ------------------------------------------------------------------------------------------------
 * Starting
 * --------------------------------------------------------------------------------------------- */

static void concurrent_starts_share_one_launch(void **state)
{
    (void)state;
    struct call calls[8];
    atomic_store(&fake.behaviour, WAITS);
    for (uint64_t i = 0; i < 8; i++)
        call_begin(&calls[i], i / 2);
    let_them_wait();
    atomic_store(&fake.behaviour, SUCCEEDS);
    int refused = 0;
    for (int i = 0; i < 8; i++) {
        call_join(&calls[i]);
        /* Two of each id: one of them is refused unless the other was through already. */
        refused += calls[i].status == CODE_EXECUTOR_INVALID;
        assert_true(calls[i].status == CODE_EXECUTOR_OK || calls[i].id != 0);
    }
    assert_true(refused <= 3);
    assert_int_equal(atomic_load(&fake.launches), 1);
    assert_int_equal(atomic_load(&progressed), 1);
}

static void those_that_wait_share_a_failure(void **state)
{
    (void)state;
    struct call calls[4];
    atomic_store(&fake.behaviour, WAITS);
    for (uint64_t i = 0; i < 4; i++)
        call_begin(&calls[i], i);
    let_them_wait();
    atomic_store(&fake.behaviour, FAILS);
    for (int i = 0; i < 4; i++) {
        call_join(&calls[i]);
        assert_int_equal(calls[i].status, CODE_EXECUTOR_UNAVAILABLE);
        assert_int_equal(calls[i].outcome, -1);
    }
    assert_int_equal(atomic_load(&fake.shut_downs), 0);
    /* The next one tries again. */
    int before = atomic_load(&fake.launches);
    atomic_store(&fake.behaviour, SUCCEEDS);
    assert_int_equal(table->start(instance, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(atomic_load(&fake.launches), before + 1);
}

static void a_runner_that_does_not_answer_is_shut_down(void **state)
{
    (void)state;
    struct call call;
    atomic_store(&fake.behaviour, DEAF);
    call_begin(&call, 0);
    await_value(&fake.launches, 1);
    let_them_wait();
    assert_int_equal(table->cancel(instance, 0, NULL), CODE_EXECUTOR_OK);
    call_join(&call);
    assert_int_equal(call.status, CODE_EXECUTOR_CANCELLED);
    assert_int_equal(atomic_load(&fake.shut_downs), 1);
}

static void the_work_dir_is_made_but_not_its_parents(void **state)
{
    (void)state;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    table->destroy(instance);
    create("{\"work_dir\": \"./made\"}");
    assert_int_equal(table->start(instance, &error), CODE_EXECUTOR_OK);
    assert_int_equal(access("made", F_OK), 0);
    table->destroy(instance);
    create("{\"work_dir\": \"not/there/yet\"}");
    assert_int_equal(table->start(instance, &error), CODE_EXECUTOR_NOT_FOUND);
    assert_int_equal(access("not", F_OK), -1);
}

static void the_work_dir_is_that_of_create(void **state)
{
    (void)state;
    table->destroy(instance);
    create("{\"work_dir\": \"./sub/\"}");
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(table->start(instance, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(chdir(current_folder), 0);
    char expected[4200];
    snprintf(expected, sizeof expected, "%s/sub", current_folder);
    assert_string_equal(fake.work_dir, expected);
}

static void expect_absolute(const char *path, const char *expected)
{
    char *absolute;
    assert_int_equal(commandline_absolute_path(path, &absolute, NULL), CODE_EXECUTOR_OK);
    assert_string_equal(absolute, expected);
    free(absolute);
}

static void paths_are_made_absolute(void **state)
{
    (void)state;
    expect_absolute(".", current_folder);
    expect_absolute("./", current_folder);
    expect_absolute("././/", current_folder);
    expect_absolute("/", "/");
    expect_absolute("//", "/");
    expect_absolute("/a/b//", "/a/b");
    char expected[4200];
    snprintf(expected, sizeof expected, "%s/a/../b", current_folder);
    expect_absolute("./a/../b/", expected); /* .. may follow a link: it is not for us to resolve */
    snprintf(expected, sizeof expected, "%s/.hidden", current_folder);
    expect_absolute(".hidden", expected);
    assert_int_equal(chdir("/"), 0);
    expect_absolute(".", "/");
    expect_absolute("x", "/x");
    assert_int_equal(chdir(current_folder), 0);
}

static void a_private_work_dir_lasts_until_stop(void **state)
{
    (void)state;
    table->destroy(instance);
    create("{\"work_dir\": null}");
    assert_int_equal(table->start(instance, NULL), CODE_EXECUTOR_OK);
    struct stat status;
    assert_int_equal(stat(fake.work_dir, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    char first[4096];
    strcpy(first, fake.work_dir);
    assert_int_equal(table->stop(instance, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(stat(first, &status), -1);
    assert_int_equal(table->start(instance, NULL), CODE_EXECUTOR_OK);
    assert_string_not_equal(fake.work_dir, first);
    strcpy(first, fake.work_dir);
    table->destroy(instance);
    assert_int_equal(stat(first, &status), -1);
    create("{}");
}

static void a_private_work_dir_outlives_a_launch_that_fails(void **state)
{
    (void)state;
    table->destroy(instance);
    create("{\"work_dir\": null}");
    assert_int_equal(table->start(instance, NULL), CODE_EXECUTOR_OK);
    char first[4096];
    strcpy(first, fake.work_dir);
    shutdown(fake.runner->fd, SHUT_RDWR); /* lost */
    atomic_store(&fake.behaviour, FAILS);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(table->restart(instance, NULL), CODE_EXECUTOR_UNAVAILABLE);
        assert_int_equal(access(first, F_OK), 0);
    }
    atomic_store(&fake.behaviour, SUCCEEDS);
    assert_int_equal(table->restart(instance, NULL), CODE_EXECUTOR_OK);
    assert_string_equal(fake.work_dir, first);
    shutdown(fake.runner->fd, SHUT_RDWR);
    atomic_store(&fake.behaviour, FAILS);
    assert_int_equal(table->restart(instance, NULL), CODE_EXECUTOR_UNAVAILABLE);
    assert_int_equal(table->stop(instance, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(access(first, F_OK), -1);
}

static void a_private_work_dir_outlives_what_is_launched_anew(void **state)
{
    (void)state;
    table->destroy(instance);
    atomic_store(&fake.binds, true);
    create("{\"work_dir\": null}");
    struct call call = {.id = 5};
    call_now(&call);
    char first[4096];
    strcpy(first, fake.work_dir);
    shutdown(fake.runner->fd, SHUT_RDWR); /* lost */
    call_now(&call);
    assert_int_equal(atomic_load(&fake.launches), 2);
    assert_string_equal(fake.work_dir, first);
    atomic_store(&fake.relaunches, true);
    assert_int_equal(table->restart(instance, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(atomic_load(&fake.launches), 3);
    assert_string_equal(fake.work_dir, first);
    assert_int_equal(private_folder_remove(first, NULL), CODE_EXECUTOR_OK);
    call_now(&call);
    assert_int_equal(atomic_load(&fake.launches), 4);
    assert_string_not_equal(fake.work_dir, first);
    assert_int_equal(table->stop(instance, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(access(fake.work_dir, F_OK), -1);
}

/* ------------------------------------------------------------------------------------------------
 * Cancelling a launch
 * --------------------------------------------------------------------------------------------- */

static void cancel_of_all_ends_a_launch_and_those_that_wait_for_it(void **state)
{
    (void)state;
    struct call calls[4];
    atomic_store(&fake.behaviour, WAITS);
    for (uint64_t i = 0; i < 4; i++)
        call_begin(&calls[i], i);
    await_value(&fake.launches, 1);
    let_them_wait();
    assert_int_equal(table->cancel(instance, 0, NULL), CODE_EXECUTOR_OK);
    for (int i = 0; i < 4; i++) {
        call_join(&calls[i]);
        assert_int_equal(calls[i].status, CODE_EXECUTOR_CANCELLED);
        assert_int_equal(calls[i].outcome, -1);
    }
    assert_int_equal(atomic_load(&fake.launches), 1);
}

static void another_goes_on_where_the_one_that_launches_is_cancelled(void **state)
{
    (void)state;
    struct call first;
    struct call second;
    atomic_store(&fake.behaviour, WAITS);
    call_begin(&first, 1);
    await_value(&fake.launches, 1);
    call_begin(&second, 2);
    let_them_wait();
    assert_int_equal(table->cancel(instance, 1, NULL), CODE_EXECUTOR_OK);
    call_join(&first);
    assert_int_equal(first.status, CODE_EXECUTOR_CANCELLED);
    await_value(&fake.launches, 2);
    atomic_store(&fake.behaviour, SUCCEEDS);
    call_join(&second);
    assert_int_equal(second.status, CODE_EXECUTOR_OK);
    assert_int_equal(second.outcome, CODE_EXECUTOR_OUTCOME_COMPLETED);
}

static void one_that_waits_is_cancelled_alone(void **state)
{
    (void)state;
    struct call first;
    struct call second;
    atomic_store(&fake.behaviour, WAITS);
    call_begin(&first, 1);
    await_value(&fake.launches, 1);
    call_begin(&second, 2);
    let_them_wait();
    assert_int_equal(table->cancel(instance, 2, NULL), CODE_EXECUTOR_OK);
    call_join(&second);
    assert_int_equal(second.status, CODE_EXECUTOR_CANCELLED);
    atomic_store(&fake.behaviour, SUCCEEDS);
    call_join(&first);
    assert_int_equal(first.outcome, CODE_EXECUTOR_OUTCOME_COMPLETED);
    assert_int_equal(atomic_load(&fake.launches), 1);
}

static void stop_ends_a_launch_and_nobody_starts_again(void **state)
{
    (void)state;
    struct call calls[4];
    atomic_store(&fake.behaviour, WAITS);
    for (uint64_t i = 0; i < 4; i++)
        call_begin(&calls[i], i);
    await_value(&fake.launches, 1);
    let_them_wait();
    assert_int_equal(table->stop(instance, NULL), CODE_EXECUTOR_OK);
    for (int i = 0; i < 4; i++) {
        call_join(&calls[i]);
        assert_int_equal(calls[i].status, CODE_EXECUTOR_CANCELLED);
    }
    assert_int_equal(atomic_load(&fake.launches), 1);
    assert_int_equal(atomic_load(&fake.shut_downs), 0);
}

static void *restart_on_thread(void *status)
{
    *(int32_t *)status = table->restart(instance, NULL);
    return NULL;
}

static void restart_ends_executions_that_wait_but_no_start(void **state)
{
    (void)state;
    struct call executing;
    struct call starting;
    atomic_store(&fake.behaviour, WAITS);
    call_begin(&executing, 1); /* launches */
    await_value(&fake.launches, 1);
    call_begin(&starting, 0);
    let_them_wait();
    pthread_t thread;
    int32_t status = -1;
    assert_int_equal(pthread_create(&thread, NULL, restart_on_thread, &status), 0);
    call_join(&executing);
    assert_int_equal(executing.status, CODE_EXECUTOR_CANCELLED);
    await_value(&fake.launches, 2); /* the start's or the restart's */
    atomic_store(&fake.behaviour, SUCCEEDS);
    pthread_join(thread, NULL);
    call_join(&starting);
    assert_int_equal(status, CODE_EXECUTOR_OK);
    assert_int_equal(starting.status, CODE_EXECUTOR_OK);
    assert_int_equal(atomic_load(&fake.launches), 2);
}

/* ------------------------------------------------------------------------------------------------
 * Stopping, restarting, losing
 * --------------------------------------------------------------------------------------------- */

static void stop_tells_what_could_not_be_removed(void **state)
{
    (void)state;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    assert_int_equal(table->start(instance, NULL), CODE_EXECUTOR_OK);
    atomic_store(&fake.fails_to_shut_down, true);
    assert_int_equal(table->stop(instance, &error), CODE_EXECUTOR_IO);
    assert_string_equal(error.message, "something is left");
    assert_int_equal(table->stop(instance, &error), CODE_EXECUTOR_OK);
    assert_int_equal(atomic_load(&fake.lost), 0);
}

static void restart_keeps_an_environment_that_can_be_reset(void **state)
{
    (void)state;
    assert_int_equal(table->start(instance, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(table->restart(instance, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(atomic_load(&fake.launches), 1);
}

static void restart_launches_anew_where_the_launcher_wants_it(void **state)
{
    (void)state;
    atomic_store(&fake.relaunches, true);
    assert_int_equal(table->start(instance, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(table->restart(instance, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(atomic_load(&fake.launches), 2);
    assert_int_equal(atomic_load(&fake.shut_downs), 1);
    assert_int_equal(atomic_load(&fake.lost), 0);
}

static void a_reset_without_an_answer_can_be_cancelled(void **state)
{
    (void)state;
    assert_int_equal(table->start(instance, NULL), CODE_EXECUTOR_OK);
    atomic_store(&fake.answers_reset, false);
    pthread_t thread;
    int32_t status = -1;
    assert_int_equal(pthread_create(&thread, NULL, restart_on_thread, &status), 0);
    let_them_wait();
    assert_int_equal(table->cancel(instance, 0, NULL), CODE_EXECUTOR_OK);
    pthread_join(thread, NULL);
    assert_int_equal(status, CODE_EXECUTOR_CANCELLED);
    assert_int_equal(atomic_load(&fake.shut_downs), 1);
    assert_int_equal(table->start(instance, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(atomic_load(&fake.launches), 2);
}

static void a_lost_environment_is_launched_anew(void **state)
{
    (void)state;
    struct call call = {.id = 5};
    call_now(&call);
    assert_int_equal(call.outcome, CODE_EXECUTOR_OUTCOME_COMPLETED);
    shutdown(fake.runner->fd, SHUT_RDWR);
    char *json;
    assert_int_equal(table->describe(instance, &json, NULL), CODE_EXECUTOR_OK);
    assert_non_null(strstr(json, "\"state\":\"lost\""));
    table->string_free(json);
    call_now(&call);
    assert_int_equal(call.outcome, CODE_EXECUTOR_OUTCOME_COMPLETED);
    assert_int_equal(atomic_load(&fake.launches), 2);
    assert_int_equal(atomic_load(&fake.shut_downs), 1);
    assert_int_equal(atomic_load(&fake.lost), 1);
    assert_non_null(strstr(logged, "lost"));
}

static void a_bound_work_dir_that_was_replaced_is_bound_anew(void **state)
{
    (void)state;
    table->destroy(instance);
    atomic_store(&fake.binds, true);
    create("{\"work_dir\": \"bound\"}");
    struct call call = {.id = 5};
    call_now(&call);
    call_now(&call);
    assert_int_equal(atomic_load(&fake.launches), 1);
    assert_int_equal(rename("bound", "moved"), 0);
    call_now(&call);
    assert_int_equal(call.outcome, CODE_EXECUTOR_OUTCOME_COMPLETED);
    assert_int_equal(atomic_load(&fake.launches), 2);
    assert_int_equal(atomic_load(&fake.lost), 0);
    assert_non_null(strstr(logged, "replaced"));
    assert_int_equal(access("bound", F_OK), 0);
}

static void stop_and_restart_end_what_runs(void **state)
{
    (void)state;
    for (int round = 0; round < 2; round++) {
        struct call call = {.id = 5, .stays = true};
        int before = atomic_load(&fake.launches);
        assert_int_equal(pthread_create(&call.thread, NULL, call_on_thread, &call), 0);
        if (round == 0)
            await_value(&fake.launches, before + 1);
        let_them_wait();
        assert_int_equal(round == 0 ? table->restart(instance, NULL) : table->stop(instance, NULL),
                         CODE_EXECUTOR_OK);
        call_join(&call);
        assert_true(call.outcome == CODE_EXECUTOR_OUTCOME_CANCELLED ||
                    call.status == CODE_EXECUTOR_CANCELLED);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Private folders
 * --------------------------------------------------------------------------------------------- */

/* Deeper than a path can be long. */
static void nest_deeply(const char *path)
{
    int folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 5000; i++) {
        assert_int_equal(mkdirat(folder, "d", 0700), 0);
        int inner = openat(folder, "d", O_PATH | O_DIRECTORY | O_CLOEXEC);
        close(folder);
        folder = inner;
    }
    assert_int_equal(mkdirat(folder, "end", 0700), 0);
    close(folder);
}

static void make_old(const char *path)
{
    const struct timespec long_ago[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    assert_int_equal(utimensat(AT_FDCWD, path, long_ago, 0), 0);
}

static void what_a_killed_host_has_left_goes_with_the_next_private_folder(void **state)
{
    (void)state;
    char *left, *young, *locked, *next;
    assert_int_equal(private_folder_make(&left, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(private_folder_make(&young, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(private_folder_make(&locked, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(private_folder_make(&next, NULL), CODE_EXECUTOR_OK);
    int lock = private_folder_hold(locked);
    assert_true(lock >= 0);
    make_old(left);
    make_old(locked);
    private_folder_sweep(next);
    assert_int_equal(access(left, F_OK), -1);
    assert_int_equal(access(young, F_OK), 0);
    assert_int_equal(access(locked, F_OK), 0);
    fork_guard_close(lock);
    private_folder_sweep(next);
    assert_int_equal(access(locked, F_OK), -1);
    assert_int_equal(private_folder_remove(young, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(private_folder_remove(next, NULL), CODE_EXECUTOR_OK);
    free(left);
    free(young);
    free(locked);
    free(next);
}

static void a_private_folder_in_use_is_not_taken_for_a_left_one(void **state)
{
    (void)state;
    table->destroy(instance);
    create("{\"work_dir\": null}");
    assert_int_equal(table->start(instance, NULL), CODE_EXECUTOR_OK);
    make_old(fake.work_dir);
    char *next;
    assert_int_equal(private_folder_make(&next, NULL), CODE_EXECUTOR_OK);
    private_folder_sweep(next);
    assert_int_equal(access(fake.work_dir, F_OK), 0);
    assert_int_equal(private_folder_remove(next, NULL), CODE_EXECUTOR_OK);
    free(next);
}

static void a_private_folder_is_removed_whatever_is_in_it(void **state)
{
    (void)state;
    char *path;
    char command[16384];
    assert_int_equal(private_folder_make(&path, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(mkdir("outside", 0700), 0);
    assert_int_equal(mkdir("outside/kept", 0700), 0);
    snprintf(command, sizeof command,
             "cd %s && mkdir -p a/b/c/d .hidden && touch a/f a/b/f a/b/c/d/f '..1' "
             "&& ln -s %s/outside link && ln -s %s/outside a/b/link && mkfifo a/fifo && "
             "mkdir -m 0 a/closed && mkdir -p a/full/x && chmod 0500 a/full",
             path, current_folder, current_folder);
    assert_int_equal(system(command), 0);
    nest_deeply(path);
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    assert_int_equal(private_folder_remove(path, &error), CODE_EXECUTOR_OK);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(access("outside/kept", F_OK), 0);
    assert_int_equal(private_folder_remove(path, &error), CODE_EXECUTOR_OK);
    free(path);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    strcpy(current_folder, "/tmp/code_executor_unit-XXXXXX");
    if (!mkdtemp(current_folder) || chdir(current_folder) != 0)
        return 1;
    const struct CMUnitTest tests[] = {
        TEST(concurrent_starts_share_one_launch),
        TEST(those_that_wait_share_a_failure),
        TEST(a_runner_that_does_not_answer_is_shut_down),
        TEST(the_work_dir_is_made_but_not_its_parents),
        TEST(the_work_dir_is_that_of_create),
        cmocka_unit_test(paths_are_made_absolute),
        TEST(a_private_work_dir_lasts_until_stop),
        TEST(a_private_work_dir_outlives_a_launch_that_fails),
        TEST(a_private_work_dir_outlives_what_is_launched_anew),
        TEST(cancel_of_all_ends_a_launch_and_those_that_wait_for_it),
        TEST(another_goes_on_where_the_one_that_launches_is_cancelled),
        TEST(one_that_waits_is_cancelled_alone),
        TEST(stop_ends_a_launch_and_nobody_starts_again),
        TEST(restart_ends_executions_that_wait_but_no_start),
        TEST(stop_tells_what_could_not_be_removed),
        TEST(restart_keeps_an_environment_that_can_be_reset),
        TEST(restart_launches_anew_where_the_launcher_wants_it),
        TEST(a_reset_without_an_answer_can_be_cancelled),
        TEST(a_lost_environment_is_launched_anew),
        TEST(a_bound_work_dir_that_was_replaced_is_bound_anew),
        TEST(stop_and_restart_end_what_runs),
        TEST(a_private_folder_in_use_is_not_taken_for_a_left_one),
        cmocka_unit_test(what_a_killed_host_has_left_goes_with_the_next_private_folder),
        cmocka_unit_test(a_private_folder_is_removed_whatever_is_in_it),
    };
    int failed = cmocka_run_group_tests_name("lifecycle", tests, NULL, NULL);
    char command[4200];
    snprintf(command, sizeof command, "rm -r %s", current_folder);
    return chdir("/") == 0 && system(command) == 0 ? failed : 1;
}
