/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.c: see launch.h.
 */
#include "launch.h"
#include "channel.h"
#include "supervisor.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* A standard input that is at its end. */
static int nothing = -1;

void launch_open(void)
{
    /* Attack: root in a container puts a fifo in the place of /dev/null. It is opened before code runs. */
    nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing >= 0)
        return;
    /* A sandbox without /dev. Sealed, or one command could leave something there for the next. */
    nothing = memfd_create("stdin", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    (void)fcntl(nothing, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
}

int launch_supervisor(int input, const struct spawn_request *spawn, bool keep_ptrace,
                      struct launched *launched)
{
    int channel[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) != 0)
        return errno;
    struct supervisor_setup setup = {
        .runner = getpid(),
        .channel = channel[1],
        .nothing = nothing,
        .input = input,
        .keep_ptrace = keep_ptrace,
    };
    pid_t pid = fork();
    if (pid == 0)
        supervisor_main(&setup, spawn);
    int error = errno;
    close(channel[1]);
    if (pid < 0) {
        close(channel[0]);
        return error;
    }
    *launched = (struct launched){pid, channel[0], {-1, -1}};
    return 0;
}

bool launch_order(const struct launched *launched, const unsigned char *frame, size_t length,
                  int input)
{
    return length <= SUPERVISOR_FRAME_MAX &&
           channel_send(launched->channel, frame, length, &input, input >= 0 ? 1 : 0);
}
