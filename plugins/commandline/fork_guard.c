/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork_guard.c: see fork_guard.h.
 *
 * The registry is a bitmap over descriptor numbers and a list of transports, under one lock that the
 * prepare handler takes, so that a fork finds it whole. In the child only close() and the transports'
 * forget run: both safe in a child of a process with many threads.
 *
 * glibc files the handlers under the shared object that registered them and drops them when it is
 * unloaded, so a host that forks after dlclose calls nothing of ours.
 */
#include "fork_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { WORD_BITS = 64 };

static pthread_mutex_t guard_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t guard_once = PTHREAD_ONCE_INIT;
static uint64_t *known; /* a bit for each descriptor */
static size_t known_words;
static fork_guard_node *watched_first;

static void before_fork(void)
{
    pthread_mutex_lock(&guard_lock);
}

static void after_fork_in_parent(void)
{
    pthread_mutex_unlock(&guard_lock);
}

static void after_fork_in_child(void)
{
    for (fork_guard_node *node = watched_first; node; node = node->next)
        node->transport->operations->forget(node->transport);
    watched_first = NULL;
    for (size_t word = 0; word < known_words; word++) {
        for (int bit = 0; known[word] != 0; bit++, known[word] >>= 1)
            if (known[word] & 1)
                close((int)word * WORD_BITS + bit);
    }
    pthread_mutex_unlock(&guard_lock);
}

static void register_handlers(void)
{
    /* ENOMEM is all that can go wrong; then a forked child holds copies, and nothing else changes. */
    (void)pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

__attribute__((destructor)) static void free_registry(void)
{
    free(known);
    known = NULL;
    known_words = 0;
}

void fork_guard_enter(void)
{
    pthread_once(&guard_once, register_handlers);
    pthread_mutex_lock(&guard_lock);
}

void fork_guard_leave(void)
{
    pthread_mutex_unlock(&guard_lock);
}

static bool make_room(size_t words)
{
    if (words <= known_words)
        return true;
    uint64_t *larger = realloc(known, words * sizeof *larger);
    if (!larger)
        return false;
    memset(larger + known_words, 0, (words - known_words) * sizeof *larger);
    known = larger;
    known_words = words;
    return true;
}

void fork_guard_add(int fd)
{
    size_t word = (size_t)fd / WORD_BITS;
    if (fd >= 0 && make_room(word + 1))
        known[word] |= UINT64_C(1) << (fd % WORD_BITS);
}

void fork_guard_remove(int fd)
{
    size_t word = (size_t)fd / WORD_BITS;
    if (fd >= 0 && word < known_words)
        known[word] &= ~(UINT64_C(1) << (fd % WORD_BITS));
}

void fork_guard_close(int fd)
{
    if (fd < 0)
        return;
    int saved = errno;
    fork_guard_enter();
    fork_guard_remove(fd);
    close(fd);
    fork_guard_leave();
    errno = saved;
}

int fork_guard_eventfd(void)
{
    fork_guard_enter();
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    fork_guard_add(fd);
    fork_guard_leave();
    return fd;
}

int fork_guard_socket(int domain, int type, int protocol)
{
    fork_guard_enter();
    int fd = socket(domain, type | SOCK_CLOEXEC, protocol);
    fork_guard_add(fd);
    fork_guard_leave();
    return fd;
}

static int add_both(int result, const int fds[2])
{
    if (result == 0) {
        fork_guard_add(fds[0]);
        fork_guard_add(fds[1]);
    }
    return result;
}

int fork_guard_socketpair(int fds[2])
{
    fork_guard_enter();
    int result = add_both(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), fds);
    fork_guard_leave();
    return result;
}

int fork_guard_pipe(int fds[2])
{
    fork_guard_enter();
    int result = add_both(pipe2(fds, O_CLOEXEC), fds);
    fork_guard_leave();
    return result;
}

void fork_guard_watch(fork_guard_node *node, transport *watched)
{
    fork_guard_enter();
    node->transport = watched;
    node->previous = NULL;
    node->next = watched_first;
    if (watched_first)
        watched_first->previous = node;
    watched_first = node;
    fork_guard_leave();
}

void fork_guard_unwatch(fork_guard_node *node)
{
    fork_guard_enter();
    if (node->previous)
        node->previous->next = node->next;
    else if (watched_first == node)
        watched_first = node->next;
    if (node->next)
        node->next->previous = node->previous;
    node->previous = NULL;
    node->next = NULL;
    fork_guard_leave();
}
