/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_launcher.c: see fake_launcher.h.
 */
#include "fake_launcher.h"
#include "commandline.h"
#include "config.h"
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct fake_launcher fake;

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
