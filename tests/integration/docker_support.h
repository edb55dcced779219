/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_support.h: what the tests of the docker executor share: the plugin, loaded as a host loads it; an
 * instance that fails the test when a call fails; and an engine of our own to look behind its back.
 */
#ifndef CODE_EXECUTOR_TEST_DOCKER_SUPPORT_H
#define CODE_EXECUTOR_TEST_DOCKER_SUPPORT_H

#include "engine.h"
#include <code_executor.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The plugin's table; loaded by docker_test_main. */
extern const code_executor_v1 *docker;
extern const char *const docker_plugin_path;

/* A connection to the same engine, for the test's own questions. */
extern struct engine *engine;

/* A temporary folder that containers can bind; removed at the end. */
extern char workspace[256];

/* Runs the group: exits with 77 and a reason where no engine answers or it has no image. */
struct CMUnitTest;
int docker_test_main(const char *name, const struct CMUnitTest *tests, size_t count);

/* The same, with what comes before the first test and behind the last. */
int docker_test_group(const char *name, const struct CMUnitTest *tests, size_t count,
                      int (*set_up)(void **), int (*tear_down)(void **));

/* What main returns in place of them where something is missing: a reason why they are skipped. */
int docker_test_skip(const char *reason);

/* An instance configured by the members of a JSON object, in single quotes; a label is added, and
 * work_dir where it is not among them. Fails the test when create does. */
code_executor_instance *make_instance(const char *members_format, ...)
    __attribute__((format(printf, 1, 2)));

void start(code_executor_instance *instance);

/* Runs one block; the result is the caller's. Fails the test when execute does. */
code_executor_result *run(code_executor_instance *instance, const char *language, const char *code);

/* One block, and what comes with it; what is not said is nothing. */
struct shell {
    const char *code;
    const char *input; /* of INPUT_LENGTH */
    size_t input_length;
    uint64_t id; /* 0: 1 */
    int32_t (*on_output)(void *user_data, size_t block, int32_t stream, const char *bytes,
                         size_t length);
    void *user_data;
};
/* Runs it; fails no test. The result is the caller's. */
int32_t execute_shell(code_executor_instance *instance, struct shell shell,
                      code_executor_result **result, code_executor_error *error);

/* The same, and calls STRIKE on a thread of its own as soon as the code, which says something, has. */
int32_t execute_struck(code_executor_instance *instance, const char *code,
                       void (*strike)(void *argument), void *argument,
                       code_executor_result **result, code_executor_error *error);

/* Runs shell CODE and fails unless it exits with 0 and prints exactly OUTPUT. */
void expect_output(code_executor_instance *instance, const char *code, const char *output);

/* The member "container.id" (or another path) of describe, copied to TEXT; "" where there is none. */
void described(code_executor_instance *instance, const char *outer, const char *inner, char *text,
               size_t size);

/* Start fails with STATUS and all of WORDS (NULL-terminated) in its message. Destroys INSTANCE. */
void expect_start_fails(code_executor_instance *instance, int32_t status, const char *const *words);
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* A host in a process of its own: starts an instance of such MEMBERS, tells the container's NAME, and runs
 * shell CODE unless that is NULL. It lives for a minute. */
pid_t host_start(const char *members, const char *code, char name[256]);
void host_kill(pid_t host);

/* What a test that waits for something waits for at the most, on a machine that is busy. */
#define LONG_MS 120000

/* Asks the engine; the status. ANSWER may be NULL. */
long ask(const char *method, const char *path, const char *body, struct answer *answer);

/* Whether a container of that name or id exists, in any state. */
bool container_exists(const char *name);
/* Waits for it to be gone, and fails when that does not come about in a long time. */
void expect_gone(const char *name);
void expect_volume_gone(const char *name);
/* The volume that the container of INSTANCE, which has been started, has at FOLDER. */
void volume_at(code_executor_instance *instance, const char *folder, char name[128]);
/* Fails unless it is "running", "paused" … */
void expect_state(const char *name, const char *word);
/* The status of a POST request: "pause", "restart?t=0" … */
long container_tell(const char *name, const char *what);
/* By force; it need not be there. */
void container_remove(const char *name);
/* The containers that instances of make_instance have, in any state: how many, and their ids with a blank
 * behind each. */
size_t container_count(void);
void container_ids(char *ids, size_t size);
/* Waits for that to be as many; fails when it does not come about. */
void expect_container_count(size_t count);

/* Whether it is the one of scripts/test-engine, so that it may be ended, and everything in it removed. */
bool engine_is_ours(void);

/* What instances are given as their host; NULL at first. */
extern const code_executor_host *test_host;

/* Whether the engine is a Podman, and TEXT holds one of WORDS (NULL-terminated): what that does otherwise. */
bool podman_differs(const char *text, const char *const *words);

/* Sleeps so many milliseconds. */
void pause_ms(int milliseconds);
/* Seconds since some moment. */
double now(void);

/* Open descriptors of this process, and its threads. */
size_t descriptor_count(void);
size_t thread_count(void);
/* A thread that has been joined is still listed for a moment. */
void expect_thread_count(size_t count);

/* A relay between the plugin and the engine, in a process of its own. */
struct relay_options {
    size_t chunk;           /* passes on at most so many bytes at a time; 0: any number */
    int minimum_minor;      /* plays an engine that refuses versions below 1.N; 0: does not */
    int newest_minor;       /* and above 1.N; 0: eight above the minimum */
    const char *swallow;    /* requests whose path holds this are never answered */
    bool tcp;               /* is reached over a port of the loopback, not a socket */
    const char *answer_for; /* those whose head holds this are answered with ANSWER */
    const char *answer;
};
struct relay {
    int pid;
    atomic_int *swallowed; /* how many requests, in memory that the relay shares */
    char address[300];     /* for docker_host */
};
struct relay relay_start(struct relay_options options);
/* Kills it with all its connections, as if the engine died. */
void relay_kill(struct relay *relay);

#endif /* CODE_EXECUTOR_TEST_DOCKER_SUPPORT_H */
