/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.c: see launch.h.
 */
#include "launch.h"
#include "supervisor.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static void close_descriptor(int *descriptor)
{
    if (*descriptor >= 0)
        close(*descriptor);
    *descriptor = -1;
}

struct plumbing {
    int channel[2]; /* the runner's, the supervisor's */
    int pipes[2][2];
    int input;
};

static void close_plumbing(struct plumbing *plumbing)
{
    close_descriptor(&plumbing->channel[0]);
    close_descriptor(&plumbing->channel[1]);
    for (int i = 0; i < 2; i++) {
        close_descriptor(&plumbing->pipes[i][0]);
        close_descriptor(&plumbing->pipes[i][1]);
    }
    close_descriptor(&plumbing->input);
}

/* A standard input that is at its end. */
static int open_nothing(void)
{
    int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return input >= 0 ? input : memfd_create("stdin", MFD_CLOEXEC); /* a sandbox without /dev */
}

/* 0 or errno. */
static int lay_plumbing(int input, struct plumbing *plumbing)
{
    *plumbing = (struct plumbing){{-1, -1}, {{-1, -1}, {-1, -1}}, input};
    if (input < 0)
        plumbing->input = open_nothing();
    if (plumbing->input < 0 || pipe2(plumbing->pipes[0], O_CLOEXEC) != 0 ||
        pipe2(plumbing->pipes[1], O_CLOEXEC) != 0 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, plumbing->channel) != 0)
        return errno;
    for (int i = 0; i < 2; i++)
        if (fcntl(plumbing->pipes[i][0], F_SETFL, O_NONBLOCK) != 0)
            return errno;
    return 0;
}

/* Gives the runner's ends to LAUNCHED. */
static void hand_over(struct plumbing *plumbing, struct launched *launched)
{
    launched->channel = plumbing->channel[0];
    plumbing->channel[0] = -1;
    for (int i = 0; i < 2; i++) {
        launched->outputs[i] = plumbing->pipes[i][0];
        plumbing->pipes[i][0] = -1;
    }
}

int launch_supervisor(int input, const struct spawn_request *spawn, bool keep_ptrace,
                      struct launched *launched)
{
    struct plumbing plumbing;
    int error = lay_plumbing(input, &plumbing);
    if (error == 0) {
        struct supervisor_setup setup = {
            .runner = getpid(),
            .channel = plumbing.channel[1],
            .input = plumbing.input,
            .outputs = {plumbing.pipes[0][1], plumbing.pipes[1][1]},
            .taps = {plumbing.pipes[0][0], plumbing.pipes[1][0]},
            .keep_ptrace = keep_ptrace,
        };
        launched->supervisor = fork();
        if (launched->supervisor == 0)
            supervisor_main(&setup, spawn);
        if (launched->supervisor < 0)
            error = errno;
        else
            hand_over(&plumbing, launched);
    }
    close_plumbing(&plumbing);
    return error;
}

bool launch_order(const struct launched *launched, const unsigned char *frame, size_t length)
{
    return length <= SUPERVISOR_FRAME_MAX &&
           send(launched->channel, frame, length, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)length;
}
