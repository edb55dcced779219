/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helper_process.c: see helper_process.h.
 *
 * Both clones share the host's memory and hold the calling thread up until they exit or exec
 * (CLONE_VM | CLONE_VFORK, as posix_spawn does it): a host of many gigabytes is not copied. Nothing
 * depends on that, though: what is reported travels through a socket and a pipe, so that it also works
 * where the flags are taken for a plain fork (valgrind).
 *
 * Rules for the two children, which run inside a host with any number of threads: system calls alone (no
 * libc function that takes a lock, allocates or is intercepted by a sanitizer), on stacks of their own,
 * with every signal blocked until the dispositions are reset; a handler of the host must never run in
 * them, since it would run on the host's memory.
 */
#include "helper_process.h"

#include "clock.h"
#include "clone_into.h"
#include "fork_guard.h"
#include "text.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define IN_CHILD   __attribute__((no_sanitize("address", "thread", "undefined")))
#define STACK_SIZE (64u * 1024u)

/* A thread sanitizer intercepts clone as if it were fork, and takes the host for its own child when
 * memory is shared. It does not know the other name. */
#ifdef __GLIBC__
extern int __clone(int (*function)(void *), void *stack, int flags, void *argument, ...);
#else
#define __clone clone
#endif

enum { KERNEL_MASK_BYTES = _NSIG / 8, REPORT_FD = 3 };

enum stage { STAGE_CLONE, STAGE_GROUP, STAGE_DESCRIPTORS, STAGE_FOLDER, STAGE_EXEC };

static const char *const stage_words[] = {
    [STAGE_CLONE] = "cannot make a process for",
    [STAGE_GROUP] = "cannot set the cgroup of",
    [STAGE_DESCRIPTORS] = "cannot set up the descriptors of",
    [STAGE_FOLDER] = "cannot enter the working directory of",
    [STAGE_EXEC] = "cannot execute",
};

/* What went wrong, or errnum 0. */
struct report {
    int32_t stage;
    int32_t errnum;
    int32_t pid;
};

/* Everything that the children need, prepared before there are any. */
struct start {
    const helper_process_options *options;
    int error_output;            /* the helper's standard error */
    int answer;                  /* the middleman's end of the socket to the host */
    unsigned char *helper_stack; /* of STACK_SIZE */
    bool born_into_version_2;    /* the helper is in its cgroup of version 2 */
    int status_pipe[2];          /* helper to middleman: a report, or end-of-file by exec */
};

/* ------------------------------------------------------------------------------------------------
 * In the helper, before exec
 * --------------------------------------------------------------------------------------------- */

/*
 * A process that moves *itself*, and has one thread, need not wait for all the machine's forks (Linux 5.5):
 * with version 1, where threads can be moved. With version 2 it waits, unless it was born there.
 */
IN_CHILD static bool enter_group(const helper_process_group *group)
{
    const char *name = group->version == 1 ? "tasks" : "cgroup.procs";
    int file = (int)syscall(SYS_openat, group->folder, name, O_WRONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    bool entered = syscall(SYS_write, file, "0", 1) == 1;
    int errnum = errno;
    syscall(SYS_close, file);
    errno = errnum;
    return entered;
}

IN_CHILD static bool enter_groups(const struct start *start)
{
    const helper_process_options *options = start->options;
    for (size_t i = 0; i < options->group_count; i++) {
        const helper_process_group *group = &options->groups[i];
        if (!(group->version == 2 && start->born_into_version_2) && !enter_group(group))
            return false;
    }
    return true;
}

/* A copy of FD (or of /dev/null) at ABOVE or higher, beyond those that are about to be replaced. */
IN_CHILD static int copy_above(int fd, int above)
{
    if (fd < 0)
        fd = (int)syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC);
    return fd < 0 ? -1 : (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, above);
}

IN_CHILD static void close_from(unsigned int first)
{
    if (syscall(SYS_close_range, first, ~0u, 0u) == 0)
        return;
    struct rlimit limit; /* before Linux 5.9 */
    unsigned int end = 1024 * 1024;
    if (syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit) == 0 && limit.rlim_cur < end)
        end = (unsigned int)limit.rlim_cur;
    for (unsigned int fd = first; fd < end; fd++)
        syscall(SYS_close, fd);
}

/* Any of the sources may be a number that is about to be replaced: all are copied out of the way before
 * one is placed. */
IN_CHILD static bool place_descriptors(const struct start *start)
{
    const helper_process_options *options = start->options;
    int end = REPORT_FD + 1 + (int)options->file_count;
    int copies[REPORT_FD + 1 + HELPER_PROCESS_FILES_MAX];
    copies[0] = copy_above(options->input, end);
    copies[1] = copy_above(options->output, end);
    copies[2] = copy_above(start->error_output, end);
    copies[REPORT_FD] = copy_above(start->status_pipe[1], end);
    for (int fd = REPORT_FD + 1; fd < end; fd++)
        copies[fd] = copy_above(options->files[fd - REPORT_FD - 1], end);
    for (int fd = 0; fd < end; fd++)
        if (copies[fd] < 0)
            return false;
    for (int fd = 0; fd < end; fd++)
        if (syscall(SYS_dup3, copies[fd], fd, fd == REPORT_FD ? O_CLOEXEC : 0) < 0)
            return false;
    close_from((unsigned int)end);
    return true;
}

IN_CHILD static void reset_signals(void)
{
    /* All zero is SIG_DFL without flags in the kernel's own structure, which is smaller than this on
     * every architecture. */
    unsigned char action[128];
    unsigned char mask[KERNEL_MASK_BYTES];
    for (size_t i = 0; i < sizeof action; i++)
        action[i] = 0;
    for (size_t i = 0; i < sizeof mask; i++)
        mask[i] = 0;
    for (int number = 1; number < _NSIG; number++)
        syscall(SYS_rt_sigaction, number, action, NULL, (size_t)KERNEL_MASK_BYTES);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, mask, NULL, (size_t)KERNEL_MASK_BYTES);
}

IN_CHILD static int fail_in_helper(int stage, int report_fd)
{
    struct report report = {stage, errno, 0};
    syscall(SYS_write, report_fd, &report, sizeof report);
    return 127;
}

IN_CHILD static int run_helper(void *argument)
{
    const struct start *start = argument;
    const helper_process_options *options = start->options;
    syscall(SYS_setsid);
    if (!enter_groups(start))
        return fail_in_helper(STAGE_GROUP, start->status_pipe[1]);
    if (options->folder && syscall(SYS_chdir, options->folder) != 0)
        return fail_in_helper(STAGE_FOLDER, start->status_pipe[1]);
    if (!place_descriptors(start))
        return fail_in_helper(STAGE_DESCRIPTORS, start->status_pipe[1]);
    reset_signals();
    syscall(SYS_execve, options->program, options->arguments, options->environment);
    return fail_in_helper(STAGE_EXEC, REPORT_FD);
}

/* ------------------------------------------------------------------------------------------------
 * In the middleman
 * --------------------------------------------------------------------------------------------- */

/* Sends the report, and the pidfd where there is one. */
IN_CHILD static void answer_host(int socket, struct report *report, int pidfd)
{
    union {
        struct cmsghdr header;
        unsigned char space[CMSG_SPACE(sizeof(int))];
    } control;
    for (size_t i = 0; i < sizeof control.space; i++)
        control.space[i] = 0;
    struct iovec part = {report, sizeof *report};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (pidfd >= 0) {
        message.msg_control = control.space;
        message.msg_controllen = sizeof control.space;
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN(sizeof(int));
        unsigned char *at = CMSG_DATA(&control.header);
        for (size_t i = 0; i < sizeof pidfd; i++)
            at[i] = (unsigned char)((unsigned int)pidfd >> (8 * i));
    }
    syscall(SYS_sendmsg, socket, &message, MSG_NOSIGNAL);
}

/* The helper's number, or -1. A birth that the kernel refuses is followed by one elsewhere. */
IN_CHILD static int clone_helper(struct start *start, int *pidfd)
{
    const helper_process_options *options = start->options;
    for (size_t i = 0; i < options->group_count; i++) {
        if (options->groups[i].version != 2)
            continue;
        start->born_into_version_2 = true;
        int helper = clone_into_cgroup(run_helper, start->helper_stack, STACK_SIZE, start,
                                       options->groups[i].folder, pidfd);
        if (helper > 0)
            return helper;
        start->born_into_version_2 = false;
    }
    return __clone(run_helper, start->helper_stack + STACK_SIZE,
                   CLONE_VM | CLONE_VFORK | CLONE_PIDFD, start, pidfd, NULL, NULL);
}

IN_CHILD static int run_middleman(void *argument)
{
    struct start *start = argument;
    struct report report = {STAGE_CLONE, 0, 0};
    if (syscall(SYS_pipe2, start->status_pipe, O_CLOEXEC) != 0) {
        report.errnum = errno;
        answer_host(start->answer, &report, -1);
        return 1;
    }
    int pidfd = -1;
    int helper = clone_helper(start, &pidfd);
    if (helper < 0)
        report.errnum = errno;
    syscall(SYS_close, start->status_pipe[1]);
    if (syscall(SYS_read, start->status_pipe[0], &report, sizeof report) > 0 && helper > 0)
        syscall(SYS_wait4, helper, NULL, __WALL, NULL); /* exec failed: leave no corpse to PID 1 */
    report.pid = helper;
    answer_host(start->answer, &report, report.errnum == 0 ? pidfd : -1);
    return 0;
}

/* ------------------------------------------------------------------------------------------------
 * In the host
 * --------------------------------------------------------------------------------------------- */

/* Takes the report off the socket, and the pidfd that came with it. */
static bool receive_answer(int socket, struct report *report, int *pidfd)
{
    union {
        struct cmsghdr header;
        unsigned char space[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {report, sizeof *report};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.space,
                             .msg_controllen = sizeof control.space};
    fork_guard_enter();
    ssize_t length = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    struct cmsghdr *header = length > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (header && header->cmsg_type == SCM_RIGHTS) {
        memcpy(pidfd, CMSG_DATA(header), sizeof *pidfd);
        fork_guard_add(*pidfd);
    }
    fork_guard_leave();
    return length == (ssize_t)sizeof *report;
}

/* Runs the middleman to its end. The thread is deaf to signals and cancellation meanwhile: raw, since
 * libc keeps two signals of its own out of reach. */
static int run_middleman_to_end(struct start *start, unsigned char *stack_top)
{
    unsigned char all[KERNEL_MASK_BYTES];
    unsigned char before[KERNEL_MASK_BYTES];
    memset(all, 0xff, sizeof all);
    int cancel_state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, all, before, (size_t)KERNEL_MASK_BYTES);
    int middleman = __clone(run_middleman, stack_top, CLONE_VM | CLONE_VFORK, start);
    int errnum = middleman < 0 ? errno : 0;
    if (middleman > 0) {
        /* A host that waits for clones too may have been faster; the answer says it all. */
        syscall(SYS_wait4, middleman, NULL, __WALL, NULL);
    }
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, before, NULL, (size_t)KERNEL_MASK_BYTES);
    pthread_setcancelstate(cancel_state, NULL);
    return errnum;
}

static int32_t status_of(int errnum)
{
    switch (errnum) {
    case ENOENT:
    case ENOTDIR:
        return CODE_EXECUTOR_NOT_FOUND;
    case EACCES:
    case EPERM:
        return CODE_EXECUTOR_DENIED;
    case EAGAIN:
    case EMFILE:
    case ENFILE:
        return CODE_EXECUTOR_UNAVAILABLE;
    case ENOMEM:
        return CODE_EXECUTOR_NO_MEMORY;
    default:
        return CODE_EXECUTOR_IO;
    }
}

static int32_t start_with(const helper_process_options *options, const int answer[2],
                          const int words[2], helper_process *process, code_executor_error *error)
{
    unsigned char *stacks = mmap(NULL, 2 * STACK_SIZE, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stacks == MAP_FAILED) {
        return error_set_errno(error, CODE_EXECUTOR_NO_MEMORY, errno, "cannot start %s",
                               options->program);
    }
    struct start start = {.options = options,
                          .error_output = words[1],
                          .answer = answer[1],
                          .helper_stack = stacks + STACK_SIZE,
                          .status_pipe = {-1, -1}};
    struct report report = {STAGE_CLONE, 0, 0};
    int pidfd = -1;
    report.errnum = run_middleman_to_end(&start, stacks + STACK_SIZE);
    if (report.errnum == 0 && !receive_answer(answer[0], &report, &pidfd))
        report = (struct report){STAGE_CLONE, EIO, 0};
    munmap(stacks, 2 * STACK_SIZE);
    if (report.errnum != 0) {
        fork_guard_close(pidfd);
        return error_set_errno(error, status_of(report.errnum), report.errnum, "%s %s",
                               stage_words[report.stage], options->program);
    }
    *process = (helper_process){.pid = report.pid, .pidfd = pidfd, .words = words[0]};
    return error_clear(error);
}

int32_t helper_process_start(const helper_process_options *options, helper_process *process,
                             code_executor_error *error)
{
    *process = (helper_process)HELPER_PROCESS_INIT;
    int answer[2] = {-1, -1};
    int words[2] = {-1, -1};
    int32_t status;
    if (options->file_count > HELPER_PROCESS_FILES_MAX) {
        return error_set(error, CODE_EXECUTOR_INVALID, "cannot start %s with %zu files",
                         options->program, options->file_count);
    }
    if (fork_guard_socketpair(answer) != 0 || fork_guard_pipe(words) != 0 ||
        fcntl(words[0], F_SETFL, O_NONBLOCK) != 0) {
        status =
            error_set_errno(error, status_of(errno), errno, "cannot start %s", options->program);
    } else {
        status = start_with(options, answer, words, process, error);
    }
    fork_guard_close(answer[0]);
    fork_guard_close(answer[1]);
    fork_guard_close(words[1]);
    if (status != CODE_EXECUTOR_OK)
        fork_guard_close(words[0]);
    return status;
}

/* Waits for EVENTS on FD; what is written to the pipe meanwhile ends no wait for its end. */
static bool wait_for(int fd, short events, int timeout_ms)
{
    int64_t deadline = now_ms() + timeout_ms;
    struct pollfd ready = {.fd = fd, .events = events};
    for (;;) {
        int left = timeout_ms;
        if (timeout_ms >= 0) {
            int64_t remaining = deadline - now_ms();
            left = remaining > 0 ? (int)remaining : 0;
        }
        int count = poll(&ready, 1, left);
        if (count > 0)
            return true;
        if (count == 0 || errno != EINTR)
            return false;
    }
}

bool helper_process_wait(const helper_process *process, int timeout_ms)
{
    if (process->pidfd < 0)
        return helper_process_wait_all(process, timeout_ms);
    return wait_for(process->pidfd, POLLIN, timeout_ms);
}

bool helper_process_wait_all(const helper_process *process, int timeout_ms)
{
    /* No event is asked for, so that only POLLHUP is reported: the last writer is gone. */
    return process->words < 0 || wait_for(process->words, 0, timeout_ms);
}

/*
 * What a kernel before 6.9 needs for a process group whose leader may have ended. A number is nobody else's
 * as long as a process or a group has it; that a group has it is likely where the helper's standard error is
 * still held by one of its forks, which are in it unless they left it. For another group to have it the
 * kernel would have to go through all its numbers in the moment between the two.
 */
static void kill_group_by_number(const helper_process *process)
{
    if (process->pid > 1 && !helper_process_wait_all(process, 0))
        (void)kill(-process->pid, SIGKILL);
}

void helper_process_kill(const helper_process *process)
{
    enum { WHOLE_GROUP = 4 }; /* PIDFD_SIGNAL_PROCESS_GROUP, since Linux 6.9 */
    if (process->pidfd < 0 ||
        syscall(SYS_pidfd_send_signal, process->pidfd, SIGKILL, NULL, WHOLE_GROUP) == 0)
        return;
    if (errno == EINVAL)
        kill_group_by_number(process);
    syscall(SYS_pidfd_send_signal, process->pidfd, SIGKILL, NULL, 0);
}

const char *helper_process_words(const helper_process *process, char *buffer, size_t size)
{
    char last[1024];
    size_t length = 0;
    ssize_t count = 0;
    /* The last words count: earlier ones make room. Bounded, for a helper that never stops talking. */
    for (int round = 0; round < 256; round++) {
        if (length > sizeof last / 2) {
            memmove(last, last + sizeof last / 2, length - sizeof last / 2);
            length -= sizeof last / 2;
        }
        count =
            process->words < 0 ? 0 : read(process->words, last + length, sizeof last - 1 - length);
        if (count <= 0)
            break;
        length += (size_t)count;
    }
    while (length > 0 && (last[length - 1] == '\n' || last[length - 1] == '\r'))
        length--;
    for (size_t i = 0; i < length; i++)
        last[i] = last[i] == '\0' ? '?' : last[i];
    last[length] = '\0';
    return text_shorten(last, buffer, size);
}

void helper_process_close(helper_process *process)
{
    fork_guard_close(process->pidfd);
    fork_guard_close(process->words);
    *process = (helper_process)HELPER_PROCESS_INIT;
}
