/* SPDX-License-Identifier: Apache-2.0 */
/*
 * container.h: one container, from its creation to its end.
 *
 *     create ─▶ watch ─▶ (attach.h) ─▶ start ─▶ … ─▶ await_end ─▶ remove
 *
 * watch opens the request that answers with the exit code when the container has ended, or, where the
 * engine removes it by itself, has been removed. It is asked before start, because afterwards the
 * container may be gone with all that could be asked about it. Beside that the engine tells what others do
 * to it (events.h).
 */
#ifndef CODE_EXECUTOR_DOCKER_CONTAINER_H
#define CODE_EXECUTOR_DOCKER_CONTAINER_H

#include "engine.h"
#include "events.h"
#include <stdatomic.h>

#define CONTAINER_ID_SIZE 72

struct container {
    struct engine *engine;
    char id[CONTAINER_ID_SIZE]; /* empty: there is none */
    char name[256];
    char exec_id[CONTAINER_ID_SIZE]; /* of a runner beside its first process; else empty */
    bool auto_remove;
    bool removal_awaited;  /* ->ended means that it is gone, too */
    char warning[256];     /* what the engine said when it made it, may be empty */
    http_transfer *ending; /* the open request of watch, or NULL */
    struct events *events; /* likewise, or NULL */
    atomic_int news;    /* what is readable when there are events, for poll on any thread; or -1 */
    atomic_bool direct; /* frames do not go through the engine (rendezvous.h) */
    bool started;
    bool ended;
    int64_t exit_code;                 /* valid once ended; -1: not known */
    char end_words[ENGINE_WORDS_SIZE]; /* what the engine said of the end, may be empty */
};

/* What create came to besides a status. */
enum create_result {
    CREATE_OK,
    CREATE_NO_IMAGE, /* NOT_FOUND, and the image is what is missing */
    CREATE_FAILED
};

/*
 * Makes a container called NAME from BODY; PLATFORM may be NULL. CONTAINER->engine and ->auto_remove are
 * set by the caller. When cancelled it waits for the engine all the same, for a moment, so as not to
 * leave behind a container that it does not know of; what is left even so has the launch's label.
 */
enum create_result container_create(struct container *container, const char *name,
                                    const char *platform, json_object *body, int32_t *status,
                                    code_executor_error *error);

/* Opens the requests for its end and its events. */
int32_t container_watch(struct container *container, code_executor_error *error);
/* Waits until the engine has taken them in. */
int32_t container_watched(struct container *container, code_executor_error *error);

/* WORDS gets the engine's words when it refuses, for who knows more about them. */
int32_t container_start(struct container *container, char words[ENGINE_WORDS_SIZE],
                        code_executor_error *error);

/* Waits for the end, LIMIT_MS at most. OK: ->ended says whether it came. LOST: the engine is gone. */
int32_t container_await_end(struct container *container, int limit_ms, code_executor_error *error);

/* SIGKILL to what runs in it; it stays unless the engine removes it by itself. */
int32_t container_kill(struct container *container, code_executor_error *error);

/* Ends and removes it, with its anonymous volumes; one that is not there is a success. Afterwards
 * ->id is empty. */
int32_t container_remove(struct container *container, code_executor_error *error);

/* Breaks off what is open, and leaves the container as it is. */
void container_let_go(struct container *container);

/* Whether it has been paused since it was started, as far as the engine has told. Does not wait. */
bool container_is_paused(struct container *container);

/* What became of a container that no longer answers: "was stopped from outside (docker stop): exit code 137",
 * into WORDS. Waits for the engine to say, for a moment. */
void container_describe_end(struct container *container, char *words, size_t size);

/* What is at PATH, which has no character that a query would escape, also in a container that has not been
 * started: its size, or -1 where there is nothing. DOING: for the engine's refusal. */
int32_t container_look(const struct container *container, const char *path, const char *doing,
                       int64_t *size, code_executor_error *error);

#endif /* CODE_EXECUTOR_DOCKER_CONTAINER_H */
