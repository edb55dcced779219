/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rendezvous.c: see rendezvous.h.
 *
 * The socket's name is one of some, so that many hosts may start in one workspace at once, each beginning
 * somewhere else. One that a host has left behind which was killed in the moment between is known by nobody's
 * listening there, and makes room. If two hosts should take each other's sockets for such, one's runner comes to the
 * other, is turned away, and keeps to its stream.
 */
#include "rendezvous.h"
#include "fork_guard.h"
#include "socket_transport.h"
#include "workspace_folder.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define NAMES              64
#define QUEUE              128                        /* of those that nobody has looked at yet */
#define HALF               ((LAUNCH_ID_SIZE - 1) / 2) /* of the proof */
#define GROUPS_SIZE        8192
#define CONTAINER_ID_LEAST 32 /* what an engine gives has 64 digits */

/* ---- the socket -------------------------------------------------------------------------------- */

/* Through the descriptor, as the workspace's path may be longer than a socket's address, or lead elsewhere by
 * now. */
static struct sockaddr_un address_of(const struct rendezvous *self)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%.40s", self->folder,
             self->name);
    return address;
}

static bool is_deserted(const struct rendezvous *self)
{
    struct stat found;
    struct sockaddr_un address = address_of(self);
    if (fstatat(self->folder, self->name, &found, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISSOCK(found.st_mode) || found.st_uid != geteuid())
        return false;
    int visit = fork_guard_socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    bool refused = visit >= 0 && connect(visit, (struct sockaddr *)&address, sizeof address) != 0 &&
                   errno == ECONNREFUSED;
    fork_guard_close(visit);
    return refused;
}

/* The container's user may be any. Not by name: somebody may have put a link there, and the mode would be
 * another file's. */
static bool let_everybody_in(const struct rendezvous *self)
{
    char path[64];
    struct stat made;
    bool done = false;
    fork_guard_enter();
    int seen = openat(self->folder, self->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    fork_guard_add(seen);
    fork_guard_leave();
    snprintf(path, sizeof path, "/proc/self/fd/%d", seen);
    if (seen >= 0 && fstat(seen, &made) == 0 && S_ISSOCK(made.st_mode) &&
        made.st_uid == geteuid() && made.st_nlink == 1)
        done = chmod(path, 0666) == 0;
    fork_guard_close(seen);
    return done;
}

static bool bind_somewhere(struct rendezvous *self)
{
    unsigned first = 0;
    if (getrandom(&first, sizeof first, 0) != sizeof first)
        return false;
    first %= NAMES;
    for (unsigned attempt = 0; attempt < 2 * NAMES; attempt++) {
        snprintf(self->name, sizeof self->name, ".code_executor_socket_%u",
                 (first + attempt / 2) % NAMES);
        struct sockaddr_un address = address_of(self);
        if (bind(self->listener, (struct sockaddr *)&address, sizeof address) == 0)
            return true;
        if (errno != EADDRINUSE)
            return false;
        if (is_deserted(self))
            unlinkat(self->folder, self->name, 0);
        else
            attempt |= 1;
    }
    return false;
}

static void stop_listening(struct rendezvous *self)
{
    if (self->name[0])
        unlinkat(self->folder, self->name, 0);
    self->name[0] = '\0';
    while (self->visitor_count > 0)
        fork_guard_close(self->visitors[--self->visitor_count].socket);
    fork_guard_close(self->listener);
    fork_guard_close(self->folder);
    self->listener = self->folder = -1;
}

void rendezvous_open(struct rendezvous *self, const char *work_dir)
{
    *self = (struct rendezvous){.folder = -1, .listener = -1, .met = -1};
    if (!labels_random_id(self->proof))
        return;
    fork_guard_enter();
    self->folder = workspace_folder_open(work_dir, false);
    fork_guard_add(self->folder);
    fork_guard_leave();
    self->listener = fork_guard_socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    self->state = RENDEZVOUS_OPEN;
    bool bound = self->folder >= 0 && self->listener >= 0 && bind_somewhere(self);
    if (!bound)
        self->name[0] = '\0'; /* not ours to remove */
    if (!bound || !let_everybody_in(self) || listen(self->listener, QUEUE) != 0)
        rendezvous_close(self);
}

void rendezvous_close(struct rendezvous *self)
{
    if (self->state == RENDEZVOUS_NONE)
        return;
    stop_listening(self);
    if (self->way)
        self->way->operations->close(self->way);
    self->way = NULL;
    self->met = -1;
    self->state = RENDEZVOUS_NONE;
}

/* ---- visitors ---------------------------------------------------------------------------------- */

/* Engines give each container a control group with its number in the name. So may others: a person's processes may
 * have groups of their own making; which is why the visitor has to prove itself as well. */
static bool is_of(int visitor, const char *container_id)
{
    struct ucred peer = {0};
    socklen_t size = sizeof peer;
    char path[64], groups[GROUPS_SIZE];
    if (strlen(container_id) < CONTAINER_ID_LEAST ||
        getsockopt(visitor, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.pid <= 0)
        return false;
    snprintf(path, sizeof path, "/proc/%d/cgroup", (int)peer.pid);
    fork_guard_enter();
    int file = open(path, O_RDONLY | O_CLOEXEC);
    fork_guard_add(file);
    fork_guard_leave();
    ssize_t length = file < 0 ? -1 : read(file, groups, sizeof groups - 1);
    fork_guard_close(file);
    if (length <= 0)
        return false;
    groups[length] = '\0';
    return strstr(groups, container_id) != NULL;
}

static int accept_one(int listener)
{
    fork_guard_enter();
    int visitor = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    fork_guard_add(visitor);
    fork_guard_leave();
    return visitor;
}

/* Those that the container's control group speaks for get the first half of the proof, and a place. A visitor is
 * not sent away for another one: it may be the runner, which has just answered. */
static void let_in(struct rendezvous *self, const char *container_id)
{
    for (int count = 0; count < QUEUE && self->visitor_count < RENDEZVOUS_VISITORS; count++) {
        int visitor = accept_one(self->listener);
        if (visitor < 0)
            return;
        if (is_of(visitor, container_id) &&
            send(visitor, self->proof, HALF, MSG_NOSIGNAL) == (ssize_t)HALF)
            self->visitors[self->visitor_count++] = (struct rendezvous_visitor){visitor, 0};
        else
            fork_guard_close(visitor);
    }
}

static void send_away(struct rendezvous *self, size_t index)
{
    fork_guard_close(self->visitors[index].socket);
    self->visitors[index] = self->visitors[--self->visitor_count];
}

/* Reads no further than the answer, as frames may follow. False: it is not the runner. */
static bool hear_answer(struct rendezvous *self, struct rendezvous_visitor *visitor)
{
    char said[HALF];
    size_t wanted = HALF - visitor->answered;
    ssize_t count = recv(visitor->socket, said, wanted, 0);
    if (count < 0)
        return errno == EAGAIN || errno == EINTR;
    if (count == 0 || memcmp(said, self->proof + HALF + visitor->answered, (size_t)count) != 0)
        return false;
    visitor->answered += (size_t)count;
    return true;
}

static void go_with(struct rendezvous *self, size_t index)
{
    int runner = self->visitors[index].socket;
    self->visitors[index] = self->visitors[--self->visitor_count];
    stop_listening(self);
    self->way = socket_transport_create(runner, NULL, NULL);
    self->met = self->way ? runner : -1;
    self->state = RENDEZVOUS_TAKEN;
}

static void meet(struct rendezvous *self, const char *container_id)
{
    let_in(self, container_id);
    for (size_t i = 0; i < self->visitor_count && self->state == RENDEZVOUS_OPEN;)
        if (!hear_answer(self, &self->visitors[i]))
            send_away(self, i);
        else if (self->visitors[i].answered == HALF)
            go_with(self, i);
        else
            i++;
}

/* ---- frames ------------------------------------------------------------------------------------ */

ssize_t rendezvous_receive(struct rendezvous *self, const char *container_id, void *buffer,
                           size_t size)
{
    if (self->state == RENDEZVOUS_OPEN)
        meet(self, container_id);
    if (self->state != RENDEZVOUS_TAKEN)
        return TRANSPORT_AGAIN;
    return self->way ? self->way->operations->receive(self->way, buffer, size) : TRANSPORT_END;
}

size_t rendezvous_watch(const struct rendezvous *self, short wanted,
                        struct pollfd watched[RENDEZVOUS_WATCHED])
{
    size_t count = 0;
    if (self->state == RENDEZVOUS_TAKEN)
        watched[count++] = (struct pollfd){self->met, wanted, 0};
    if (self->state != RENDEZVOUS_OPEN)
        return count;
    for (; count < self->visitor_count; count++)
        watched[count] = (struct pollfd){self->visitors[count].socket, POLLIN, 0};
    if (count < RENDEZVOUS_VISITORS)
        watched[count++] = (struct pollfd){self->listener, POLLIN, 0};
    return count;
}
