/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_runner.c: see fake_runner.h.
 */
#include "fake_runner.h"

#include "fork_guard.h"
#include "socket_transport.h"
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void *run(void *argument)
{
    fake_runner *self = argument;
    self->behave(self);
    shutdown(self->fd, SHUT_RDWR);
    return NULL;
}

transport *fake_runner_start(fake_runner *self, void (*behave)(fake_runner *self), void *context)
{
    int ends[2];
    if (fork_guard_socketpair(ends) != 0)
        abort();
    self->fd = ends[1];
    self->behave = behave;
    self->context = context;
    transport *made = socket_transport_create(ends[0], NULL, NULL);
    if (!made || pthread_create(&self->thread, NULL, run, self) != 0)
        abort();
    return made;
}

void fake_runner_join(fake_runner *self)
{
    pthread_join(self->thread, NULL);
    fork_guard_close(self->fd);
}

static bool read_bytes(fake_runner *self, void *bytes, size_t length)
{
    unsigned char *at = bytes;
    while (length > 0) {
        ssize_t count = recv(self->fd, at, length, 0);
        if (count <= 0)
            return false;
        at += count;
        length -= (size_t)count;
    }
    return true;
}

bool fake_read(fake_runner *self, struct frame_header *header)
{
    unsigned char bytes[FRAME_HEADER_SIZE];
    if (!read_bytes(self, bytes, sizeof bytes))
        return false;
    *header = get_frame_header(bytes);
    return header->length <= sizeof self->payload &&
           read_bytes(self, self->payload, header->length);
}

bool fake_read_type(fake_runner *self, uint16_t type, struct frame_header *header)
{
    while (fake_read(self, header))
        if (header->type == type)
            return true;
    return false;
}

void fake_drain(fake_runner *self)
{
    struct frame_header header;
    while (fake_read(self, &header)) {
    }
}

void fake_write_bytes(fake_runner *self, const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    while (length > 0) {
        ssize_t count = send(self->fd, at, length, MSG_NOSIGNAL);
        if (count <= 0)
            return; /* the session has ended the connection */
        at += count;
        length -= (size_t)count;
    }
}

void fake_write(fake_runner *self, uint16_t type, uint16_t detail, uint32_t execution,
                const void *payload, uint32_t length)
{
    unsigned char header[FRAME_HEADER_SIZE];
    put_frame_header(header, (struct frame_header){length, type, detail, execution});
    fake_write_bytes(self, header, sizeof header);
    fake_write_bytes(self, payload, length);
}

void fake_output(fake_runner *self, uint32_t execution, uint16_t stream, const char *text)
{
    fake_write(self, FRAME_OUTPUT, stream, execution, text, (uint32_t)strlen(text));
}

size_t fake_compose_hello(unsigned char *at, uint32_t magic, uint32_t version)
{
    put_frame_header(at, (struct frame_header){26, FRAME_HELLO, 0, 0});
    at += FRAME_HEADER_SIZE;
    put_u32(at, magic);
    put_u32(at + 4, version);
    put_u32(at + 8, 1);
    put_u32(at + 12, 0);
    put_u32(at + 16, 6);
    memcpy(at + 20, "x86_64", 6);
    return FRAME_HEADER_SIZE + 26;
}

size_t fake_compose_exit(unsigned char *at, uint32_t execution, const session_exit *exit)
{
    uint32_t detail = (uint32_t)strlen(exit->detail);
    put_frame_header(at, (struct frame_header){48 + detail, FRAME_EXIT, 0, execution});
    at += FRAME_HEADER_SIZE;
    put_u32(at, exit->how);
    put_u32(at + 4, exit->exit_code);
    put_u32(at + 8, exit->signal);
    put_u32(at + 12, exit->errnum);
    put_u32(at + 16, exit->candidate);
    put_u64(at + 20, exit->wall_ns);
    put_u64(at + 28, exit->cpu_ns);
    put_u64(at + 36, exit->peak_memory_bytes);
    put_u32(at + 44, detail);
    memcpy(at + 48, exit->detail, detail);
    return FRAME_HEADER_SIZE + 48 + detail;
}

void fake_exit(fake_runner *self, uint32_t execution, uint32_t how, uint32_t code)
{
    unsigned char bytes[128];
    const session_exit exit = {.how = how, .exit_code = code};
    fake_write_bytes(self, bytes, fake_compose_exit(bytes, execution, &exit));
}

/* Behind the greeting the test's own behaviour goes on. */
struct greeted {
    void (*behave)(fake_runner *self);
    void *context;
};

static void greet_and_behave(fake_runner *self)
{
    struct greeted greeted = *(struct greeted *)self->context;
    free(self->context);
    self->context = greeted.context;
    struct frame_header header;
    unsigned char hello[64];
    if (fake_read(self, &header) && header.type == FRAME_HELLO) {
        fake_write_bytes(self, hello, fake_compose_hello(hello, PROTOCOL_MAGIC, PROTOCOL_VERSION));
        greeted.behave(self);
    }
}

session *fake_runner_open(fake_runner *self, void (*behave)(fake_runner *self), void *context)
{
    struct greeted *greeted = malloc(sizeof *greeted);
    if (!greeted)
        abort();
    *greeted = (struct greeted){behave, context};
    session *opened;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    if (session_open(fake_runner_start(self, greet_and_behave, greeted), false, -1, &opened,
                     &error) != CODE_EXECUTOR_OK)
        abort();
    return opened;
}

bool collect_output(void *collected_output, int32_t stream, const char *bytes, size_t length)
{
    (void)stream;
    collected *output = collected_output;
    size_t room = sizeof output->bytes - 1 - output->length;
    size_t kept = length < room ? length : room;
    memcpy(output->bytes + output->length, bytes, kept);
    output->length += kept;
    output->bytes[output->length] = '\0';
    output->total += length;
    return true;
}

session_command fake_command(collected *output)
{
    static const char *const arguments[] = {"sh", "file", NULL};
    static const char *const *const candidates[] = {arguments};
    return (session_command){.folder = "/workspace",
                             .candidates = candidates,
                             .candidate_count = 1,
                             .timeout_ms = 60000,
                             .grace_ms = 1000,
                             .user_data = output,
                             .on_output = collect_output};
}

int32_t fake_run(session *opened, const session_command *command, session_exit *exited)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    int32_t status = session_run(opened, command, NULL, exited, &error);
    return error.status == status ? status : CODE_EXECUTOR_INTERNAL;
}

void fake_runner_close(fake_runner *self, session *opened)
{
    session_release(opened);
    fake_runner_join(self);
}
