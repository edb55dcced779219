/* SPDX-License-Identifier: Apache-2.0 */
/*
 * credential_helper.c: runs the helper and reads its answer; see credential_helper.h.
 *
 * The helper is no child of ours (helper_process.h), so its exit status is not known: an object with a
 * secret is an answer, anything else is why there is none. It may leave a process behind that holds its
 * standard output (an agent that it starts), so its end is seen by its pidfd as well.
 */
#include "credential_helper.h"
#include "clock.h"
#include "fork_guard.h"
#include "helper_process.h"
#include "json.h"
#include "program_path.h"
#include "text.h"
#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRAM_PREFIX "docker-credential-"
#define ANSWER_MAX     (64 * 1024)
#define END_LIMIT_MS   1000 /* after its answer it has little left to do */

/* It may ask a person to unlock a key ring, or another machine. Overridden by tests. */
#ifndef CREDENTIAL_HELPER_LIMIT_MS
#define CREDENTIAL_HELPER_LIMIT_MS 30000
#endif

extern char **environ;

/* One question. */
struct question {
    const char *program; /* path */
    const char *name;
    const char *registry;
    int cancel_fd;
    int output; /* what it says */
    helper_process process;
    char answer[ANSWER_MAX + 1];
    size_t length;
};

/* ---- the program ------------------------------------------------------------------------------- */

static char *find_program(const char *name)
{
    char *program = NULL;
    if (strchr(name, '/') || asprintf(&program, PROGRAM_PREFIX "%s", name) < 0)
        return NULL;
    char *path = program_path(program);
    free(program);
    return path;
}

/* The registry is in the pipe, whole, before the helper starts: a pipe takes at least a page. */
static int32_t make_input(const char *registry, int *input, code_executor_error *error)
{
    int ends[2];
    size_t length = strlen(registry);
    if (length > 2048)
        return error_set(error, CODE_EXECUTOR_INVALID, "the registry's name is too long");
    if (fork_guard_pipe(ends) != 0)
        return error_set_errno(error, CODE_EXECUTOR_UNAVAILABLE, errno, "cannot make a pipe");
    bool written = write(ends[1], registry, length) == (ssize_t)length;
    fork_guard_close(ends[1]);
    *input = ends[0];
    if (written)
        return CODE_EXECUTOR_OK;
    fork_guard_close(ends[0]);
    return error_set_errno(error, CODE_EXECUTOR_IO, errno, "cannot write into a pipe");
}

static int32_t start(struct question *question, code_executor_error *error)
{
    int input = -1, output[2];
    int32_t status = make_input(question->registry, &input, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    if (fork_guard_pipe(output) != 0) {
        fork_guard_close(input);
        return error_set_errno(error, CODE_EXECUTOR_UNAVAILABLE, errno, "cannot make a pipe");
    }
    const char *const arguments[] = {question->program, "get", NULL};
    const helper_process_options options = {
        .program = question->program,
        .arguments = arguments,
        .environment = (const char *const *)environ,
        .input = input,
        .output = output[1],
    };
    status = helper_process_start(&options, &question->process, error);
    fork_guard_close(input);
    fork_guard_close(output[1]);
    question->output = output[0];
    if (status != CODE_EXECUTOR_OK)
        fork_guard_close(output[0]);
    return status;
}

/* ---- the answer -------------------------------------------------------------------------------- */

/* What is there; false: no more will come. */
static bool take(struct question *question)
{
    for (;;) {
        size_t room = ANSWER_MAX - question->length;
        ssize_t count =
            room > 0 ? read(question->output, question->answer + question->length, room) : 0;
        if (count > 0) {
            question->length += (size_t)count;
            continue;
        }
        return count < 0 && (errno == EAGAIN || errno == EINTR);
    }
}

static int32_t listen(struct question *question, code_executor_error *error)
{
    int64_t deadline_ms = now_ms() + CREDENTIAL_HELPER_LIMIT_MS;
    fcntl(question->output, F_SETFL, O_NONBLOCK);
    for (bool ended = false; !ended;) {
        struct pollfd watched[] = {
            {.fd = question->output, .events = POLLIN},
            {.fd = question->process.pidfd, .events = POLLIN},
            {.fd = question->cancel_fd, .events = POLLIN},
        };
        int64_t left = deadline_ms - now_ms();
        if (left <= 0)
            return error_set(error, CODE_EXECUTOR_TIMED_OUT,
                             PROGRAM_PREFIX "%s has not answered for %d s", question->name,
                             CREDENTIAL_HELPER_LIMIT_MS / 1000);
        if (poll(watched, 3, (int)left) <= 0)
            continue;
        if (watched[2].revents)
            return error_set(error, CODE_EXECUTOR_CANCELLED, "cancelled");
        ended = watched[1].revents != 0; /* looked at first: what it wrote is in the pipe now */
        ended = !take(question) || ended;
    }
    question->answer[question->length] = '\0';
    return CODE_EXECUTOR_OK;
}

/* Every helper that comes with docker says this, on standard output, and fails. */
static bool has_none(const char *words)
{
    return strcasestr(words, "credentials not found") != NULL;
}

/* Why there is no secret. An answer that looks like one is not quoted: it might hold a secret. */
static int32_t explain(struct question *question, json_object **auth, code_executor_error *error)
{
    char words[256], shown[256];
    const char *said = question->answer;
    if (has_none(said)) {
        *auth = NULL;
        return CODE_EXECUTOR_OK;
    }
    helper_process_words(&question->process, words, sizeof words);
    said += strspn(said, " \t\r\n");
    if (*said == '{')
        said = "its answer is not what a credential helper answers";
    else if (*said == '\0')
        said = words[0] ? words : "it says nothing";
    for (size_t end = question->length; end > 0 && question->answer[end - 1] <= ' '; end--)
        question->answer[end - 1] = '\0';
    return error_set(error, CODE_EXECUTOR_UNAVAILABLE, PROGRAM_PREFIX "%s failed: %s",
                     question->name, text_shorten(said, shown, sizeof shown));
}

/* The name <token> marks a secret that takes the place of name and password. */
static int32_t read_answer(struct question *question, json_object **auth,
                           code_executor_error *error)
{
    json_object CLEANUP_JSON *answer = json_tokener_parse(question->answer);
    const char *name = json_string(answer, "Username");
    const char *secret = json_string(answer, "Secret");
    if (!secret || !secret[0])
        return explain(question, auth, error);
    bool is_token = name && strcmp(name, "<token>") == 0;
    *auth = json_object_new_object();
    bool whole = *auth && json_put_string(*auth, "serveraddress", question->registry);
    if (is_token)
        whole = whole && json_put_string(*auth, "identitytoken", secret);
    else
        whole = whole && json_put_string(*auth, "username", name ? name : "") &&
                json_put_string(*auth, "password", secret);
    if (whole)
        return CODE_EXECUTOR_OK;
    json_object_put(*auth);
    *auth = NULL;
    return error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
}

/* ------------------------------------------------------------------------------------------------ */

static int32_t ask(struct question *question, json_object **auth, code_executor_error *error)
{
    int32_t status = start(question, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    const int32_t listened = listen(question, error);
    status = listened;
    if (status == CODE_EXECUTOR_OK)
        status = read_answer(question, auth, error);
    /* Nobody hears any more what it says: it ends now, or is ended. What it has left running by ending is its own
     * affair: an agent that keeps keys. */
    if (listened != CODE_EXECUTOR_OK || !helper_process_wait(&question->process, END_LIMIT_MS))
        helper_process_kill(&question->process);
    fork_guard_close(question->output);
    helper_process_close(&question->process);
    return status;
}

int32_t credential_helper_get(const char *name, const char *registry, int cancel_fd,
                              json_object **auth, code_executor_error *error)
{
    *auth = NULL;
    char *program = find_program(name);
    struct question *question = program ? calloc(1, sizeof *question) : NULL;
    if (!question) {
        bool found = program != NULL;
        free(program);
        return found ? error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory")
                     : error_set(error, CODE_EXECUTOR_NOT_FOUND,
                                 "there is no program " PROGRAM_PREFIX "%s in PATH", name);
    }
    question->program = program;
    question->name = name;
    question->registry = registry;
    question->cancel_fd = cancel_fd;
    int32_t status = ask(question, auth, error);
    OPENSSL_cleanse(question, sizeof *question);
    free(question);
    free(program);
    return status;
}
