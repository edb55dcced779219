/* SPDX-License-Identifier: Apache-2.0 */
/* resources.c: sockets, and using up what there is. See attack.h. */
#include "attack.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static long try_socket(char **arguments)
{
    return socket((int)number(arguments[0]), SOCK_STREAM, 0);
}

static long try_socket_pair(char **arguments)
{
    int ends[2];
    return socketpair((int)number(arguments[0]), SOCK_STREAM, 0, ends);
}

/* Family, type and protocol. */
static long try_protocol(char **arguments)
{
    return socket((int)number(arguments[0]), (int)number(arguments[1]), (int)number(arguments[2]));
}

static long try_netlink(char **arguments)
{
    return socket(AF_NETLINK, SOCK_RAW, (int)number(arguments[0]));
}

static long try_tcp(char **arguments)
{
    int file = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)number(arguments[0])),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    return connect(file, (struct sockaddr *)&address, sizeof address);
}

static long try_unix(char **arguments)
{
    int file = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", arguments[0]);
    return connect(file, (struct sockaddr *)&address, sizeof address);
}

static long try_abstract(char **arguments)
{
    int file = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(arguments[0]);
    memcpy(address.sun_path + 1, arguments[0], length);
    return connect(file, (struct sockaddr *)&address,
                   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length));
}

static long eat_memory(char **arguments)
{
    long megabytes = number(arguments[0]);
    for (long i = 0; i < megabytes; i++) {
        char *piece =
            mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (piece == MAP_FAILED)
            return -1;
        memset(piece, (int)i + 1, 1 << 20);
    }
    return 0;
}

/* Fills a file; prints how many mebibytes went in. */
static long fill(char **arguments)
{
    static char mebibyte[1 << 20];
    int file = open(arguments[0], O_CREAT | O_WRONLY, 0600);
    long written = 0;
    while (file >= 0 && written < number(arguments[1]) &&
           write(file, mebibyte, sizeof mebibyte) == (ssize_t)sizeof mebibyte)
        written++;
    int errnum = errno;
    printf("%ld MiB ", written);
    errno = errnum;
    return written == number(arguments[1]) ? 0 : -1;
}

/* Makes processes until there can be no more; prints how many. */
static long fork_all(char **arguments)
{
    long made = 0;
    setpgid(0, 0);
    while (made < number(arguments[0])) {
        pid_t child = fork();
        if (child < 0)
            break;
        if (child == 0) {
            pause();
            _exit(0);
        }
        made++;
    }
    int errnum = errno;
    printf("%ld processes ", made);
    fflush(stdout);
    signal(SIGTERM, SIG_IGN);
    kill(0, SIGTERM);
    errno = errnum;
    return made == number(arguments[0]) ? 0 : -1;
}

/* Takes all instances of inotify that there are, of which a user has few, and keeps them. */
static long watch_all(char **arguments)
{
    (void)arguments;
    long made = 0;
    while (inotify_init1(0) >= 0)
        made++;
    printf("%ld instances\n", made);
    fflush(stdout);
    return pause();
}

/* Runs before everything else on the machine. */
static long try_real_time(char **arguments)
{
    (void)arguments;
    struct sched_param parameters = {.sched_priority = 1};
    return sched_setscheduler(0, SCHED_FIFO, &parameters);
}

static long try_priority(char **arguments)
{
    return setpriority(PRIO_PROCESS, 0, (int)number(arguments[0]));
}

const struct attack attacks_on_resources[] = {
    {"socket", 1, try_socket},
    {"socket-pair", 1, try_socket_pair},
    {"protocol", 3, try_protocol},
    {"netlink", 1, try_netlink},
    {"tcp", 1, try_tcp},
    {"unix", 1, try_unix},
    {"abstract", 1, try_abstract},
    {"eat-memory", 1, eat_memory},
    {"fill", 2, fill},
    {"fork-all", 1, fork_all},
    {"watch-all", 0, watch_all},
    {"real-time", 0, try_real_time},
    {"priority", 1, try_priority},
    {NULL, 0, NULL},
};
