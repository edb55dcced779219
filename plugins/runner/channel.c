/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.c: see channel.h.
 */
#include "channel.h"
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Space for the descriptors, aligned as it must be. */
union control {
    struct cmsghdr header;
    char space[CMSG_SPACE(CHANNEL_DESCRIPTORS_MAX * sizeof(int))];
};

/* The C libraries disagree about the type of these lengths. */
static socklen_t space_for(size_t count)
{
    return (socklen_t)CMSG_SPACE(count * sizeof(int));
}

static socklen_t length_for(size_t count)
{
    return (socklen_t)CMSG_LEN(count * sizeof(int));
}

bool channel_send(int channel, const void *message, size_t length, const int *descriptors,
                  size_t count)
{
    struct iovec part = {(void *)(uintptr_t)message, length};
    struct msghdr envelope = {.msg_iov = &part, .msg_iovlen = 1};
    union control control;
    if (count > 0) {
        memset(&control, 0, sizeof control);
        envelope.msg_control = &control;
        envelope.msg_controllen = space_for(count);
        struct cmsghdr *header = CMSG_FIRSTHDR(&envelope);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = length_for(count);
        memcpy(CMSG_DATA(header), descriptors, count * sizeof(int));
    }
    return sendmsg(channel, &envelope, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)length;
}

ssize_t channel_receive(int channel, void *message, size_t size, int flags, int *descriptors,
                        size_t count)
{
    struct iovec part = {message, size};
    union control control;
    memset(&control, 0, sizeof control);
    struct msghdr envelope = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = space_for(count),
    };
    for (size_t i = 0; i < count; i++)
        descriptors[i] = -1;
    ssize_t length = recvmsg(channel, &envelope, flags | MSG_CMSG_CLOEXEC);
    if (length <= 0)
        return length;
    const struct cmsghdr *header = CMSG_FIRSTHDR(&envelope);
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
        header->cmsg_len > length_for(0))
        memcpy(descriptors, CMSG_DATA(header), (size_t)header->cmsg_len - length_for(0));
    return length;
}
