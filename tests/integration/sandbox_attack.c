/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox_attack.c: the programs that sandbox_escape.c runs inside a sandbox, in one: `attack NAME ARGUMENT…`.
 * Static, so that it needs nothing of what is seen inside.
 *
 * Each makes one attempt and prints how it went: `ok` where it succeeded, else the name of the error.
 * Nothing here does harm where it succeeds; nothing is meant to be run outside.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <netinet/in.h>

/* An attempt: not -1, or -1 with errno. */
typedef long attempt(char **arguments);

static const char *error_name(int number)
{
    static const struct {
        int number;
        const char *name;
    } names[] = {
        {EPERM, "EPERM"},
        {ENOENT, "ENOENT"},
        {ESRCH, "ESRCH"},
        {EACCES, "EACCES"},
        {EROFS, "EROFS"},
        {ENOSYS, "ENOSYS"},
        {ENOSPC, "ENOSPC"},
        {EINVAL, "EINVAL"},
        {EBADF, "EBADF"},
        {EFAULT, "EFAULT"},
        {ENOMEM, "ENOMEM"},
        {EAGAIN, "EAGAIN"},
        {ENXIO, "ENXIO"},
        {ENODEV, "ENODEV"},
        {EIO, "EIO"},
        {ENOTTY, "ENOTTY"},
        {EAFNOSUPPORT, "EAFNOSUPPORT"},
        {EPROTONOSUPPORT, "EPROTONOSUPPORT"},
        {ECONNREFUSED, "ECONNREFUSED"},
        {ENETUNREACH, "ENETUNREACH"},
        {ETXTBSY, "ETXTBSY"},
    };
    static char other[32];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].number == number)
            return names[i].name;
    snprintf(other, sizeof other, "error %d", number);
    return other;
}

static long number(const char *text)
{
    return strtol(text, NULL, 0);
}

/* ------------------------------------------------------------------------------------------------
 * Mounts and namespaces
 * --------------------------------------------------------------------------------------------- */

static long try_mount(char **arguments)
{
    (void)arguments;
    return mount("none", "/tmp", "tmpfs", 0, NULL);
}

static long try_mount_proc(char **arguments)
{
    (void)arguments;
    return mount("proc", "/tmp", "proc", 0, NULL);
}

static long try_umount(char **arguments)
{
    return umount2(arguments[0], MNT_DETACH);
}

static long try_pivot_root(char **arguments)
{
    (void)arguments;
    return syscall(SYS_pivot_root, "/tmp", "/tmp");
}

static long try_chroot(char **arguments)
{
    (void)arguments;
    return chroot("/tmp");
}

static long try_open_tree(char **arguments)
{
    (void)arguments;
    return syscall(SYS_open_tree, AT_FDCWD, "/", 1 /* OPEN_TREE_CLONE */);
}

static long try_fsopen(char **arguments)
{
    (void)arguments;
    return syscall(SYS_fsopen, "tmpfs", 0);
}

static long try_move_mount(char **arguments)
{
    (void)arguments;
    return syscall(SYS_move_mount, AT_FDCWD, "/tmp", AT_FDCWD, "/usr", 0);
}

static long try_unshare(char **arguments)
{
    return unshare((int)number(arguments[0]));
}

static long try_clone(char **arguments)
{
    long child = syscall(SYS_clone, number(arguments[0]) | SIGCHLD, 0, 0, 0, 0);
    if (child == 0)
        _exit(0);
    if (child > 0)
        waitpid((pid_t)child, NULL, 0);
    return child;
}

static long try_clone3(char **arguments)
{
    uint64_t request[11] = {(uint64_t)number(arguments[0]), 0, 0, 0, SIGCHLD};
    long child = syscall(SYS_clone3, request, sizeof request);
    if (child == 0)
        _exit(0);
    if (child > 0)
        waitpid((pid_t)child, NULL, 0);
    return child;
}

static long try_setns(char **arguments)
{
    (void)arguments;
    int file = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC);
    return file < 0 ? -1 : setns(file, 0);
}

/* ------------------------------------------------------------------------------------------------
 * Other processes
 * --------------------------------------------------------------------------------------------- */

static long try_attach(char **arguments)
{
    return ptrace(PTRACE_ATTACH, (pid_t)number(arguments[0]), NULL, NULL);
}

static long try_seize(char **arguments)
{
    return ptrace(PTRACE_SEIZE, (pid_t)number(arguments[0]), NULL, NULL);
}

/* A request whose upper half is not zero, which a filter that compares too much lets through. */
static long try_wide_attach(char **arguments)
{
    return syscall(SYS_ptrace, (1L << 32) | PTRACE_ATTACH, number(arguments[0]), 0, 0);
}

static long try_read_memory(char **arguments)
{
    char byte;
    struct iovec here = {&byte, 1};
    struct iovec there = {(void *)0x400000, 1};
    return process_vm_readv((pid_t)number(arguments[0]), &here, 1, &there, 1, 0);
}

/* How many of the descriptors, and of the memory, of process ARGUMENT can be opened. */
static long try_open_descriptors(char **arguments)
{
    static const char *const others[] = {"mem", "environ", "maps", "auxv", "exe", "root", "cwd"};
    char path[64];
    int opened = 0;
    for (int i = 0; i < 256; i++) {
        snprintf(path, sizeof path, "/proc/%s/fd/%d", arguments[0], i);
        opened += open(path, O_WRONLY | O_NONBLOCK) >= 0;
        opened += open(path, O_RDONLY | O_NONBLOCK) >= 0;
        opened += open(path, O_PATH) >= 0;
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        char byte;
        snprintf(path, sizeof path, "/proc/%s/%s", arguments[0], others[i]);
        int file = open(path, O_RDONLY | O_NONBLOCK);
        opened += file >= 0 && read(file, &byte, 1) >= 0;
    }
    if (opened)
        return opened;
    errno = EACCES;
    return -1;
}

static long try_steal_descriptor(char **arguments)
{
    long process = syscall(SYS_pidfd_open, number(arguments[0]), 0);
    return process < 0 ? -1 : syscall(SYS_pidfd_getfd, process, 1, 0);
}

static long try_kill(char **arguments)
{
    return kill((pid_t)number(arguments[0]), (int)number(arguments[1]));
}

/* Lives on under a name of its own, and does all it can to be forgotten. */
static long go_into_hiding(char **arguments)
{
    for (int i = 0; i < 2; i++) {
        if (fork() != 0)
            _exit(0);
        setsid();
    }
    for (int signal_number = 1; signal_number < 32; signal_number++)
        signal(signal_number, SIG_IGN);
    for (int file = 0; file < 64; file++)
        close(file);
    execl("/proc/self/exe", arguments[0], "sleep", NULL);
    _exit(1);
}

static long sleep_long(char **arguments)
{
    (void)arguments;
    for (int i = 0; i < 600; i++)
        sleep(1);
    return 0;
}

/* ------------------------------------------------------------------------------------------------
 * The kernel
 * --------------------------------------------------------------------------------------------- */

static long try_keyctl(char **arguments)
{
    (void)arguments;
    return syscall(SYS_keyctl, 0 /* get the id of */, -3 /* the session's key ring */, 0, 0, 0);
}

static long try_add_key(char **arguments)
{
    (void)arguments;
    return syscall(SYS_add_key, "user", "attack", "x", 1, -3);
}

static long try_request_key(char **arguments)
{
    (void)arguments;
    return syscall(SYS_request_key, "user", "attack", NULL, 0);
}

static long try_bpf(char **arguments)
{
    (void)arguments;
    uint32_t attributes[32] = {1 /* hash */, 4, 4, 1};
    return syscall(SYS_bpf, 0 /* make a map */, attributes, sizeof attributes);
}

static long try_perf(char **arguments)
{
    (void)arguments;
    uint32_t attributes[32] = {1 /* software */, sizeof attributes};
    return syscall(SYS_perf_event_open, attributes, 0, -1, -1, 0);
}

static long try_userfaultfd(char **arguments)
{
    (void)arguments;
    return syscall(SYS_userfaultfd, 1 /* user mode only */);
}

static long try_io_uring(char **arguments)
{
    (void)arguments;
    uint64_t parameters[32] = {0};
    return syscall(SYS_io_uring_setup, 1, parameters);
}

static long try_init_module(char **arguments)
{
    (void)arguments;
    return syscall(SYS_init_module, "x", 1, "");
}

static long try_finit_module(char **arguments)
{
    (void)arguments;
    return syscall(SYS_finit_module, 0, "", 0);
}

static long try_delete_module(char **arguments)
{
    (void)arguments;
    return syscall(SYS_delete_module, "there is none of this name", 0);
}

static long try_kexec(char **arguments)
{
    (void)arguments;
    return syscall(SYS_kexec_load, 0, 0, NULL, 0);
}

static long try_syslog(char **arguments)
{
    (void)arguments;
    char text[64];
    return syscall(SYS_syslog, 3 /* read all */, text, sizeof text);
}

static long try_clock(char **arguments)
{
    (void)arguments;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return clock_settime(CLOCK_REALTIME, &now);
}

static long try_hostname(char **arguments)
{
    (void)arguments;
    return sethostname("attack", 6);
}

/* A system call younger than the filter. */
static long try_call(char **arguments)
{
    return syscall(number(arguments[0]), 0, 0, 0, 0, 0, 0);
}

#ifdef __x86_64__
/* getpid, by the numbers of a 32-bit program. */
static long try_i386(char **arguments)
{
    (void)arguments;
    long result = 20;
    __asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
    if (result > 0)
        return result;
    errno = (int)-result;
    return -1;
}

/* getpid, by the numbers of x32. */
static long try_x32(char **arguments)
{
    (void)arguments;
    return syscall(0x40000000L + SYS_getpid);
}
#endif

/* ------------------------------------------------------------------------------------------------
 * Files and devices
 * --------------------------------------------------------------------------------------------- */

static long try_write(char **arguments)
{
    int file = open(arguments[0], O_WRONLY | O_CREAT, 0600);
    return file < 0 ? -1 : write(file, "core", 4);
}

/* Opens for writing and writes nothing: for files where writing would do harm. */
static long try_open_to_write(char **arguments)
{
    return open(arguments[0], O_WRONLY);
}

static long try_open(char **arguments)
{
    return open(arguments[0], O_RDONLY | O_NONBLOCK);
}

static long try_handle(char **arguments)
{
    union {
        struct file_handle handle;
        char space[sizeof(struct file_handle) + MAX_HANDLE_SZ];
    } file = {.handle = {.handle_bytes = MAX_HANDLE_SZ}};
    int mount = 0;
    if (name_to_handle_at(AT_FDCWD, arguments[0], &file.handle, &mount, 0) != 0)
        file.handle.handle_bytes = 8;
    int folder = open(arguments[0], O_RDONLY);
    return open_by_handle_at(folder, &file.handle, O_RDONLY);
}

static long try_device(char **arguments)
{
    (void)arguments;
    return mknod("/tmp/device", S_IFBLK | 0600, makedev(254, 0));
}

static long try_chmod_set_id(char **arguments)
{
    int file = open("lent", O_CREAT | O_RDWR, 0700);
    return file < 0 ? -1 : fchmod(file, (mode_t)number(arguments[0]));
}

static long try_open_set_id(char **arguments)
{
    return open("lent too", O_CREAT | O_EXCL | O_RDWR, (mode_t)number(arguments[0]));
}

static long try_openat2(char **arguments)
{
    uint64_t how[3] = {O_CREAT | O_RDWR, (uint64_t)number(arguments[0]), 0};
    return syscall(SYS_openat2, AT_FDCWD, "lent as well", how, sizeof how);
}

/* Types into a terminal that belongs to this process alone. */
static long try_type(char **arguments)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0)
        return -1;
    if (fork() != 0) {
        wait(NULL);
        _exit(0);
    }
    setsid();
    int terminal = open(ptsname(master), O_RDWR);
    if (terminal < 0)
        return -1;
    (void)ioctl(terminal, TIOCSCTTY, 0);
    char letter[16] = "\003x";
    return syscall(SYS_ioctl, terminal, (unsigned long)number(arguments[0]), letter);
}

static long try_core_limit(char **arguments)
{
    (void)arguments;
    struct rlimit limit = {0, 0};
    return setrlimit(RLIMIT_CORE, &limit);
}

/* ------------------------------------------------------------------------------------------------
 * Sockets and resources
 * --------------------------------------------------------------------------------------------- */

static long try_socket(char **arguments)
{
    return socket((int)number(arguments[0]), SOCK_STREAM, 0);
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

static const struct {
    const char *name;
    int argument_count;
    attempt *attempt;
} attempts[] = {
    {"mount", 0, try_mount},
    {"mount-proc", 0, try_mount_proc},
    {"umount", 1, try_umount},
    {"pivot-root", 0, try_pivot_root},
    {"chroot", 0, try_chroot},
    {"open-tree", 0, try_open_tree},
    {"fsopen", 0, try_fsopen},
    {"move-mount", 0, try_move_mount},
    {"unshare", 1, try_unshare},
    {"clone", 1, try_clone},
    {"clone3", 1, try_clone3},
    {"setns", 0, try_setns},
    {"attach", 1, try_attach},
    {"seize", 1, try_seize},
    {"wide-attach", 1, try_wide_attach},
    {"read-memory", 1, try_read_memory},
    {"open-descriptors", 1, try_open_descriptors},
    {"steal-descriptor", 1, try_steal_descriptor},
    {"kill", 2, try_kill},
    {"hide", 1, go_into_hiding},
    {"sleep", 0, sleep_long},
    {"keyctl", 0, try_keyctl},
    {"add-key", 0, try_add_key},
    {"request-key", 0, try_request_key},
    {"bpf", 0, try_bpf},
    {"perf", 0, try_perf},
    {"userfaultfd", 0, try_userfaultfd},
    {"io-uring", 0, try_io_uring},
    {"init-module", 0, try_init_module},
    {"finit-module", 0, try_finit_module},
    {"delete-module", 0, try_delete_module},
    {"kexec", 0, try_kexec},
    {"syslog", 0, try_syslog},
    {"clock", 0, try_clock},
    {"hostname", 0, try_hostname},
    {"call", 1, try_call},
#ifdef __x86_64__
    {"i386", 0, try_i386},
    {"x32", 0, try_x32},
#endif
    {"write", 1, try_write},
    {"open-to-write", 1, try_open_to_write},
    {"open", 1, try_open},
    {"handle", 1, try_handle},
    {"device", 0, try_device},
    {"chmod-set-id", 1, try_chmod_set_id},
    {"open-set-id", 1, try_open_set_id},
    {"openat2", 1, try_openat2},
    {"type", 1, try_type},
    {"core-limit", 0, try_core_limit},
    {"socket", 1, try_socket},
    {"netlink", 1, try_netlink},
    {"tcp", 1, try_tcp},
    {"unix", 1, try_unix},
    {"abstract", 1, try_abstract},
    {"eat-memory", 1, eat_memory},
    {"fill", 2, fill},
    {"fork-all", 1, fork_all},
};

int main(int count, char **arguments)
{
    for (size_t i = 0; count > 1 && i < sizeof attempts / sizeof attempts[0]; i++) {
        if (strcmp(arguments[1], attempts[i].name) != 0 || count - 2 < attempts[i].argument_count)
            continue;
        errno = 0;
        long result = attempts[i].attempt(arguments + 2);
        printf("%s\n", result == -1 ? error_name(errno) : "ok");
        return 0;
    }
    fprintf(stderr, "attack: no such attempt\n");
    return 2;
}
