/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.h: what others do to a container, as the engine tells it.
 *
 * One request stays open beside a container for as long as it lives (GET /events, filtered on it),
 * because the end of the connection says that something happened, and not what: somebody may have
 * stopped, paused or killed the container, or it may have run out of memory. A container that is paused
 * does not even end its connection. Whoever waits for the container's streams watches this request's
 * descriptor too (attach.c), so that a run ends when the event comes; while nothing runs, nobody reads,
 * and the few events that the filter lets through stay in the socket.
 *
 * All of it is an addition: an engine that tells nothing (a proxy that forbids it, say) costs the words.
 */
#ifndef CODE_EXECUTOR_DOCKER_EVENTS_H
#define CODE_EXECUTOR_DOCKER_EVENTS_H

#include "engine.h"

struct events;

/* Asks for the events of the container with ID from now on. NULL: they cannot be asked for. */
struct events *events_open(struct engine *engine, const char *id);
/* Waits for the engine to take that in, for a moment. False: it does not tell; then close it. */
bool events_taken_in(struct events *events);
/* NULL is allowed. */
void events_close(struct events *events);

/* Readable when there is news, for poll; -1: there will be none any more. NULL is allowed. */
int events_descriptor(const struct events *events);

/* Takes in what has come, without waiting; whether the container is paused now. NULL is allowed. */
bool events_tell_pause(struct events *events);

/* Once the container has ended, or does not answer: waits, for a moment, for the events that belong
 * to that, and puts the cause into WORDS ("was stopped from outside (docker stop)"). REMOVES_ITSELF:
 * its removal says nothing. False: no cause is known. EVENTS may be NULL. */
bool events_cause(struct events *events, bool removes_itself, char *words, size_t size);

/* Whether its memory limit ended it; behind events_cause. NULL is allowed. */
bool events_tell_memory(const struct events *events);

#endif /* CODE_EXECUTOR_DOCKER_EVENTS_H */
