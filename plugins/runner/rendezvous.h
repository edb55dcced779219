/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rendezvous.h: a shorter way to a host on the same machine than the stream that an engine relays.
 *
 *     host ══ engine's processes ══ stdin/stdout ── runner     HELLO(…, name, proof)
 *       └───── socket in the folder of the files ─────┘        half ─▶, ◀─ half, then all frames of both
 *
 * The host's HELLO may name a socket in the folder in which the runner was started, where the host listens, and
 * a proof, half of which the runner will find there. Where it does find that, it answers with the other half and
 * then HELLO through the socket, which takes the places of standard input and output; where anything is amiss, it answers as ever. The stream stays open,
 * silent, and ends the connection when it ends: engine and host keep their hold on the runner.
 *
 * Attack: the folder may be open to code of another container, which puts a socket of its own in the place
 * of the host's, to give the runner orders. It cannot know the proof, which came over the stream; that it does not
 * get it from the host either, the host sees to (plugins/docker/rendezvous.h).
 */
#ifndef CODE_EXECUTOR_RUNNER_RENDEZVOUS_H
#define CODE_EXECUTOR_RUNNER_RENDEZVOUS_H

#include <stdbool.h>

/* Makes standard input and output the socket NAME, if half of PROOF is there; it waits a moment for that. False:
 * nothing has changed. */
bool rendezvous_keep(const char *name, const char *proof);

/* What ends with the stream, for poll: then the connection has ended. -1: standard input is the stream. */
int rendezvous_stream(void);

#endif /* CODE_EXECUTOR_RUNNER_RENDEZVOUS_H */
