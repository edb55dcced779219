/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_echo.c: an executor for the tests of hosts. It runs nothing: a block is a list of orders,
 * one a line, that it obeys within this process. It keeps the rules of code_executor.h, and is built on
 * nothing but that and strict JSON.
 *
 *     print TEXT    writes TEXT and a newline to stdout      sleep MS      waits; cancel ends it
 *     error TEXT    the same to stderr                       flood BYTES   so many x to stdout
 *     say TEXT      the executor's own words                 exit CODE     ends the block
 *     raw HEX       these bytes to stdout                    fail WORDS    the executor fails
 *     config        prints the configuration                 touch NAME    makes a file in work_dir
 *     stubborn MS   waits, whatever is cancelled             progress DONE TOTAL   of something
 *
 * Languages: echo (alias repeat) runs; note is only saved, which here means not even that. Of its
 * configuration it reads no more than work_dir.
 */
#include "plugin_echo_checks.h"
#include "plugin_echo_leftovers.h"
#include <code_executor.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

enum { MOST_KEPT = 1 << 20 };

/* One execute in flight. */
struct flight {
    struct flight *next;
    uint64_t id;
    bool cancelled;
};

struct code_executor_instance {
    code_executor_host host;
    pid_t owner;
    char *config;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct flight *flights;
    bool started;
};

/* ------------------------------------------------------------------------------------------------
 * Errors and bytes
 * --------------------------------------------------------------------------------------------- */

static int32_t check_owner(const code_executor_instance *instance, code_executor_error *error)
{
    return instance->owner == getpid()
               ? CODE_EXECUTOR_OK
               : set(error, CODE_EXECUTOR_UNSUPPORTED, "The instance is another process's.");
}

struct kept {
    char *bytes;
    size_t length;
    size_t capacity;
    uint64_t dropped;
};

static void keep(struct kept *kept, const char *bytes, size_t length)
{
    size_t room = MOST_KEPT - kept->length;
    size_t taken = length < room ? length : room;
    if (kept->length + taken + 1 > kept->capacity) {
        size_t capacity = (kept->length + taken) * 2 + 64;
        char *grown = realloc(kept->bytes, capacity);
        if (grown == NULL) {
            kept->dropped += length;
            return;
        }
        kept->bytes = grown;
        kept->capacity = capacity;
    }
    memcpy(kept->bytes + kept->length, bytes, taken);
    kept->length += taken;
    kept->bytes[kept->length] = '\0';
    kept->dropped += length - taken;
}

/* ------------------------------------------------------------------------------------------------
 * Life
 * --------------------------------------------------------------------------------------------- */

static int32_t echo_create(const code_executor_host *host, const char *config_json,
                           code_executor_instance **instance, code_executor_error *error)
{
    const char *config = config_json == NULL || *config_json == '\0' ? "{}" : config_json;
    int32_t status = host == NULL ? CODE_EXECUTOR_OK : check_size(host, sizeof *host, error);
    if (status == CODE_EXECUTOR_OK)
        status = check_config(config, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    code_executor_instance *new = calloc(1, sizeof *new);
    char *copy = strdup(config);
    if (new == NULL || copy == NULL) {
        free(new);
        free(copy);
        return set(error, CODE_EXECUTOR_NO_MEMORY, "No memory.");
    }
    new->config = copy;
    new->owner = getpid();
    if (host != NULL)
        new->host = *host;
    pthread_mutex_init(&new->lock, NULL);
    pthread_cond_init(&new->changed, NULL);
    *instance = new;
    return set(error, CODE_EXECUTOR_OK, "");
}

static int32_t echo_start(code_executor_instance *instance, code_executor_error *error)
{
    if (check_owner(instance, error) != CODE_EXECUTOR_OK)
        return CODE_EXECUTOR_UNSUPPORTED;
    pthread_mutex_lock(&instance->lock);
    instance->started = true;
    pthread_mutex_unlock(&instance->lock);
    return set(error, CODE_EXECUTOR_OK, "");
}

static int32_t echo_cancel(code_executor_instance *instance, uint64_t id,
                           code_executor_error *error)
{
    bool found = id == 0;
    if (check_owner(instance, error) != CODE_EXECUTOR_OK)
        return CODE_EXECUTOR_UNSUPPORTED;
    pthread_mutex_lock(&instance->lock);
    for (struct flight *flight = instance->flights; flight != NULL; flight = flight->next) {
        if (id == 0 || flight->id == id) {
            flight->cancelled = true;
            found = true;
        }
    }
    pthread_cond_broadcast(&instance->changed);
    pthread_mutex_unlock(&instance->lock);
    return found ? set(error, CODE_EXECUTOR_OK, "")
                 : set(error, CODE_EXECUTOR_NOT_FOUND, "Nothing in flight has this id.");
}

static int32_t echo_stop(code_executor_instance *instance, code_executor_error *error)
{
    if (echo_cancel(instance, 0, error) != CODE_EXECUTOR_OK)
        return CODE_EXECUTOR_UNSUPPORTED;
    pthread_mutex_lock(&instance->lock);
    instance->started = false;
    pthread_mutex_unlock(&instance->lock);
    return set(error, CODE_EXECUTOR_OK, "");
}

static int32_t echo_restart(code_executor_instance *instance, code_executor_error *error)
{
    echo_stop(instance, NULL);
    return echo_start(instance, error);
}

static void echo_destroy(code_executor_instance *instance)
{
    if (instance != NULL) {
        pthread_cond_destroy(&instance->changed);
        pthread_mutex_destroy(&instance->lock);
        free(instance->config);
        free(instance);
    }
}

static int32_t echo_describe(code_executor_instance *instance, char **json,
                             code_executor_error *error)
{
    static const char format[] =
        "{\"name\":\"echo\",\"state\":\"%s\",\"timeout\":60,\"work_dir\":\"/\",\"bind_dir\":null,"
        "\"isolation\":\"nothing runs\",\"engine\":null,\"limits\":{},\"config\":%s}";
    if (check_owner(instance, error) != CODE_EXECUTOR_OK)
        return CODE_EXECUTOR_UNSUPPORTED;
    size_t size = sizeof format + strlen(instance->config) + 16;
    *json = malloc(size);
    if (*json == NULL)
        return set(error, CODE_EXECUTOR_NO_MEMORY, "No memory.");
    snprintf(*json, size, format, instance->started ? "started" : "stopped", instance->config);
    return set(error, CODE_EXECUTOR_OK, "");
}

static void echo_string_free(char *string)
{
    free(string);
}

/* ------------------------------------------------------------------------------------------------
 * One block
 * --------------------------------------------------------------------------------------------- */

struct run {
    code_executor_instance *instance;
    const code_executor_request *request;
    struct flight *flight;
    size_t block;
    struct kept streams[4]; /* by enum code_executor_stream; 0 is all of them */
    int32_t exit_code;
    int32_t outcome;
    char failure[256]; /* of the executor, or "" */
    bool ended;
    struct timespec until; /* when the block's time is up */
};

static bool is_cancelled(struct run *run)
{
    pthread_mutex_lock(&run->instance->lock);
    bool cancelled = run->flight->cancelled;
    pthread_mutex_unlock(&run->instance->lock);
    return cancelled;
}

static bool is_before(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

static bool is_late(const struct run *run)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return !is_before(&now, &run->until);
}

static void put(struct run *run, int32_t stream, const char *bytes, size_t length)
{
    if (length == 0)
        return;
    keep(&run->streams[stream], bytes, length);
    keep(&run->streams[0], bytes, length);
    const code_executor_request *request = run->request;
    if (request->on_output != NULL &&
        request->on_output(request->user_data, run->block, stream, bytes, length) != 0)
        echo_cancel(run->instance, request->execution_id, NULL);
}

static void put_line(struct run *run, int32_t stream, const char *text)
{
    size_t length = strlen(text);
    char *line = malloc(length + 2);
    if (line != NULL) {
        memcpy(line, text, length);
        line[length] = '\n';
        put(run, stream, line, length + 1);
        free(line);
    }
}

static void order_print(struct run *run, const char *text)
{
    put_line(run, CODE_EXECUTOR_STREAM_STDOUT, text);
}

static void order_error(struct run *run, const char *text)
{
    put_line(run, CODE_EXECUTOR_STREAM_STDERR, text);
}

static void order_say(struct run *run, const char *text)
{
    put_line(run, CODE_EXECUTOR_STREAM_EXECUTOR, text);
}

static void order_raw(struct run *run, const char *text)
{
    unsigned value;
    for (; sscanf(text, "%2x", &value) == 1 && strlen(text) >= 2; text += 2) {
        char byte = (char)value;
        put(run, CODE_EXECUTOR_STREAM_STDOUT, &byte, 1);
    }
}

static void order_config(struct run *run, const char *text)
{
    (void)text;
    put_line(run, CODE_EXECUTOR_STREAM_STDOUT, run->instance->config);
}

static void order_touch(struct run *run, const char *text)
{
    static const char key[] = "\"work_dir\":\"";
    const char *folder = strstr(run->instance->config, key);
    if (folder != NULL) {
        folder += strlen(key);
        char path[4096];
        snprintf(path, sizeof path, "%.*s/%s", (int)strcspn(folder, "\""), folder, text);
        FILE *file = fopen(path, "we");
        if (file != NULL)
            fclose(file);
    }
}

static void order_sleep(struct run *run, const char *text)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    long milliseconds = strtol(text, NULL, 10);
    until.tv_sec += milliseconds / 1000;
    until.tv_nsec += milliseconds % 1000 * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    if (is_before(&run->until, &until))
        until = run->until;
    int late = 0;
    pthread_mutex_lock(&run->instance->lock);
    while (!run->flight->cancelled && late == 0)
        late = pthread_cond_timedwait(&run->instance->changed, &run->instance->lock, &until);
    pthread_mutex_unlock(&run->instance->lock);
}

static void order_progress(struct run *run, const char *text)
{
    const code_executor_host *host = &run->instance->host;
    char *end = NULL;
    uint64_t done = strtoull(text, &end, 10);
    if (host->progress != NULL)
        host->progress(host->user_data, "something", done, strtoull(end, NULL, 10));
}

static void order_stubborn(struct run *run, const char *text)
{
    (void)run;
    long milliseconds = strtol(text, NULL, 10);
    nanosleep(&(struct timespec){milliseconds / 1000, milliseconds % 1000 * 1000000}, NULL);
}

static void order_flood(struct run *run, const char *text)
{
    char piece[65536];
    memset(piece, 'x', sizeof piece);
    unsigned long long left = strtoull(text, NULL, 10);
    while (left > 0 && !is_cancelled(run)) {
        size_t length = left < sizeof piece ? (size_t)left : sizeof piece;
        put(run, CODE_EXECUTOR_STREAM_STDOUT, piece, length);
        left -= length;
    }
}

static void order_exit(struct run *run, const char *text)
{
    run->exit_code = (int32_t)strtol(text, NULL, 10);
    run->ended = true;
}

static void order_fail(struct run *run, const char *text)
{
    snprintf(run->failure, sizeof run->failure, "%s", text);
    run->outcome = CODE_EXECUTOR_OUTCOME_FAILED;
    run->exit_code = 1;
    run->ended = true;
}

static void obey(struct run *run, const char *line)
{
    static const struct {
        const char *word;
        void (*obey)(struct run *run, const char *text);
    } orders[] = {
        {"print", order_print}, {"error", order_error},       {"say", order_say},
        {"raw", order_raw},     {"sleep", order_sleep},       {"flood", order_flood},
        {"exit", order_exit},   {"fail", order_fail},         {"config", order_config},
        {"touch", order_touch}, {"stubborn", order_stubborn}, {"progress", order_progress},
    };
    size_t length = strcspn(line, " ");
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        if (strlen(orders[i].word) == length && strncmp(orders[i].word, line, length) == 0) {
            orders[i].obey(run, line[length] == ' ' ? line + length + 1 : line + length);
            return;
        }
    }
}

static void obey_all(struct run *run, const code_executor_block *block)
{
    const char *line = block->code;
    size_t left = block->code_length;
    while (left > 0 && !run->ended && !is_cancelled(run) && !is_late(run)) {
        const char *newline = memchr(line, '\n', left);
        size_t length = newline == NULL ? left : (size_t)(newline - line);
        char *order = strndup(line, length);
        if (order != NULL)
            obey(run, order);
        free(order);
        length += newline != NULL;
        line += length;
        left -= length;
    }
    if (is_cancelled(run)) {
        run->outcome = CODE_EXECUTOR_OUTCOME_CANCELLED;
        run->exit_code = 130;
    } else if (!run->ended && is_late(run)) {
        run->outcome = CODE_EXECUTOR_OUTCOME_TIMED_OUT;
        run->exit_code = 124;
    }
}

/* ------------------------------------------------------------------------------------------------
 * A request
 * --------------------------------------------------------------------------------------------- */

static void run_block(struct run *run, const code_executor_block *block)
{
    bool runs =
        strcasecmp(block->language, "echo") == 0 || strcasecmp(block->language, "repeat") == 0;
    if (runs) {
        obey_all(run, block);
    } else if (strcasecmp(block->language, "note") == 0) {
        run->outcome = CODE_EXECUTOR_OUTCOME_SAVED;
        put_line(run, CODE_EXECUTOR_STREAM_EXECUTOR, "Code saved to /dev/null");
    } else {
        run->outcome = CODE_EXECUTOR_OUTCOME_REFUSED;
        run->exit_code = 1;
        put(run, CODE_EXECUTOR_STREAM_EXECUTOR, "Unsupported language ", 21);
        put_line(run, CODE_EXECUTOR_STREAM_EXECUTOR, block->language);
    }
}

static const char *take_bytes(struct kept *kept)
{
    char *bytes = kept->bytes == NULL ? strdup("") : kept->bytes;
    kept->bytes = NULL;
    return bytes;
}

static code_executor_block_result *make_block_result(struct run *run,
                                                     const code_executor_block *block)
{
    code_executor_block_result *made = calloc(1, sizeof *made);
    if (made == NULL)
        return NULL;
    made->struct_size = sizeof *made;
    made->language = strdup(block->language);
    made->outcome = run->outcome;
    made->exit_code = run->exit_code;
    made->stdout_length = run->streams[1].length;
    made->stdout_bytes = take_bytes(&run->streams[1]);
    made->stderr_length = run->streams[2].length;
    made->stderr_bytes = take_bytes(&run->streams[2]);
    made->dropped_bytes = run->streams[0].dropped;
    made->output_length = run->streams[0].length;
    made->output = take_bytes(&run->streams[0]);
    free(run->streams[3].bytes);
    return made;
}

static void free_const(const char *bytes)
{
    free((char *)(uintptr_t)bytes);
}

static void echo_result_free(code_executor_result *result)
{
    if (result == NULL)
        return;
    code_executor_block_result **blocks = (code_executor_block_result **)(uintptr_t)result->blocks;
    for (size_t i = 0; i < result->block_count; i++) {
        free_const(blocks[i]->language);
        free_const(blocks[i]->stdout_bytes);
        free_const(blocks[i]->stderr_bytes);
        free_const(blocks[i]->output);
        free(blocks[i]);
    }
    free(blocks);
    free_const(result->output);
    free(result);
}

/* Runs blocks into RESULT, which has room for all; returns the failure of the executor, or "". */
static void run_blocks(struct run *run, code_executor_block_result **blocks,
                       code_executor_result *result)
{
    const code_executor_request *request = run->request;
    struct kept joined = {0};
    for (size_t i = 0; i < request->block_count && result->exit_code == 0; i++) {
        run->block = i;
        run->exit_code = 0;
        run->outcome = CODE_EXECUTOR_OUTCOME_COMPLETED;
        run->ended = false;
        clock_gettime(CLOCK_REALTIME, &run->until);
        run->until.tv_sec += request->timeout == 0 ? 60 : (time_t)request->timeout;
        memset(run->streams, 0, sizeof run->streams);
        if (request->on_begin != NULL && request->on_begin(request->user_data, i) != 0)
            echo_cancel(run->instance, request->execution_id, NULL);
        run_block(run, request->blocks[i]);
        keep(&joined, run->streams[0].bytes == NULL ? "" : run->streams[0].bytes,
             run->streams[0].length);
        blocks[i] = make_block_result(run, request->blocks[i]);
        if (blocks[i] == NULL)
            break;
        result->block_count++;
        result->exit_code = run->exit_code;
        result->outcome = run->outcome;
    }
    result->output_length = joined.length;
    result->output = take_bytes(&joined);
}

/* False: its id is in flight. */
static bool add_flight(code_executor_instance *instance, struct flight *flight)
{
    bool fresh = true;
    pthread_mutex_lock(&instance->lock);
    for (const struct flight *other = instance->flights; other != NULL; other = other->next)
        fresh = fresh && other->id != flight->id;
    if (fresh) {
        instance->started = true;
        flight->next = instance->flights;
        instance->flights = flight;
    }
    pthread_mutex_unlock(&instance->lock);
    return fresh;
}

static void remove_flight(code_executor_instance *instance, struct flight *flight)
{
    pthread_mutex_lock(&instance->lock);
    struct flight **at = &instance->flights;
    while (*at != flight)
        at = &(*at)->next;
    *at = flight->next;
    pthread_mutex_unlock(&instance->lock);
}

static int32_t echo_execute(code_executor_instance *instance, const code_executor_request *request,
                            code_executor_result **result, code_executor_error *error)
{
    *result = NULL;
    int32_t status = check_owner(instance, error);
    if (status == CODE_EXECUTOR_OK)
        status = check_request(request, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    code_executor_result *made = calloc(1, sizeof *made);
    code_executor_block_result **blocks = calloc(request->block_count, sizeof *blocks);
    if (made == NULL || blocks == NULL) {
        free(made);
        free(blocks);
        return set(error, CODE_EXECUTOR_NO_MEMORY, "No memory.");
    }
    made->struct_size = sizeof *made;
    made->blocks = (const code_executor_block_result *const *)blocks;
    struct flight flight = {.id = request->execution_id};
    struct run run = {.instance = instance, .request = request, .flight = &flight};
    if (!add_flight(instance, &flight)) {
        free(made);
        free(blocks);
        return set(error, CODE_EXECUTOR_INVALID, "An execution with this id is in flight.");
    }
    run_blocks(&run, blocks, made);
    remove_flight(instance, &flight);
    *result = made;
    return run.failure[0] == '\0' ? set(error, CODE_EXECUTOR_OK, "")
                                  : set(error, CODE_EXECUTOR_UNAVAILABLE, run.failure);
}

/* ------------------------------------------------------------------------------------------------
 * Languages, and the table
 * --------------------------------------------------------------------------------------------- */

static int32_t list_languages(code_executor_instance *instance,
                              const code_executor_language *const **languages, size_t *count,
                              code_executor_error *error)
{
    static const char *const aliases[] = {"repeat"};
    static const code_executor_language echo = {sizeof echo, "echo", aliases,   1,
                                                true,        {0},    "nothing", NULL};
    static const code_executor_language note = {sizeof note, "note", NULL,      0,
                                                false,       {0},    "nothing", NULL};
    static const code_executor_language *const all[] = {&echo, &note};
    (void)instance;
    *languages = all;
    *count = sizeof all / sizeof *all;
    return set(error, CODE_EXECUTOR_OK, "");
}

static const void *echo_get_extension(code_executor_instance *instance, const char *id)
{
    static const code_executor_languages_v1 languages = {sizeof languages, list_languages};
    (void)instance;
    if (strcmp(id, CODE_EXECUTOR_EXTENSION_LEFTOVERS) == 0)
        return &echo_leftovers;
    return strcmp(id, CODE_EXECUTOR_EXTENSION_LANGUAGES) == 0 ? &languages : NULL;
}

CODE_EXECUTOR_EXPORT const code_executor_v1 *code_executor_plugin_v1(void);
const code_executor_v1 *code_executor_plugin_v1(void)
{
    static const code_executor_v1 table = {
        .struct_size = sizeof table,
        .abi_version = CODE_EXECUTOR_ABI_VERSION,
        .name = "echo",
        .version = "1.0",
        .description = "Obeys orders within the host, for tests",
        .config_schema = echo_schema,
        .create = echo_create,
        .start = echo_start,
        .stop = echo_stop,
        .restart = echo_restart,
        .execute = echo_execute,
        .cancel = echo_cancel,
        .describe = echo_describe,
        .result_free = echo_result_free,
        .string_free = echo_string_free,
        .destroy = echo_destroy,
        .get_extension = echo_get_extension,
    };
    return &table;
}
