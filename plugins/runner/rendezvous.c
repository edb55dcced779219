/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rendezvous.c: see rendezvous.h.
 *
 *     connect ─▶ read half of the proof ─▶ keep the stream's ends elsewhere ─▶ put the socket in their places
 *             ─▶ answer the other half
 *
 * It happens before anything is started, so waiting holds nobody up.
 */
#include "rendezvous.h"
#include "protocol.h"
#include "system.h"
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The host listens before it says so, and does nothing else meanwhile. */
#define PROOF_WITHIN_MS 2000u

/* Of the stream, once the socket has their places. Output is never written to, but an engine that saw it end
 * would close the input. */
static int stream_input = -1;
static int stream_output = -1;

static int go_to(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(name) >= sizeof address.sun_path)
        return -1;
    memcpy(address.sun_path, name, strlen(name) + 1);
    int met = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (met >= 0 && connect(met, (struct sockaddr *)&address, sizeof address) == 0)
        return met;
    if (met >= 0)
        close(met);
    return -1;
}

static bool proves_itself(int met, const char *proof, size_t wanted)
{
    char found[RENDEZVOUS_PROOF_MAX];
    size_t length = 0;
    uint64_t deadline = moment_after(PROOF_WITHIN_MS);
    while (length < wanted) {
        struct pollfd ready = {met, POLLIN, 0};
        if (poll(&ready, 1, poll_timeout(deadline)) <= 0)
            return false;
        ssize_t count = recv(met, found + length, wanted - length, 0);
        if (count <= 0)
            return false;
        length += (size_t)count;
    }
    return wanted > 0 && memcmp(found, proof, wanted) == 0;
}

static void give_places_back(void)
{
    if (stream_input >= 0) {
        (void)dup2(stream_input, STDIN_FILENO);
        close(stream_input);
    }
    if (stream_output >= 0) {
        (void)dup2(stream_output, STDOUT_FILENO);
        close(stream_output);
    }
    stream_input = stream_output = -1;
}

static bool take_places(int met)
{
    stream_input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    stream_output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    return stream_input >= 0 && stream_output >= 0 && dup2(met, STDIN_FILENO) >= 0 &&
           dup2(met, STDOUT_FILENO) >= 0;
}

/* The last that may fail, as the host goes by it: all or nothing, into a socket that is empty. */
static bool answer(int met, const char *half)
{
    return send(met, half, strlen(half), MSG_NOSIGNAL) == (ssize_t)strlen(half);
}

bool rendezvous_keep(const char *name, const char *proof)
{
    size_t half = strlen(proof) / 2;
    int met = go_to(name);
    if (met < 0)
        return false;
    bool kept = proves_itself(met, proof, half);
    if (kept) {
        kept = take_places(met) && answer(met, proof + half);
        if (!kept)
            give_places_back();
    }
    close(met);
    return kept;
}

int rendezvous_stream(void)
{
    return stream_input;
}
