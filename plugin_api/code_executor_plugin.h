/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_executor_plugin.h: all of an executor but the work, for who writes one in C or C++.
 *
 * You write a function that runs one block, and get the whole of version 1 of the ABI round it:
 *
 *     static int32_t run(void *state, code_executor_run *run, code_executor_error *error)
 *     {
 *         code_executor_print(run, CODE_EXECUTOR_STREAM_STDOUT, "%zu bytes\n", run->code_length);
 *         return CODE_EXECUTOR_OK;
 *     }
 *     static const code_executor_work work = {run, "within the host", 0, NULL, NULL, NULL, NULL};
 *     CODE_EXECUTOR_PLUGIN(work, "count", "1.0", "Counts bytes", "{\"type\": \"object\"}")
 *
 *     host ─▶ execute ─▶ checks the request, enters it as in flight
 *                        for each block: on_begin ─▶ run ─▶ code_executor_write ─▶ on_output, result
 *             cancel ──▶ marks what is in flight ─▶ interrupt; code_executor_stopped is true from then on
 *
 * It sees to: requests that are wrong or newer than this header; blocks in order up to the first failure;
 * callbacks; outputs kept within a bound, apart and joined; time limits, for a run that looks at
 * code_executor_stopped; cancel, stop and restart from other threads; execution ids; results and their memory; a forked host. It needs POSIX threads, and no
 * library. An executor that runs commands is better built on the launcher of plugins/commandline, which
 * does that in the same way for every place where a command can run.
 *
 * Everything is static: include it in one file of the plugin. What stands behind the ABI's calls is in
 * code_executor_plugin_calls.h, which this header includes.
 */
#ifndef CODE_EXECUTOR_PLUGIN_H
#define CODE_EXECUTOR_PLUGIN_H

#include "code_executor.h"
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
#define CODE_EXECUTOR_CAST(type, value) static_cast<type>(value)
#else
#define CODE_EXECUTOR_CAST(type, value) ((type)(value))
#endif

/* How much of each of stdout, stderr and output of a block a result keeps. */
#define CODE_EXECUTOR_KEPT_BYTES CODE_EXECUTOR_CAST(size_t, 10 * 1024 * 1024)

/* ------------------------------------------------------------------------------------------------
 * What you write
 * --------------------------------------------------------------------------------------------- */

/* Output as it is kept: the first half stays, the second is a ring of the newest bytes. */
typedef struct code_executor_kept {
    char *bytes;
    size_t used;     /* of the buffer */
    size_t capacity; /* of the buffer */
    size_t next;     /* where the ring goes on, once it is full */
    uint64_t total;  /* bytes that came */
} code_executor_kept;

/* An execute in flight. */
typedef struct code_executor_flight {
    struct code_executor_flight *next;
    uint64_t id;
    bool cancelled;
} code_executor_flight;

/* One block that runs. Read what is above the line, set what is below it. */
typedef struct code_executor_run {
    const code_executor_host *host; /* what create was given; its members may be NULL */
    const code_executor_request *request;
    const code_executor_block *block;
    size_t index;     /* of the block */
    const char *code; /* the block's, but never NULL */
    size_t code_length;
    /* ---- */
    int32_t exit_code; /* 0 before; not 0 ends the execution behind this block */
    int32_t
        outcome; /* CODE_EXECUTOR_OUTCOME_COMPLETED before; SAVED and REFUSED (exit code 1) are yours to set */
    /* ---- of this header */
    code_executor_instance *instance;
    code_executor_flight *flight;
    bool late;
    int64_t began_ns;
    int64_t limit_ns;
    code_executor_kept kept[4]; /* by enum code_executor_stream; 0: all of them */
} code_executor_run;

typedef struct code_executor_work {
    /* Runs run->block. May be called on several threads at once. What is returned is a failure of the
     * executor, never of the code: that is run->exit_code and output. */
    int32_t (*run)(void *state, code_executor_run *run, code_executor_error *error);
    const char *isolation; /* one line for describe */
    double timeout;        /* seconds a block may take where the request does not say; 0: 60 */
    /* Reads the configuration, an object at first sight, into *STATE; INVALID for what is not in the schema.
     * NULL: there is nothing to configure, and STATE is NULL. */
    int32_t (*open)(const code_executor_host *host, const char *config_json, void **state,
                    code_executor_error *error);
    /* Of a state that open has made, also where open failed. May be NULL. */
    void (*close)(void *state);
    /* Called by cancel and stop, on any thread: the run of EXECUTION_ID (0: every one) that waits for
     * something shall look at code_executor_stopped now. It may come just before the run waits, and does
     * not come when the time is up: wait no longer than code_executor_remaining. May be NULL where run
     * looks often enough by itself. */
    void (*interrupt)(void *state, uint64_t execution_id);
    const void *(*get_extension)(void *state, const char *id); /* may be NULL */
} code_executor_work;

/* Fills ERROR, which may be NULL, as far as it reaches, and returns STATUS. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
static inline int32_t
code_executor_set_error(code_executor_error *error, int32_t status, const char *format, ...)
{
    code_executor_error whole = CODE_EXECUTOR_ERROR_INIT;
    const size_t before = sizeof whole - sizeof whole.message;
    if (error == NULL || error->struct_size <= before)
        return status;
    size_t room = error->struct_size - before;
    room = room < sizeof whole.message ? room : sizeof whole.message;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(whole.message, sizeof whole.message, format, arguments);
    va_end(arguments);
    size_t kept = length < 0 ? 0 : CODE_EXECUTOR_CAST(size_t, length);
    if (kept >= room) /* never in the middle of a character */
        for (kept = room - 1; kept > 0 && (whole.message[kept] & 0xc0) == 0x80;)
            kept--;
    memcpy(error->message, whole.message, kept);
    error->message[kept] = '\0';
    error->status = status;
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Output
 * --------------------------------------------------------------------------------------------- */

static inline void code_executor_keep(code_executor_kept *kept, const char *bytes, size_t length)
{
    const size_t half = CODE_EXECUTOR_KEPT_BYTES / 2;
    kept->total += length;
    if (kept->used + length > kept->capacity && kept->capacity < CODE_EXECUTOR_KEPT_BYTES) {
        size_t capacity = 2 * (kept->used + length);
        capacity = capacity < CODE_EXECUTOR_KEPT_BYTES ? capacity : CODE_EXECUTOR_KEPT_BYTES;
        char *grown = CODE_EXECUTOR_CAST(char *, realloc(kept->bytes, capacity));
        if (grown == NULL)
            return;
        kept->bytes = grown;
        kept->capacity = capacity;
    }
    size_t room = kept->capacity - kept->used;
    size_t taken = length < room ? length : room;
    if (taken > 0)
        memcpy(kept->bytes + kept->used, bytes, taken);
    kept->used += taken;
    bytes += taken;
    length -= taken;
    if (length > half) {
        bytes += length - half;
        length = half;
    }
    while (length > 0 && kept->used == CODE_EXECUTOR_KEPT_BYTES) {
        size_t piece = half - kept->next < length ? half - kept->next : length;
        memcpy(kept->bytes + half + kept->next, bytes, piece);
        kept->next = (kept->next + piece) % half;
        bytes += piece;
        length -= piece;
    }
}

/* What was kept, as text of its own to be freed, with a line where bytes are missing; empties KEPT. */
static inline char *code_executor_take(code_executor_kept *kept, size_t *length, uint64_t *dropped)
{
    const size_t half = CODE_EXECUTOR_KEPT_BYTES / 2;
    char line[80] = "";
    *dropped = kept->total - kept->used;
    bool cut = *dropped > 0 && kept->used == CODE_EXECUTOR_KEPT_BYTES;
    if (cut)
        snprintf(line, sizeof line, "\n[... %llu bytes dropped ...]\n",
                 CODE_EXECUTOR_CAST(unsigned long long, *dropped));
    size_t head = cut ? half : kept->used, extra = strlen(line);
    char *text = CODE_EXECUTOR_CAST(char *, malloc(kept->used + extra + 1));
    if (text != NULL) {
        size_t newest = cut ? kept->next : 0, oldest = cut ? half - newest : 0;
        if (head > 0)
            memcpy(text, kept->bytes, head);
        memcpy(text + head, line, extra);
        if (cut) {
            memcpy(text + head + extra, kept->bytes + half + newest, oldest);
            memcpy(text + head + extra + oldest, kept->bytes + half, newest);
        }
        text[kept->used + extra] = '\0';
    }
    *length = kept->used + extra;
    free(kept->bytes);
    memset(kept, 0, sizeof *kept);
    return text;
}

/* ------------------------------------------------------------------------------------------------
 * What run calls, on the thread on which it was called: callbacks of the host's come on no other
 * --------------------------------------------------------------------------------------------- */

struct code_executor_instance {
    const code_executor_v1 *table;
    const code_executor_work *work;
    code_executor_host host;
    void *state;
    pid_t owner;
    bool started;
    pthread_mutex_t lock;
    pthread_cond_t landed;
    code_executor_flight *flights;
};

static inline int64_t code_executor_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return CODE_EXECUTOR_CAST(int64_t, now.tv_sec) * 1000000000 + now.tv_nsec;
}

/* Whether run shall return: the execution was cancelled or its time is up. What becomes of exit_code and
 * outcome then is not run's affair. */
static inline bool code_executor_stopped(code_executor_run *run)
{
    pthread_mutex_lock(&run->instance->lock);
    bool cancelled = run->flight->cancelled;
    pthread_mutex_unlock(&run->instance->lock);
    run->late = run->late || code_executor_now_ns() - run->began_ns >= run->limit_ns;
    return cancelled || run->late;
}

/* Seconds that run may still wait for something, 0 where it shall return: nobody else ends a wait when the
 * time is up. */
static inline double code_executor_remaining(code_executor_run *run)
{
    if (code_executor_stopped(run))
        return 0;
    return CODE_EXECUTOR_CAST(double, run->limit_ns - (code_executor_now_ns() - run->began_ns)) /
           1e9;
}

/* LENGTH bytes of output on STREAM (enum code_executor_stream; stdout where it is none of them). Returns
 * code_executor_stopped. */
static inline bool code_executor_write(code_executor_run *run, int32_t stream, const char *bytes,
                                       size_t length)
{
    const code_executor_request *request = run->request;
    if (stream < CODE_EXECUTOR_STREAM_STDOUT || stream > CODE_EXECUTOR_STREAM_EXECUTOR)
        stream = CODE_EXECUTOR_STREAM_STDOUT;
    if (length > 0) {
        code_executor_keep(&run->kept[0], bytes, length);
        code_executor_keep(&run->kept[stream], bytes, length);
        if (request->on_output != NULL &&
            request->on_output(request->user_data, run->index, stream, bytes, length) != 0) {
            pthread_mutex_lock(&run->instance->lock);
            run->flight->cancelled = true;
            pthread_mutex_unlock(&run->instance->lock);
        }
    }
    return code_executor_stopped(run);
}

/* The same by a format of printf. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
static inline bool
code_executor_print(code_executor_run *run, int32_t stream, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = NULL;
    size_t size = length < 0 ? 0 : CODE_EXECUTOR_CAST(size_t, length);
    if (length >= 0)
        text = CODE_EXECUTOR_CAST(char *, malloc(size + 1));
    if (text == NULL)
        return code_executor_stopped(run);
    va_start(arguments, format);
    vsnprintf(text, size + 1, format, arguments);
    va_end(arguments);
    bool stopped = code_executor_write(run, stream, text, size);
    free(text);
    return stopped;
}

/* ------------------------------------------------------------------------------------------------
 * The plugin
 * --------------------------------------------------------------------------------------------- */

#include "code_executor_plugin_calls.h"

/* Defines the vtable of the executor NAME whose code is WORK, a code_executor_work, and the entry. */
#define CODE_EXECUTOR_PLUGIN(work, name, version, description, config_schema)                      \
    static int32_t plugin_create(const code_executor_host *host, const char *config_json,          \
                                 code_executor_instance **instance, code_executor_error *error);   \
    static const void *plugin_get_extension(code_executor_instance *instance, const char *id)      \
    {                                                                                              \
        return code_executor_plugin_get_extension(instance, &(work), id);                          \
    }                                                                                              \
    static const code_executor_v1 plugin_table = {sizeof(code_executor_v1),                        \
                                                  CODE_EXECUTOR_ABI_VERSION,                       \
                                                  0,                                               \
                                                  name,                                            \
                                                  version,                                         \
                                                  description,                                     \
                                                  config_schema,                                   \
                                                  plugin_create,                                   \
                                                  code_executor_plugin_start,                      \
                                                  code_executor_plugin_stop,                       \
                                                  code_executor_plugin_restart,                    \
                                                  code_executor_plugin_execute,                    \
                                                  code_executor_plugin_cancel,                     \
                                                  code_executor_plugin_describe,                   \
                                                  code_executor_plugin_result_free,                \
                                                  code_executor_plugin_string_free,                \
                                                  code_executor_plugin_destroy,                    \
                                                  plugin_get_extension};                           \
    static int32_t plugin_create(const code_executor_host *host, const char *config_json,          \
                                 code_executor_instance **instance, code_executor_error *error)    \
    {                                                                                              \
        return code_executor_plugin_create(&plugin_table, &(work), host, config_json, instance,    \
                                           error);                                                 \
    }                                                                                              \
    CODE_EXECUTOR_PLUGIN_ENTRY                                                                     \
    {                                                                                              \
        return &plugin_table;                                                                      \
    }

#ifdef __cplusplus
#define CODE_EXECUTOR_PLUGIN_ENTRY                                                                 \
    extern "C" CODE_EXECUTOR_EXPORT const code_executor_v1 *code_executor_plugin_v1(void)
#else
#define CODE_EXECUTOR_PLUGIN_ENTRY                                                                 \
    CODE_EXECUTOR_EXPORT const code_executor_v1 *code_executor_plugin_v1(void);                    \
    const code_executor_v1 *code_executor_plugin_v1(void)
#endif

#endif /* CODE_EXECUTOR_PLUGIN_H */
