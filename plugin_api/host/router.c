/* SPDX-License-Identifier: Apache-2.0 */
/*
 * router.c: sends the blocks of one request to several executors, as if they were one.
 *
 *     request ─▶ stretches of blocks for one executor ─▶ execute each ─▶ parts ─▶ joined result
 *
 * Cancel. An execution is in the router's list while it is in flight. Cancelling marks it, so that no
 * further executor is started, and passes the word on to the executor that is at work. That one may not
 * have heard of the execution yet: then it learns of the mark in the callback on_begin, which it makes
 * once cancel has effect. No lock is held while an executor is called.
 */
#include "host/code_executor_host.h"

#include "failure.h"
#include "joined_result.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct route {
    char *language; /* NULL: every language without a route of its own */
    char *label;
    const code_executor_v1 *table;
    code_executor_instance *instance;
} route;

/* One call of code_executor_router_execute; on its stack, in the list under the router's lock. */
typedef struct execution {
    struct execution *next;
    uint64_t id;
    atomic_bool cancelled;
    /* Under the lock: */
    const route *at_work; /* NULL between two executors */
    size_t stretch;       /* counts the executors */
    bool begun;           /* at_work has made a callback, so it knows of the execution */
} execution;

struct code_executor_router {
    route *routes;
    size_t route_count;
    pthread_mutex_t lock;
    execution *in_flight;
};

/* ------------------------------------------------------------------------------------------------
 * Routes
 * --------------------------------------------------------------------------------------------- */

int32_t code_executor_router_create(code_executor_router **made, code_executor_error *error)
{
    if (made == NULL)
        return fail(error, CODE_EXECUTOR_INVALID, "There is no place for the router.");
    *made = NULL;
    code_executor_router *router = calloc(1, sizeof(*router));
    if (router == NULL || pthread_mutex_init(&router->lock, NULL) != 0) {
        free(router);
        return fail_no_memory(error);
    }
    *made = router;
    return succeed(error);
}

static void route_free(route *from)
{
    free(from->language);
    free(from->label);
}

void code_executor_router_free(code_executor_router *router)
{
    if (router == NULL)
        return;
    for (size_t i = 0; i < router->route_count; i++)
        route_free(&router->routes[i]);
    free(router->routes);
    pthread_mutex_destroy(&router->lock);
    free(router);
}

static route *find_exact(const code_executor_router *router, const char *language)
{
    for (size_t i = 0; i < router->route_count; i++)
        if (code_executor_language_equal(router->routes[i].language, language))
            return &router->routes[i];
    return NULL;
}

static const route *find_route(const code_executor_router *router, const char *language)
{
    const route *exact = find_exact(router, language);
    return exact != NULL ? exact : find_exact(router, NULL);
}

/* The place for a route: that of the one it replaces, or a new one. NULL where memory ends. */
static route *place_for(code_executor_router *router, const char *language)
{
    route *place = find_exact(router, language);
    if (place != NULL) {
        route_free(place);
        return place;
    }
    route *grown = realloc(router->routes, (router->route_count + 1) * sizeof(*grown));
    if (grown == NULL)
        return NULL;
    router->routes = grown;
    return &router->routes[router->route_count++];
}

int32_t code_executor_router_add(code_executor_router *router, const char *language,
                                 const char *label, const code_executor_v1 *table,
                                 code_executor_instance *instance, code_executor_error *error)
{
    if (router == NULL || label == NULL || table == NULL || instance == NULL) {
        return fail(error, CODE_EXECUTOR_INVALID,
                    "A route needs a router, a label, a table and an instance.");
    }
    route added = {
        .language = language == NULL ? NULL : strdup(language),
        .label = strdup(label),
        .table = table,
        .instance = instance,
    };
    bool copied = added.label != NULL && (language == NULL || added.language != NULL);
    route *place = copied ? place_for(router, language) : NULL;
    if (place == NULL) {
        route_free(&added);
        return fail_no_memory(error);
    }
    *place = added;
    return succeed(error);
}

const char *code_executor_router_find(const code_executor_router *router, const char *language)
{
    const route *found = language == NULL ? find_exact(router, NULL) : find_route(router, language);
    return found != NULL ? found->label : NULL;
}

/* ------------------------------------------------------------------------------------------------
 * Requests
 * --------------------------------------------------------------------------------------------- */

/* Copies REQUEST as far as it is known here. UNSUPPORTED where more is asked. */
static int32_t read_request(const code_executor_request *request, code_executor_request *known,
                            code_executor_error *error)
{
    memset(known, 0, sizeof(*known));
    if (request == NULL || request->struct_size < sizeof(request->struct_size))
        return fail(error, CODE_EXECUTOR_INVALID, "There is no request.");
    const char *bytes = (const char *)request;
    for (size_t i = sizeof(*known); i < request->struct_size; i++) {
        if (bytes[i] != 0) {
            return fail(error, CODE_EXECUTOR_UNSUPPORTED,
                        "code_executor_request has fields that this library does not know.");
        }
    }
    size_t size = request->struct_size < sizeof(*known) ? request->struct_size : sizeof(*known);
    memcpy(known, request, size);
    known->struct_size = sizeof(*known);
    return succeed(error);
}

static int32_t check_request(const code_executor_request *request, code_executor_error *error)
{
    if (request->block_count == 0 || request->blocks == NULL)
        return fail(error, CODE_EXECUTOR_INVALID, "No code blocks to execute.");
    if (request->execution_id == 0)
        return fail(error, CODE_EXECUTOR_INVALID, "An execution needs an id other than 0.");
    if (request->timeout != 0 && !(request->timeout >= 1))
        return fail(error, CODE_EXECUTOR_INVALID, "Timeout must be greater than or equal to 1.");
    for (size_t i = 0; i < request->block_count; i++) {
        const code_executor_block *block = request->blocks[i];
        if (block == NULL || block->language == NULL ||
            (block->code == NULL && block->code_length > 0))
            return fail(error, CODE_EXECUTOR_INVALID, "Block %zu has no language or no code.", i);
    }
    return succeed(error);
}

/* ------------------------------------------------------------------------------------------------
 * Execute
 * --------------------------------------------------------------------------------------------- */

/* What happens in one call of execute. */
typedef struct run {
    code_executor_router *router;
    const code_executor_request *request; /* the host's, all of it known */
    execution self;
    joined_result *whole;
    size_t first; /* block of the stretch at work */
} run;

static bool enter(run *now)
{
    pthread_mutex_lock(&now->router->lock);
    bool is_free = true;
    for (execution *other = now->router->in_flight; other != NULL; other = other->next)
        is_free = is_free && other->id != now->self.id;
    if (is_free) {
        now->self.next = now->router->in_flight;
        now->router->in_flight = &now->self;
    }
    pthread_mutex_unlock(&now->router->lock);
    return is_free;
}

static void leave(run *now)
{
    pthread_mutex_lock(&now->router->lock);
    execution **place = &now->router->in_flight;
    while (*place != &now->self)
        place = &(*place)->next;
    *place = now->self.next;
    pthread_mutex_unlock(&now->router->lock);
}

static void set_at_work(run *now, const route *executor)
{
    pthread_mutex_lock(&now->router->lock);
    now->self.at_work = executor;
    now->self.stretch += executor != NULL;
    now->self.begun = false;
    pthread_mutex_unlock(&now->router->lock);
}

static int32_t answer_of_callback(run *now, int32_t answer)
{
    if (answer != 0)
        atomic_store(&now->self.cancelled, true); /* and no further executor is started */
    return answer;
}

static int32_t pass_on_begin(void *user_data, size_t block)
{
    run *now = user_data;
    pthread_mutex_lock(&now->router->lock);
    now->self.begun = true;
    pthread_mutex_unlock(&now->router->lock);
    if (atomic_load(&now->self.cancelled))
        return 1;
    const code_executor_request *request = now->request;
    return request->on_begin == NULL
               ? 0
               : answer_of_callback(now, request->on_begin(request->user_data, now->first + block));
}

static int32_t pass_on_output(void *user_data, size_t block, int32_t stream, const char *bytes,
                              size_t length)
{
    run *now = user_data;
    const code_executor_request *request = now->request;
    return answer_of_callback(
        now, request->on_output(request->user_data, now->first + block, stream, bytes, length));
}

/* Takes what an executor gave for COUNT blocks from now->first on; some at the end may be missing. */
static void take_part(run *now, size_t count, result_part given)
{
    joined_result_add_part(now->whole, given);
    for (size_t i = 0; i < given.result->block_count && i < count; i++) {
        const char *label =
            code_executor_router_find(now->router, now->request->blocks[now->first + i]->language);
        joined_result_add_block(now->whole, given.result->blocks[i], label == NULL ? "" : label);
    }
}

/* How many blocks from FIRST on are for the executor of EXECUTOR. */
static size_t stretch_length(const run *now, size_t first, const route *executor)
{
    size_t count = 1;
    for (; first + count < now->request->block_count; count++) {
        const route *other = find_route(now->router, now->request->blocks[first + count]->language);
        if (other == NULL || other->instance != executor->instance ||
            other->table != executor->table)
            break;
    }
    return count;
}

static bool has_failed(const code_executor_result *result)
{
    bool went_well = result->outcome == CODE_EXECUTOR_OUTCOME_COMPLETED ||
                     result->outcome == CODE_EXECUTOR_OUTCOME_SAVED;
    return result->exit_code != 0 || !went_well;
}

/* Runs COUNT blocks, from now->first on, by EXECUTOR, and takes its result. */
static int32_t run_stretch(run *now, const route *executor, size_t count,
                           code_executor_error *error)
{
    code_executor_request request = *now->request;
    request.blocks += now->first;
    request.block_count = count;
    request.user_data = now;
    request.on_begin = pass_on_begin;
    request.on_output = now->request->on_output != NULL ? pass_on_output : NULL;
    code_executor_result *result = NULL;
    set_at_work(now, executor);
    int32_t status = executor->table->execute(executor->instance, &request, &result, error);
    set_at_work(now, NULL);
    if (result != NULL)
        take_part(now, count, (result_part){executor->table, result});
    if (status != CODE_EXECUTOR_OK)
        return status;
    if (result == NULL || (!has_failed(result) && result->block_count < count)) {
        return fail(error, CODE_EXECUTOR_INTERNAL,
                    "The executor %s ended after %zu of %zu blocks and did not say why.",
                    quote_name(executor->label).text, result == NULL ? 0 : result->block_count,
                    count);
    }
    return status;
}

/* What an executor does with a language that it does not know. */
static int32_t refuse(run *now, code_executor_error *error)
{
    const code_executor_request *request = now->request;
    code_executor_result *result = refusal_make(request->blocks[now->first]->language);
    if (result == NULL)
        return fail_no_memory(error);
    take_part(now, 1, (result_part){NULL, result});
    if (request->on_output != NULL) {
        request->on_output(request->user_data, now->first, CODE_EXECUTOR_STREAM_EXECUTOR,
                           result->output, result->output_length);
    }
    return succeed(error);
}

/* An end before the last block that no result tells of. */
static int32_t end_early(run *now, int32_t status, code_executor_error *error)
{
    enum { EXIT_CODE_OF_CANCELLED = 130 };
    code_executor_result *result = &now->whole->result;
    bool has_run = result->block_count > 0;
    if (status == CODE_EXECUTOR_CANCELLED && has_run) {
        result->outcome = CODE_EXECUTOR_OUTCOME_CANCELLED;
        result->exit_code = EXIT_CODE_OF_CANCELLED;
        return succeed(error);
    }
    if (has_run && !has_failed(result)) {
        result->outcome = CODE_EXECUTOR_OUTCOME_FAILED;
        result->exit_code = 1;
    }
    return status;
}

static int32_t run_all(run *now, code_executor_error *error)
{
    while (now->first < now->request->block_count) {
        if (atomic_load(&now->self.cancelled))
            return end_early(now, fail(error, CODE_EXECUTOR_CANCELLED, "Cancelled."), error);
        const route *executor = find_route(now->router, now->request->blocks[now->first]->language);
        size_t count = executor == NULL ? 1 : stretch_length(now, now->first, executor);
        int32_t status =
            executor == NULL ? refuse(now, error) : run_stretch(now, executor, count, error);
        if (status != CODE_EXECUTOR_OK)
            return end_early(now, status, error);
        if (has_failed(&now->whole->result))
            return status;
        now->first += count;
    }
    return succeed(error);
}

/* Hands the joined result out, or frees it where there is nothing in it. */
static int32_t finish(joined_result *whole, int32_t status, code_executor_routed_result **result,
                      code_executor_error *error)
{
    bool is_empty = whole->part_count == 0;
    if (is_empty || !joined_result_finish(whole)) {
        code_executor_routed_result_free(&whole->public_part);
        return is_empty ? status : fail_no_memory(error);
    }
    *result = &whole->public_part;
    return status;
}

static joined_result *make_room(const code_executor_router *router,
                                const code_executor_request *request)
{
    size_t label_length = 0;
    for (size_t i = 0; i < request->block_count; i++) {
        const char *label = code_executor_router_find(router, request->blocks[i]->language);
        label_length += (label == NULL ? 0 : strlen(label)) + 1;
    }
    return joined_result_make(request->block_count, label_length);
}

int32_t code_executor_router_execute(code_executor_router *router,
                                     const code_executor_request *request,
                                     code_executor_routed_result **result,
                                     code_executor_error *error)
{
    if (router == NULL || result == NULL)
        return fail(error, CODE_EXECUTOR_INVALID, "There is no router, or no place for a result.");
    *result = NULL;
    code_executor_request known;
    int32_t status = read_request(request, &known, error);
    status = status == CODE_EXECUTOR_OK ? check_request(&known, error) : status;
    if (status != CODE_EXECUTOR_OK)
        return status;
    run now = {
        .router = router,
        .request = &known,
        .self = {.id = known.execution_id},
        .whole = make_room(router, &known),
    };
    if (now.whole == NULL)
        return fail_no_memory(error);
    if (!enter(&now)) {
        code_executor_routed_result_free(&now.whole->public_part);
        return fail(error, CODE_EXECUTOR_INVALID, "Execution %llu is in flight already.",
                    (unsigned long long)known.execution_id);
    }
    status = run_all(&now, error);
    leave(&now);
    return finish(now.whole, status, result, error);
}

/* ------------------------------------------------------------------------------------------------
 * Cancel
 * --------------------------------------------------------------------------------------------- */

/* The executor at work on an execution, and the stretch at which it was found. */
typedef struct addressee {
    uint64_t id;
    const route *executor; /* NULL between two executors */
    size_t stretch;
} addressee;

/* Marks execution ID. False where it is not in flight. */
static bool mark(code_executor_router *router, uint64_t id, addressee *told)
{
    pthread_mutex_lock(&router->lock);
    execution *found = router->in_flight;
    while (found != NULL && found->id != id)
        found = found->next;
    if (found != NULL) {
        atomic_store(&found->cancelled, true);
        *told = (addressee){id, found->at_work, found->stretch};
    }
    pthread_mutex_unlock(&router->lock);
    return found != NULL;
}

/* Whether the executor has been called but may not have taken note of the execution yet. */
static bool is_entering(code_executor_router *router, const addressee *told)
{
    pthread_mutex_lock(&router->lock);
    bool entering = false;
    for (execution *one = router->in_flight; one != NULL; one = one->next) {
        entering = entering || (one->id == told->id && one->at_work == told->executor &&
                                one->stretch == told->stretch && !one->begun);
    }
    pthread_mutex_unlock(&router->lock);
    return entering;
}

/*
 * Tells the executor that is at work on a marked execution. Between the call of execute and the moment
 * where the executor knows the id are a few instructions; behind them may be a long start, which the mark
 * alone would not end. So the word is repeated for a moment.
 */
static int32_t tell(code_executor_router *router, const addressee *told, code_executor_error *error)
{
    enum { TRIES = 100 };
    const struct timespec pause = {.tv_nsec = 1000000};
    for (int i = 0; told->executor != NULL && i < TRIES; i++) {
        int32_t status = told->executor->table->cancel(told->executor->instance, told->id, error);
        if (status != CODE_EXECUTOR_NOT_FOUND)
            return status;
        if (!is_entering(router, told))
            break;
        nanosleep(&pause, NULL);
    }
    return succeed(error);
}

static int32_t cancel_one(code_executor_router *router, uint64_t id, code_executor_error *error)
{
    addressee told;
    if (!mark(router, id, &told)) {
        return fail(error, CODE_EXECUTOR_NOT_FOUND, "Execution %llu is not in flight.",
                    (unsigned long long)id);
    }
    return tell(router, &told, error);
}

/* Marks one execution that is not marked yet. False where there is none. */
static bool mark_another(code_executor_router *router, addressee *told)
{
    pthread_mutex_lock(&router->lock);
    execution *found = router->in_flight;
    while (found != NULL && atomic_load(&found->cancelled))
        found = found->next;
    if (found != NULL) {
        atomic_store(&found->cancelled, true);
        *told = (addressee){found->id, found->at_work, found->stretch};
    }
    pthread_mutex_unlock(&router->lock);
    return found != NULL;
}

static bool is_first_route_to_its_executor(const code_executor_router *router, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (router->routes[i].instance == router->routes[index].instance)
            return false;
    return true;
}

/* Every execution by its id, as above, and then whatever else the executors are at: a start, a pull. */
static int32_t cancel_all(code_executor_router *router, code_executor_error *error)
{
    addressee told;
    while (mark_another(router, &told))
        tell(router, &told, NULL);
    int32_t status = succeed(error);
    for (size_t i = 0; i < router->route_count; i++) {
        const route *executor = &router->routes[i];
        if (!is_first_route_to_its_executor(router, i))
            continue;
        code_executor_error *place = status == CODE_EXECUTOR_OK ? error : NULL;
        int32_t cancelled = executor->table->cancel(executor->instance, 0, place);
        status = status == CODE_EXECUTOR_OK ? cancelled : status;
    }
    return status;
}

int32_t code_executor_router_cancel(code_executor_router *router, uint64_t execution_id,
                                    code_executor_error *error)
{
    if (router == NULL)
        return fail(error, CODE_EXECUTOR_INVALID, "There is no router.");
    return execution_id == 0 ? cancel_all(router, error) : cancel_one(router, execution_id, error);
}
