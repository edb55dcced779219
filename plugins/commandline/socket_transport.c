/* SPDX-License-Identifier: Apache-2.0 */
/*
 * socket_transport.c: see socket_transport.h.
 *
 * MSG_DONTWAIT makes each call nonblocking without changing the socket, whose other end may share
 * nothing with us but the kernel; MSG_NOSIGNAL keeps SIGPIPE from the host.
 */
#include "socket_transport.h"

#include "fork_guard.h"
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct socket_transport {
    transport base;
    int fd;
    bool (*explain)(void *state, code_executor_error *error);
    void *state;
};

static struct socket_transport *of(transport *self)
{
    return (struct socket_transport *)(void *)self;
}

static bool is_temporary(int errnum)
{
    return errnum == EAGAIN || errnum == EWOULDBLOCK || errnum == EINTR || errnum == ENOBUFS ||
           errnum == ENOMEM;
}

static ssize_t socket_send(transport *self, const void *bytes, size_t length)
{
    ssize_t count = send(of(self)->fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count >= 0)
        return count;
    return is_temporary(errno) ? TRANSPORT_AGAIN : TRANSPORT_END;
}

static ssize_t socket_receive(transport *self, void *buffer, size_t size)
{
    ssize_t count = recv(of(self)->fd, buffer, size, MSG_DONTWAIT);
    if (count > 0)
        return count;
    return count < 0 && is_temporary(errno) ? TRANSPORT_AGAIN : TRANSPORT_END;
}

static void socket_wait(transport *self, bool for_sending, int wake_fd, int timeout_ms)
{
    struct pollfd ready[2] = {{.fd = of(self)->fd, .events = for_sending ? POLLOUT : POLLIN},
                              {.fd = wake_fd, .events = POLLIN}};
    (void)poll(ready, 2, timeout_ms);
}

static void socket_explain(transport *self, code_executor_error *error)
{
    if (of(self)->explain)
        self->out_of_memory = of(self)->explain(of(self)->state, error);
}

static void socket_close(transport *self)
{
    /* Also where a process that we do not know of has a copy of the socket, the other side shall see
     * its end. */
    shutdown(of(self)->fd, SHUT_RDWR);
    fork_guard_close(of(self)->fd);
    free(of(self));
}

static void socket_forget(transport *self)
{
    /* The descriptor is fork_guard's, which closes it; shutdown would reach the parent's. */
    (void)self;
}

static const struct transport_operations socket_operations = {
    .send = socket_send,
    .receive = socket_receive,
    .wait = socket_wait,
    .explain = socket_explain,
    .close = socket_close,
    .forget = socket_forget,
};

transport *socket_transport_create(int fd, bool (*explain)(void *state, code_executor_error *error),
                                   void *state)
{
    struct socket_transport *self = malloc(sizeof *self);
    if (!self) {
        fork_guard_close(fd);
        return NULL;
    }
    self->base = (transport){.operations = &socket_operations};
    self->fd = fd;
    self->explain = explain;
    self->state = state;
    return &self->base;
}
