/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.c: asks for events, takes them in, finds the cause among them; see events.h.
 *
 *     engine ─▶ libcurl ─▶ on_data ─▶ tokener ─▶ note (a table) ─▶ the record ─▶ cause (a table)
 */
#include "events.h"
#include "clock.h"
#include "json.h"
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD_LIMIT_MS 1000
/* How long an end takes to be told, then its reason, then, when the container is gone, that this was
 * a stop. */
#define CAUSE_LIMIT_MS  1000
#define REASON_LIMIT_MS 500
#define STOP_LIMIT_MS   300
#define EVENT_SIZE_MAX  (64 * 1024)
/* How long before the end a shortage of memory counts as its reason: what runs in the container may
 * run out of memory, and be killed, any number of times without an end of the container. */
#define MEMORY_SPAN_S 10

struct events {
    struct engine *engine;
    http_transfer *transfer; /* NULL: it has ended */
    int socket;              /* of it, once the engine has answered; else -1 */
    json_tokener *tokener;
    size_t event_size; /* of the event that is being read */
    char id[72];
    /* What happened. */
    bool paused;
    bool killed; /* by a signal that was sent through the engine */
    bool died;
    bool died_by_kill; /* of whomever */
    bool stopped;
    bool destroyed;
    int64_t out_of_memory_s; /* when it last was, or something in it; 0: never */
    int64_t died_s;
};

/* ---- what happens ------------------------------------------------------------------------------ */

static const char *attribute(json_object *event, const char *name)
{
    return json_string(json_member(json_member(event, "Actor"), "Attributes"), name);
}

static void note_pause(struct events *self, json_object *event)
{
    (void)event;
    self->paused = true;
}

static void note_unpause(struct events *self, json_object *event)
{
    (void)event;
    self->paused = false;
}

/* Of the others the runner takes no notice. Podman tells no signal. */
static void note_kill(struct events *self, json_object *event)
{
    const char *signal = attribute(event, "signal");
    self->killed = self->killed || !signal || strcmp(signal, "9") == 0 || strcmp(signal, "15") == 0;
}

static void note_memory(struct events *self, json_object *event)
{
    self->out_of_memory_s = json_integer(event, "time");
}

static void note_death(struct events *self, json_object *event)
{
    const char *code = attribute(event, "exitCode");
    self->died = true;
    self->died_s = json_integer(event, "time");
    self->died_by_kill = code && strcmp(code, "137") == 0;
}

static void note_stop(struct events *self, json_object *event)
{
    (void)event;
    self->stopped = true;
}

static void note_removal(struct events *self, json_object *event)
{
    (void)event;
    self->destroyed = true;
}

/* Podman has words of its own for two of them. */
static const struct {
    const char *action;
    void (*note)(struct events *self, json_object *event);
} actions[] = {
    {"pause", note_pause}, {"unpause", note_unpause}, {"kill", note_kill},
    {"oom", note_memory},  {"die", note_death},       {"died", note_death},
    {"stop", note_stop},   {"destroy", note_removal}, {"remove", note_removal},
};

/* ---- taking in --------------------------------------------------------------------------------- */

static void note(struct events *self, json_object *event)
{
    const char *action = json_string(event, "Action");
    const char *id = json_string(json_member(event, "Actor"), "ID");
    if (!action || !id || strcmp(id, self->id) != 0) /* whatever the filter let through */
        return;
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++)
        if (strcmp(actions[i].action, action) == 0)
            actions[i].note(self, event);
}

/* Objects one behind the other. Attack: an engine, or what passes for it, sends an object without an
 * end, so that memory ends instead. */
static bool take(void *user_data, const char *bytes, size_t length)
{
    struct events *self = user_data;
    while (length > 0) {
        json_object *event = json_tokener_parse_ex(self->tokener, bytes, (int)length);
        enum json_tokener_error error = json_tokener_get_error(self->tokener);
        if (error == json_tokener_continue) {
            self->event_size += length;
            return self->event_size <= EVENT_SIZE_MAX;
        }
        size_t used = json_tokener_get_parse_end(self->tokener);
        if (error != json_tokener_success || used == 0)
            return false;
        note(self, event);
        json_object_put(event);
        self->event_size = 0;
        bytes += used;
        length -= used;
    }
    return true;
}

static void end(struct events *self)
{
    http_end(self->transfer);
    self->transfer = NULL;
    self->socket = -1;
}

static void take_in(struct events *self)
{
    if (self->transfer && !http_advance(self->transfer))
        end(self);
}

/* ---- asking ------------------------------------------------------------------------------------ */

static json_object *filters(const char *id)
{
    json_object *all = json_object_new_object();
    json_object *containers = all ? json_put_array(all, "container") : NULL;
    json_object *events = containers ? json_put_array(all, "event") : NULL;
    bool whole = events && json_append_string(containers, id);
    for (size_t i = 0; whole && i < sizeof actions / sizeof actions[0]; i++)
        whole = json_append_string(events, actions[i].action);
    if (!whole) {
        json_object_put(all);
        return NULL;
    }
    return all;
}

static void begin(struct events *self)
{
    char *path = NULL;
    json_object CLEANUP_JSON *asked = filters(self->id);
    char *escaped =
        asked ? engine_escape(json_object_to_json_string_ext(asked, JSON_C_TO_STRING_PLAIN)) : NULL;
    if (escaped && asprintf(&path, "/events?filters=%s", escaped) >= 0) {
        http_request request = {
            .method = "GET", .path = path, .on_data = take, .user_data = self, .watched = true};
        engine_begin(self->engine, request, &self->transfer, NULL);
        free(path);
    }
    free(escaped);
}

struct events *events_open(struct engine *engine, const char *id)
{
    struct events *self = calloc(1, sizeof *self);
    if (!self)
        return NULL;
    self->engine = engine;
    self->socket = -1;
    snprintf(self->id, sizeof self->id, "%s", id);
    self->tokener = json_tokener_new();
    if (self->tokener)
        begin(self);
    if (self->transfer)
        return self;
    events_close(self);
    return NULL;
}

bool events_taken_in(struct events *self)
{
    http_patience patience = {self->engine->cancel_fd, HEAD_LIMIT_MS};
    if (http_await_head(self->transfer, patience, NULL) == CODE_EXECUTOR_OK &&
        http_status(self->transfer) == 200)
        self->socket = http_socket(self->transfer);
    return self->socket >= 0;
}

void events_close(struct events *self)
{
    if (!self)
        return;
    end(self);
    json_tokener_free(self->tokener);
    free(self);
}

/* ---- telling ----------------------------------------------------------------------------------- */

int events_descriptor(const struct events *self)
{
    return self ? self->socket : -1;
}

static bool wait_for_news(struct events *self, int limit_ms)
{
    struct pollfd news = {.fd = events_descriptor(self), .events = POLLIN};
    return news.fd >= 0 && poll(&news, 1, limit_ms) > 0;
}

bool events_tell_pause(struct events *self)
{
    if (self && wait_for_news(self, 0))
        take_in(self);
    return self && self->paused;
}

bool events_tell_memory(const struct events *self)
{
    return self && self->out_of_memory_s > 0 && self->died_by_kill && !self->killed &&
           self->died_s - self->out_of_memory_s <= MEMORY_SPAN_S;
}

/* One that was killed ends before the engine says that this was a stop or a removal. Podman says only
 * that. */
static bool is_clear(const struct events *self)
{
    return self->paused || self->stopped || (self->destroyed && !self->killed) ||
           (self->died && (!self->died_by_kill || events_tell_memory(self)));
}

/* How much longer to wait: less, the more of the end has been told. */
static int patience_ms(const struct events *self)
{
    if (is_clear(self))
        return 0;
    return self->destroyed ? STOP_LIMIT_MS : self->died ? REASON_LIMIT_MS : CAUSE_LIMIT_MS;
}

static void await_reason(struct events *self)
{
    int64_t begun_ms = now_ms();
    take_in(self);
    for (;;) {
        int64_t left = begun_ms + patience_ms(self) - now_ms();
        if (left <= 0 || !wait_for_news(self, (int)left))
            break;
        take_in(self);
    }
}

bool events_cause(struct events *self, bool removes_itself, char *words, size_t size)
{
    if (!self)
        return false;
    await_reason(self);
    const struct {
        bool holds;
        const char *words;
    } causes[] = {
        {self->paused, "was paused from outside (docker pause), and what ran in it is given up"},
        {self->stopped,
         "was stopped from outside (docker stop, docker restart, or the end of the engine)"},
        {self->destroyed && !removes_itself, "was removed from outside (docker rm -f)"},
        {self->destroyed && self->killed, "was killed from outside (docker kill or docker rm -f)"},
        {self->killed, "was killed from outside (docker kill)"},
        {events_tell_memory(self), "ran out of memory, and its first process was killed for it"},
    };
    for (size_t i = 0; i < sizeof causes / sizeof causes[0]; i++) {
        if (causes[i].holds) {
            snprintf(words, size, "%s", causes[i].words);
            return true;
        }
    }
    return false;
}
