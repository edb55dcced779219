/* SPDX-License-Identifier: Apache-2.0 */
/*
 * enter.c: sandbox_enter, the last step of the way in. A small static program.
 *
 *     sandbox.so ──▶ bwrap ──▶ sandbox_enter ──▶ runner        (one process, from bwrap on)
 *                    namespaces,  limits, Landlock,
 *                    mounts       seccomp
 *
 * bubblewrap knows no limits and no Landlock, and both are taken on by a process for itself and what it
 * starts. So this stands between the two, does as its arguments say, writes one line
 * to the descriptor `ready` and becomes the runner. (bubblewrap knows seccomp, but would load a filter
 * too early: it refuses some of what is done here.)
 *
 *     "1 N\n"       all is done; N is the version of Landlock in use, 0 for none
 *     "0 words\n"   nothing will be run, for this reason
 *
 * Its arguments come from command.c alone:
 *
 *     --ready FD                  where to report
 *     --workspace DEVICE INODE    what the folder of the moment must be
 *     --limit RESOURCE VALUE      setrlimit, soft and hard
 *     --processors COUNT          run on the first COUNT of the processors that are allowed
 *     --writable PATH             Landlock: all may be done beneath it; several times
 *     --filter FD                 where a seccomp program comes, to be loaded last
 *     -- PROGRAM ARGUMENT…
 *
 * Invariant: of the descriptors that it was given only 0, 1 and 2 reach the program.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WRITABLE_MAX 64

/* From linux/landlock.h, which the C library at hand may lack; numbers of the kernel's ABI. */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule       445
#define SYS_landlock_restrict_self  446
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#define SECCOMP_FILTER         2 /* linux/seccomp.h */
#define LANDLOCK_VERSION_QUERY 1u
#define LANDLOCK_RULE_BENEATH  1

struct landlock_ruleset {
    uint64_t files;  /* version 1 */
    uint64_t ports;  /* version 4 */
    uint64_t scopes; /* version 6 */
};

struct landlock_beneath {
    uint64_t allowed;
    int32_t folder;
} __attribute__((packed));

#define ACCESS_EXECUTE    (UINT64_C(1) << 0)
#define ACCESS_WRITE_FILE (UINT64_C(1) << 1)
#define ACCESS_READ_FILE  (UINT64_C(1) << 2)
#define ACCESS_READ_DIR   (UINT64_C(1) << 3)
#define ACCESS_TRUNCATE   (UINT64_C(1) << 14)
#define ACCESS_IOCTL_DEV  (UINT64_C(1) << 15)
/* Those that mean something for a file; the others are about folders, and refused on a file. */
#define ACCESS_TO_FILES                                                                            \
    (ACCESS_EXECUTE | ACCESS_WRITE_FILE | ACCESS_READ_FILE | ACCESS_TRUNCATE | ACCESS_IOCTL_DEV)
/* What a version knows: 13 kinds of access at first, then refer, truncate, ioctl on devices. */
#define ACCESS_OF_2 ((UINT64_C(1) << 14) - 1)
#define ACCESS_OF_3 ((UINT64_C(1) << 15) - 1)
#define ACCESS_OF_5 ((UINT64_C(1) << 16) - 1)
/* Outside of the sandbox no abstract socket can be connected to and no process signalled. */
#define SCOPES_OF_6 UINT64_C(3)

/* The first version with which files can be moved from folder to folder. */
#define LANDLOCK_LEAST 2

static int ready = -1;
static int filter = -1;
static const char *writable[WRITABLE_MAX];
static size_t writable_count;

static _Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
static _Noreturn void fail(const char *format, ...)
{
    char words[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    (void)dprintf(ready >= 0 ? ready : STDERR_FILENO, "0 %s\n", words);
    _exit(1);
}

static long long number(const char *text)
{
    char *end = NULL;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0')
        fail("sandbox_enter: %s is no number", text);
    return value;
}

static void take_ready(char **arguments)
{
    ready = (int)number(arguments[0]);
}

static unsigned long long unsigned_number(const char *text)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0')
        fail("sandbox_enter: %s is no number", text);
    return value;
}

/* Attack: see look_at_workspace in prerequisites.c. */
static void check_workspace(char **arguments)
{
    struct stat status;
    if (stat(".", &status) != 0)
        fail("cannot look at the workspace: %s", strerror(errno));
    if (status.st_dev != unsigned_number(arguments[0]) ||
        status.st_ino != unsigned_number(arguments[1]))
        fail("something else was put in the place of the workspace while the sandbox started");
}

/* glibc declares the resource as an enumeration, others as an int. */
#ifdef __GLIBC__
typedef enum __rlimit_resource resource;
#else
typedef int resource;
#endif

static void set_limit(char **arguments)
{
    resource what = (resource)number(arguments[0]);
    rlim_t value = (rlim_t)number(arguments[1]);
    struct rlimit limit = {value, value};
    struct rlimit present;
    if (getrlimit(what, &present) == 0 && present.rlim_max < value)
        limit.rlim_cur = limit.rlim_max = present.rlim_max;
    if (setrlimit(what, &limit) != 0)
        fail("cannot limit resource %d: %s", (int)what, strerror(errno));
}

static void choose_processors(char **arguments)
{
    long long wanted = number(arguments[0]);
    cpu_set_t allowed;
    cpu_set_t chosen;
    CPU_ZERO(&chosen);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return; /* a machine with more processors than a set holds has no use for this limit */
    for (size_t i = 0; i < CPU_SETSIZE && wanted > 0; i++) {
        if (!CPU_ISSET(i, &allowed))
            continue;
        CPU_SET(i, &chosen);
        wanted--;
    }
    if (sched_setaffinity(0, sizeof chosen, &chosen) != 0)
        fail("cannot choose processors: %s", strerror(errno));
}

static void add_writable(char **arguments)
{
    if (writable_count == WRITABLE_MAX)
        fail("more than %d writable folders", WRITABLE_MAX);
    writable[writable_count++] = arguments[0];
}

static void take_filter(char **arguments)
{
    filter = (int)number(arguments[0]);
}

static const struct {
    const char *name;
    int argument_count;
    void (*act)(char **arguments);
} options[] = {
    {"--ready", 1, take_ready},      {"--workspace", 2, check_workspace},
    {"--limit", 2, set_limit},       {"--processors", 1, choose_processors},
    {"--writable", 1, add_writable}, {"--filter", 1, take_filter},
};

/* Acts on the options; returns the program's arguments. */
static char **act_on_options(int count, char **arguments)
{
    int at = 1;
    while (at < count && strcmp(arguments[at], "--") != 0) {
        size_t i = 0;
        while (i < sizeof options / sizeof options[0] &&
               strcmp(options[i].name, arguments[at]) != 0)
            i++;
        if (i == sizeof options / sizeof options[0] || at + options[i].argument_count >= count)
            fail("sandbox_enter: %s is not understood", arguments[at]);
        options[i].act(arguments + at + 1);
        at += 1 + options[i].argument_count;
    }
    if (at + 1 >= count)
        fail("sandbox_enter: no program");
    return arguments + at + 1;
}

static void allow(int ruleset, const char *path, uint64_t access)
{
    struct landlock_beneath rule = {access, open(path, O_PATH | O_CLOEXEC)};
    struct stat status;
    if (rule.folder < 0 || fstat(rule.folder, &status) != 0)
        fail("cannot open %s: %s", path, strerror(errno));
    if (!S_ISDIR(status.st_mode))
        rule.allowed &= ACCESS_TO_FILES;
    if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_BENEATH, &rule, 0) != 0)
        fail("cannot allow %s: %s", path, strerror(errno));
    close(rule.folder);
}

/*
 * The second wall. Attack: code gets hold of something outside of its mounts, through a fault of the
 * kernel or of bubblewrap, or by a descriptor that leaked. Landlock allows what lies beneath the folders
 * of *this* root and nothing else, wherever it is reached from; of these it allows writing to only some,
 * forbids every mount and, from version 6 on, signals and abstract sockets to the outside, which a
 * sandbox that shares the host's network would otherwise reach. Returns the version, 0 for none.
 */
static int put_up_landlock(void)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, (size_t)0, LANDLOCK_VERSION_QUERY);
    if (version < LANDLOCK_LEAST)
        return 0;
    uint64_t all = version >= 5 ? ACCESS_OF_5 : version >= 3 ? ACCESS_OF_3 : ACCESS_OF_2;
    struct landlock_ruleset attributes = {all, 0, version >= 6 ? SCOPES_OF_6 : 0};
    size_t size = version >= 6 ? sizeof attributes : sizeof attributes.files;
    int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attributes, size, 0);
    if (ruleset < 0)
        fail("cannot make a Landlock ruleset: %s", strerror(errno));
    uint64_t reading = ACCESS_EXECUTE | ACCESS_READ_FILE | ACCESS_READ_DIR;
    allow(ruleset, "/", reading);
    allow(ruleset, "/dev", (reading | ACCESS_WRITE_FILE | ACCESS_IOCTL_DEV) & all);
    for (size_t i = 0; i < writable_count; i++)
        allow(ruleset, writable[i], all);
    if (syscall(SYS_landlock_restrict_self, ruleset, 0) != 0)
        fail("cannot take on the Landlock ruleset: %s", strerror(errno));
    close(ruleset);
    return (int)version;
}

/* The kernel's structures of linux/filter.h: an array of instructions of eight bytes. */
#define INSTRUCTION_SIZE 8
#define INSTRUCTIONS_MAX 4096

struct filter_program {
    unsigned short length;
    const void *instructions;
};

/* The host makes the filter while bubblewrap is at work, and sends it when it is done. */
static size_t read_filter(unsigned char *bytes, size_t room)
{
    size_t length = 0;
    ssize_t part = 1;
    while (part > 0 && length < room) {
        part = read(filter, bytes + length, room - length);
        length += part > 0 ? (size_t)part : 0;
    }
    if (part < 0)
        fail("the seccomp filter cannot be read: %s", strerror(errno));
    if (length == 0)
        fail("the host has given up");
    return length;
}

static void load_filter(void)
{
    static uint64_t instructions[INSTRUCTIONS_MAX];
    if (filter < 0)
        return;
    size_t size = read_filter((unsigned char *)instructions, sizeof instructions);
    if (size == sizeof instructions || size % INSTRUCTION_SIZE != 0)
        fail("the seccomp filter is not whole");
    struct filter_program program = {(unsigned short)(size / INSTRUCTION_SIZE), instructions};
    if (prctl(PR_SET_SECCOMP, SECCOMP_FILTER, &program, 0, 0) != 0)
        fail("cannot load the seccomp filter: %s", strerror(errno));
}

/*
 * Attack: the key ring of the host's session, of which its children have a share, holds keys of file systems and
 * tickets. A new one has none. What the kernel answers does not matter: seccomp refuses keys altogether, and
 * this stands behind it.
 */
static void leave_key_ring(void)
{
    (void)syscall(SYS_keyctl, 1 /* join a session's key ring */, NULL, 0, 0, 0);
}

/* Attack: a folder of the host, left open by whoever started us, is a way out of every mount namespace. */
static void close_from(unsigned first)
{
    if (syscall(SYS_close_range, first, ~0u, 0) == 0)
        return;
    struct rlimit limit;
    unsigned end = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max < 1048576
                       ? (unsigned)limit.rlim_max
                       : 1048576;
    for (unsigned file = first; file < end; file++)
        close((int)file);
}

int main(int count, char **arguments)
{
    char **program = act_on_options(count, arguments);
    /* bubblewrap has set it already, or Landlock could not be taken on without it. */
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        fail("cannot give up new privileges: %s", strerror(errno));
    leave_key_ring();
    int landlock = put_up_landlock();
    if (access(program[0], X_OK) != 0)
        fail("cannot run %s: %s", program[0], strerror(errno));
    load_filter();
    (void)dprintf(ready, "1 %d\n", landlock);
    close_from(3);
    execv(program[0], program);
    (void)dprintf(STDERR_FILENO, "cannot run %s: %s\n", program[0], strerror(errno));
    return 1;
}
