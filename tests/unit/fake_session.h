/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_session.h: a session that only notes what it is asked to run and answers what the test has laid out.
 */
#ifndef CODE_EXECUTOR_TESTS_FAKE_SESSION_H
#define CODE_EXECUTOR_TESTS_FAKE_SESSION_H

#include "runner/protocol.h"
#include "session.h"

struct session_canceller {
    bool cancelled;
};

/* An answer to one command. */
struct answer {
    const char *out;
    const char *err;
    session_exit exit;
    int32_t status; /* what session_run returns */
};

extern struct answer answers[8];
extern size_t answered;
extern char commands[2000]; /* the first candidates, a line each */
extern session_command last;
extern char last_environment[2000];
extern char last_programs[100];
extern bool last_file_was_there;
extern char work[64];
extern struct session_canceller canceller;

#endif /* CODE_EXECUTOR_TESTS_FAKE_SESSION_H */
