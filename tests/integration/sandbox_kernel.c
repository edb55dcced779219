/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox_kernel.c: what code inside a sandbox asks of the kernel, and the answer. Each attempt is a test:
 * attack/ makes it, inside, and what the kernel answered must be what the table says. Attempts
 * that any program makes, and that must succeed, stand among them: a sandbox that refuses all is easy.
 */
#include "sandbox_support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct attempt {
    const char *arguments; /* of the attack program */
    const char *answer;    /* several that are right are separated by spaces */
};

static const struct attempt attempts[] = {
    /* mounts */
    {"mount", "EPERM"},
    {"mount-proc", "EPERM"},
    {"umount /proc", "EPERM"},
    {"umount /usr", "EPERM"},
    {"pivot-root", "EPERM"},
    {"chroot", "EPERM"},
    {"open-tree", "EPERM"},
    {"fsopen", "EPERM"},
    {"move-mount", "EPERM"},
    /* namespaces: user, mount, process, network, IPC, UTS, cgroup, time */
    {"unshare 0x10000000", "EPERM"},
    {"unshare 0x00020000", "EPERM"},
    {"unshare 0x20000000", "EPERM"},
    {"unshare 0x40000000", "EPERM"},
    {"unshare 0x08000000", "EPERM"},
    {"unshare 0x04000000", "EPERM"},
    {"unshare 0x02000000", "EPERM"},
    {"unshare 0x00000080", "EPERM"},
    {"unshare 0x00000400", "ok"}, /* descriptors of its own: no namespace */
    {"clone 0x10000000", "EPERM"},
    {"clone 0x10020000", "EPERM"},
    {"clone 0x40000000", "EPERM"},
    {"clone 0", "ok"},
    {"clone3 0x10000000", "ENOSYS"},
    {"clone3 0", "ENOSYS"}, /* so that libc takes clone */
    {"setns", "EPERM"},
    /* the runner, process 1, and the supervisor of this run */
    {"attach 1", "EPERM"},
    {"attach $PPID", "EPERM"},
    {"seize 1", "EPERM"},
    {"wide-attach 1", "EPERM"},
    {"read-memory 1", "EPERM"},
    {"open-descriptors 1", "EACCES"},
    {"open-descriptors $PPID", "EACCES"},
    {"steal-descriptor 1", "EPERM"},
    {"steal-descriptor $PPID", "EPERM"},
    /* key rings */
    {"keyctl", "EPERM"},
    {"add-key", "EPERM"},
    {"request-key", "EPERM"},
    /* programs in the kernel, races, rings */
    {"bpf", "EPERM"},
    {"perf", "EPERM"},
    {"userfaultfd", "EPERM"},
    {"io-uring", "EPERM"},
    /* the machine */
    {"init-module", "EPERM"},
    {"finit-module", "EPERM"},
    {"delete-module", "EPERM"},
    {"kexec", "EPERM"},
    {"syslog", "EPERM"},
    {"clock", "EPERM"},
    {"hostname", "EPERM"},
    /* calls younger than the filter, and other machines' */
    {"call 451", "ENOSYS"},
    {"call 457", "ENOSYS"},
    {"call 467", "ENOSYS"},
#ifdef __x86_64__
    {"i386", "EPERM"},
    {"x32", "ENOSYS"},
#endif
    /* files of the system */
    {"write /usr/attack", "EROFS EACCES"},
    {"write /usr/bin/sh", "EROFS EACCES ETXTBSY"},
    {"write /etc/passwd", "EROFS EACCES"},
    {"write /attack", "EROFS EACCES"},
    {"write /dev/attack", "EROFS EACCES"},
    {"write /run/code_executor/runner", "EROFS EACCES ETXTBSY"},
    {"open-to-write /proc/sys/kernel/core_pattern", "EROFS EACCES"},
    {"open-to-write /proc/sys/kernel/modprobe", "EROFS EACCES ENOENT"},
    {"open-to-write /proc/sysrq-trigger", "EROFS EACCES ENOENT"},
    {"open-to-write /proc/1/oom_score_adj", "EROFS EACCES"},
    {"open /etc/shadow", "ENOENT"},
    {"open /dev/mem", "ENOENT"},
    {"open /dev/kmsg", "ENOENT"},
    {"open /dev/kvm", "ENOENT"},
    {"open /dev/fuse", "ENOENT"},
    {"open /sys/kernel", "ENOENT"},
    {"open /proc/slabinfo", "EACCES ENOENT"},
    {"open /proc/vmallocinfo", "EACCES ENOENT"},
    {"open /proc/kpageflags", "EACCES ENOENT"},
    {"write made", "ok"},
    {"write /tmp/made", "ok"},
    {"write /dev/shm/made", "ok"},
    {"write /home/sandbox/made", "ok"},
    {"write /dev/null", "ok"},
    {"handle /usr", "EPERM"},
    {"device", "EPERM"},
    /* files that lend rights */
    {"chmod-set-id 04755", "EPERM"},
    {"chmod-set-id 02755", "EPERM"},
    {"chmod-set-id 0755", "ok"},
    {"open-set-id 04755", "EPERM"},
    {"open-set-id 02755", "EPERM"},
    {"openat2 04755", "ENOSYS"},
    /* terminals: TIOCSTI, TIOCLINUX, and TIOCSTI with a bit above those that the kernel reads */
    {"type 0x5412", "EPERM"},
    {"type 0x541c", "EPERM"},
    {"type 0x100005412", "EPERM"},
    /* crashes */
    {"core-limit", "EPERM"},
    /* families of sockets: vsock, packet, the kernel's ciphers, Bluetooth, vsock with a bit too many */
    {"socket 40", "EAFNOSUPPORT"},
    {"socket 17", "EAFNOSUPPORT"},
    {"socket 38", "EAFNOSUPPORT"},
    {"socket 31", "EAFNOSUPPORT"},
    {"socket 0x100000028", "EAFNOSUPPORT"},
    {"socket 9", "EAFNOSUPPORT"},
    {"socket 1", "ok"},
    {"socket 2", "ok"},
    {"socket 10", "ok EAFNOSUPPORT"}, /* where the machine has no IPv6 */
    {"netlink 0", "ok"},
    {"netlink 15", "EPROTONOSUPPORT"},
    {"netlink 12", "EPROTONOSUPPORT"},
    {"socket-pair 1", "ok"},
    {"socket-pair 30", "EAFNOSUPPORT"}, /* TIPC */
    {"socket-pair 40", "EAFNOSUPPORT"},
    {"socket-pair 16", "EAFNOSUPPORT"},
    {"socket-pair 0x10000001e", "EAFNOSUPPORT"},
    /* protocols: TCP, UDP; SCTP, DCCP, L2TP, UDP-Lite */
    {"protocol 2 1 6", "ok"},
    {"protocol 2 2 17", "ok"},
    {"protocol 2 1 132", "EPROTONOSUPPORT"},
    {"protocol 10 5 132", "EPROTONOSUPPORT"},
    {"protocol 2 6 33", "EPROTONOSUPPORT ESOCKTNOSUPPORT"},
    {"protocol 2 6 0", "ESOCKTNOSUPPORT"},
    {"protocol 10 0x80806 0", "ESOCKTNOSUPPORT"}, /* with flags */
    {"protocol 2 2 115", "EPROTONOSUPPORT"},
    {"protocol 2 2 136", "EPROTONOSUPPORT"},
    /* before others */
    {"real-time", "EPERM"},
    {"priority -5", "EPERM EACCES"},
    {"priority 5", "ok"},
};

enum { ATTEMPTS = sizeof attempts / sizeof attempts[0] };

static box *shared;

static int start(void **state)
{
    (void)state;
    shared = box_new("");
    return 0;
}

static int stop(void **state)
{
    (void)state;
    box_free(shared);
    return 0;
}

static bool is_one_of(const char *answer, const char *answers)
{
    char *list = strdup(answers);
    char *rest = NULL;
    bool found = false;
    for (char *one = strtok_r(list, " ", &rest); one; one = strtok_r(NULL, " ", &rest))
        found = found || strcmp(one, answer) == 0;
    free(list);
    return found;
}

static void gets_the_answer(void **state)
{
    const struct attempt *attempt = *state;
    const char *answer = box_attack(shared, "%s", attempt->arguments);
    if (!is_one_of(answer, attempt->answer))
        fail_msg("%s: %s, where it must be %s", attempt->arguments, answer, attempt->answer);
}

int main(void)
{
    sandbox_require();
    static struct CMUnitTest tests[ATTEMPTS];
    for (size_t i = 0; i < ATTEMPTS; i++)
        tests[i] = (struct CMUnitTest){.name = attempts[i].arguments,
                                       .test_func = gets_the_answer,
                                       .initial_state = (void *)(uintptr_t)&attempts[i]};
    return cmocka_run_group_tests_name("sandbox_kernel", tests, start, stop);
}
