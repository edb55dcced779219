/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wakeup_pair.c: finds a multi handle's wake-up pair among the process's sockets; see wakeup_pair.h.
 *
 * Fork is held off from before the pair exists until it is marked. Of the descriptors of other threads,
 * which come and go meanwhile, none can be taken for it: each test below is one that only wake-ups of
 * this very handle pass.
 */
#include "wakeup_pair.h"
#include "fork_guard.h"
#include <dirent.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * What tells a wake-up pair from every other socket of the process: each wake-up adds one byte to what
 * waits unread at the one end and to what is unsent at the other, and a poll takes all of it away.
 */
struct candidate {
    int descriptor;
    int waiting; /* bytes unread, or what the kernel charges for bytes unsent */
    bool reads;
};

static bool measure(int descriptor, int *unread, int *unsent)
{
    int domain = 0;
    socklen_t size = sizeof domain;
    int flags = fcntl(descriptor, F_GETFD);
    return flags >= 0 && !(flags & FD_CLOEXEC) &&
           getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 &&
           domain == AF_UNIX && ioctl(descriptor, FIONREAD, unread) == 0 &&
           ioctl(descriptor, SIOCOUTQ, unsent) == 0;
}

struct candidates {
    struct candidate at[32];
    size_t count;
};

/* After the first wake-up: the sockets with one byte unread, or with something unsent. */
static void find_candidates(struct candidates *found)
{
    found->count = 0;
    DIR *folder = opendir("/proc/self/fd");
    if (!folder)
        return;
    for (struct dirent *entry; (entry = readdir(folder));) {
        int descriptor = atoi(entry->d_name), unread = 0, unsent = 0;
        if (entry->d_name[0] == '.' || !measure(descriptor, &unread, &unsent) ||
            (unread == 1) == (unsent > 0) || found->count == sizeof found->at / sizeof found->at[0])
            continue;
        found->at[found->count++] =
            (struct candidate){descriptor, unread == 1 ? 1 : unsent, unread == 1};
    }
    closedir(folder);
}

/* Keeps those that a further wake-up has changed as it changes the pair. */
static void narrow(struct candidates *found)
{
    size_t kept = 0;
    for (size_t i = 0; i < found->count; i++) {
        struct candidate one = found->at[i];
        int unread = 0, unsent = 0;
        bool grown = measure(one.descriptor, &unread, &unsent) &&
                     (one.reads ? unread == one.waiting + 1 && unsent == 0
                                : unread == 0 && unsent > one.waiting);
        one.waiting = one.reads ? unread : unsent;
        if (grown)
            found->at[kept++] = one;
    }
    found->count = kept;
}

static void mark(CURLM *multi, struct wakeup_pair *pair)
{
    struct candidates found;
    size_t count = 0;
    if (curl_multi_wakeup(multi) != CURLM_OK)
        return;
    find_candidates(&found);
    for (int i = 0; i < 2 && found.count > 0; i++) {
        curl_multi_wakeup(multi);
        narrow(&found);
    }
    curl_multi_poll(multi, NULL, 0, 0, NULL);
    for (size_t i = 0; i < found.count && count < 2; i++) {
        int descriptor = found.at[i].descriptor, unread = 0, unsent = 0;
        if (!measure(descriptor, &unread, &unsent) || unread != 0 || unsent != 0)
            continue;
        fcntl(descriptor, F_SETFD, FD_CLOEXEC);
        fork_guard_add(descriptor);
        pair->descriptors[count++] = descriptor;
    }
}

CURLM *wakeup_pair_guard(struct wakeup_pair *pair)
{
    *pair = (struct wakeup_pair){{-1, -1}};
    fork_guard_enter();
    CURLM *multi = curl_multi_init();
    if (multi)
        mark(multi, pair);
    fork_guard_leave();
    return multi;
}

/* The numbers stay taken until libcurl closes them, and lead to nothing that a child could hold open: so a fork
 * between here and there finds no connection that nobody closes in it. */
void wakeup_pair_release(struct wakeup_pair *pair)
{
    fork_guard_enter();
    int nothing = open("/", O_PATH | O_CLOEXEC);
    for (size_t i = 0; i < 2; i++) {
        if (nothing >= 0 && pair->descriptors[i] >= 0)
            dup3(nothing, pair->descriptors[i], O_CLOEXEC);
        fork_guard_remove(pair->descriptors[i]);
    }
    if (nothing >= 0)
        close(nothing);
    fork_guard_leave();
}
