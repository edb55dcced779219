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
#define VISITORS           128
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
    if (!bound || !let_everybody_in(self) || listen(self->listener, VISITORS) != 0)
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

/* Engines give each container a control group with its number in the name. */
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

static void let_in(struct rendezvous *self, const char *container_id)
{
    for (int count = 0; count < VISITORS; count++) {
        int visitor = accept_one(self->listener);
        if (visitor < 0)
            return;
        ssize_t length = (ssize_t)strlen(self->proof);
        if (!is_of(visitor, container_id) ||
            send(visitor, self->proof, (size_t)length, MSG_NOSIGNAL) != length) {
            fork_guard_close(visitor);
            continue;
        }
        self->way = socket_transport_create(visitor, NULL, NULL);
        if (!self->way)
            return;
        self->met = visitor;
        self->state = RENDEZVOUS_MET;
        return;
    }
}

/* ---- frames ------------------------------------------------------------------------------------ */

ssize_t rendezvous_receive(struct rendezvous *self, const char *container_id, void *buffer,
                           size_t size)
{
    if (self->state == RENDEZVOUS_OPEN)
        let_in(self, container_id);
    if (self->state != RENDEZVOUS_MET && self->state != RENDEZVOUS_TAKEN)
        return TRANSPORT_AGAIN;
    ssize_t count = self->way->operations->receive(self->way, buffer, size);
    if (count > 0 && self->state == RENDEZVOUS_MET) {
        stop_listening(self);
        self->state = RENDEZVOUS_TAKEN;
    }
    if (count != TRANSPORT_END || self->state == RENDEZVOUS_TAKEN)
        return count;
    rendezvous_close(self); /* it had waited for too long, and keeps to its stream */
    return TRANSPORT_AGAIN;
}

int rendezvous_descriptor(const struct rendezvous *self)
{
    switch (self->state) {
    case RENDEZVOUS_NONE:
        break;
    case RENDEZVOUS_OPEN:
        return self->listener;
    case RENDEZVOUS_MET:
    case RENDEZVOUS_TAKEN:
        return self->met;
    }
    return -1;
}
