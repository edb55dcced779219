/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_launcher.h: a plugin whose launcher counts and fails as it is told.
 */
#ifndef CODE_EXECUTOR_TESTS_FAKE_LAUNCHER_H
#define CODE_EXECUTOR_TESTS_FAKE_LAUNCHER_H

#include "fake_runner.h"
#include <code_executor.h>
#include <stdatomic.h>

/* The plugin's entry. */
CODE_EXECUTOR_EXPORT const code_executor_v1 *code_executor_plugin_v1(void);

enum behaviour {
    SUCCEEDS,
    FAILS,
    WAITS, /* until it is cancelled, or until behaviour changes */
    DEAF   /* succeeds, but the runner does not greet */
};

struct fake_launcher {
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
};
extern struct fake_launcher fake;

#endif /* CODE_EXECUTOR_TESTS_FAKE_LAUNCHER_H */
