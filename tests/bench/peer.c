/* SPDX-License-Identifier: Apache-2.0 */
/* peer.c: see peer.h. */
#include "peer.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int peer_start(struct peer *peer, char *const argv[])
{
    int to[2];
    int from[2];
    if (pipe2(to, O_CLOEXEC) != 0)
        return -1;
    if (pipe2(from, O_CLOEXEC) != 0) {
        close(to[0]);
        close(to[1]);
        return -1;
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], 0);
    posix_spawn_file_actions_adddup2(&actions, from[1], 1);
    int failure = posix_spawnp(&peer->process, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(to[0]);
    close(from[1]);
    peer->requests = fdopen(to[1], "w");
    peer->answers = fdopen(from[0], "r");
    return failure != 0 || peer->requests == NULL || peer->answers == NULL ? -1 : 0;
}

int64_t peer_ask(struct peer *peer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(peer->requests, format, arguments);
    va_end(arguments);
    fputc('\n', peer->requests);
    fflush(peer->requests);
    char line[512];
    if (fgets(line, sizeof line, peer->answers) == NULL) {
        snprintf(peer->problem, sizeof peer->problem, "it ended without an answer");
        return -1;
    }
    if (strncmp(line, "ok ", 3) != 0) {
        line[strcspn(line, "\n")] = '\0';
        snprintf(peer->problem, sizeof peer->problem, "%.200s",
                 strncmp(line, "error ", 6) == 0 ? line + 6 : line);
        return -1;
    }
    return strtoll(line + 3, NULL, 10);
}

void peer_end(struct peer *peer)
{
    fclose(peer->requests);
    fclose(peer->answers);
    int status;
    waitpid(peer->process, &status, 0);
}
