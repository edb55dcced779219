/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spawn.c: compiled into the benchmark (for the host) and into the spawner (for a container), so that
 * both baselines are the same code.
 */
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 256 };

extern char **environ;

int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static bool start_one(char *const argv[], pid_t *child, int *output)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    int failure = posix_spawnp(child, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (failure != 0) {
        close(ends[0]);
        return false;
    }
    *output = ends[0];
    return true;
}

/* Reads all of them until each has ended. */
static void drain(struct pollfd *outputs, int count)
{
    char buffer[65536];
    for (int open = count; open > 0;) {
        if (poll(outputs, (nfds_t)count, -1) < 0 && errno != EINTR)
            return;
        for (int i = 0; i < count; i++) {
            if (outputs[i].revents == 0)
                continue;
            if (read(outputs[i].fd, buffer, sizeof buffer) <= 0) {
                close(outputs[i].fd);
                outputs[i].fd = -1;
                outputs[i].revents = 0;
                open--;
            }
        }
    }
}

int64_t spawn_ns(char *const argv[], int count)
{
    double memory;
    return spawn_and_weigh_ns(argv, count, &memory);
}

int64_t spawn_and_weigh_ns(char *const argv[], int count, double *memory)
{
    *memory = 0;
    if (count > MOST)
        return -1;
    pid_t children[MOST];
    struct pollfd outputs[MOST];
    int64_t began = now_ns();
    int started = 0;
    while (started < count && start_one(argv, &children[started], &outputs[started].fd)) {
        outputs[started].events = POLLIN;
        started++;
    }
    drain(outputs, started);
    bool good = started == count;
    for (int i = 0; i < started; i++) {
        int status;
        struct rusage usage = {0};
        good = wait4(children[i], &status, 0, &usage) == children[i] && status == 0 && good;
        *memory += (double)usage.ru_maxrss / 1024;
    }
    return good ? now_ns() - began : -1;
}
