/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.h: an engine that speaks Docker's API, at a version that both sides know.
 *
 * A call succeeds when the engine answers, whatever it answers: the caller looks at the status, and
 * lets engine_refusal put into words what it cannot use.
 */
#ifndef CODE_EXECUTOR_DOCKER_ENGINE_H
#define CODE_EXECUTOR_DOCKER_ENGINE_H

#include "http.h"
#include <json-c/json.h>

struct engine {
    const struct endpoint *endpoint;
    http_client *http;
    int cancel_fd;    /* gives up calls of now; -1: none */
    int limit_ms;     /* how long the engine may take over a call */
    char version[16]; /* "1.41" */
    char server[128]; /* "Docker/20.10.24 (linux)", for describe; may be empty */
    bool is_podman;   /* which answers some of Docker's calls in its own way; see podman.h */
};

/* Connects and negotiates. ENDPOINT must outlive it. UNSUPPORTED: no version that both know. */
int32_t engine_open(const struct endpoint *endpoint, int cancel_fd, struct engine **opened,
                    code_executor_error *error);
void engine_close(struct engine *engine);

/* From now on calls clean up: they can no longer be cancelled, but must not hold anybody up. */
void engine_clean_up(struct engine *engine);

/* Of the engine's words, as they are kept for a message. */
#define ENGINE_WORDS_SIZE 768

struct answer {
    long status;                     /* of HTTP */
    json_object *json;               /* NULL where the body is no JSON */
    char message[ENGINE_WORDS_SIZE]; /* the engine's own words, where it refuses; else empty */
};

void answer_clear(struct answer *answer);

/* Fills ANSWER from an answer's parts. */
void answer_read(struct answer *answer, long status, const char *body);

#define CLEANUP_ANSWER __attribute__((cleanup(answer_clear)))

/* METHOD on PATH (without the version), with BODY as JSON, or NULL. ANSWER is overwritten. */
int32_t engine_call(struct engine *engine, const char *method, const char *path, json_object *body,
                    struct answer *answer, code_executor_error *error);

/* The same in two steps, and for other bodies; REQUEST->path is without the version. */
int32_t engine_begin(struct engine *engine, http_request request, http_transfer **transfer,
                     code_executor_error *error);
int32_t engine_finish(struct engine *engine, http_transfer *transfer, int limit_ms,
                      struct answer *answer, code_executor_error *error);

/* TEXT as it stands in a query; free(). NULL: no memory. */
char *engine_escape(const char *text);

/* "cannot DOING: the engine's words", and what to do where that is known. */
int32_t engine_refusal(const struct engine *engine, const struct answer *answer, const char *doing,
                       code_executor_error *error);

#endif /* CODE_EXECUTOR_DOCKER_ENGINE_H */
