/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter.c: see filter.h. The table of refusals is compiled by libseccomp; before its program comes a
 * head of a few instructions that says what libseccomp has no word for (put_head).
 *
 * Invariants. An argument that the kernel reads as 32 bits is compared as 32 bits: a filter that
 * compares 64 is passed by setting a bit above them. A call that reads its flags from memory cannot be
 * judged at all (another thread changes them after the look), and is answered ENOSYS.
 */
#include "filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

struct refusal {
    const char *name;
    int errnum;
    unsigned condition_count; /* all must hold; none: refused always */
    struct scmp_arg_cmp conditions[2];
};

/* clang-format off */
#define ALWAYS(name)                    { name, EPERM, 0, { { 0, 0, 0, 0 } } }
#define UNHEARD_OF(name)                { name, ENOSYS, 0, { { 0, 0, 0, 0 } } }
#define WHEN(name, errnum, a)           { name, errnum, 1, { a } }
#define WHEN_BOTH(name, errnum, a, b)   { name, errnum, 2, { a, b } }

/* Conditions on an argument, counted from 0. */
#define HAS(argument, flag)   { argument, SCMP_CMP_MASKED_EQ, flag, flag }
#define IS(argument, value)   { argument, SCMP_CMP_MASKED_EQ, 0xffffffffu, (uint32_t)(value) }
#define IS_SET(argument)      { argument, SCMP_CMP_NE, 0, 0 }
#define KIND(argument, value) { argument, SCMP_CMP_MASKED_EQ, SOCKET_KIND, value }
#define AT_LEAST(argument, value) { argument, SCMP_CMP_GE, value, 0 }

#if defined(__s390__) || defined(__CRIS__)
#define CLONE_FLAGS 1 /* clone(stack, flags, …) */
#else
#define CLONE_FLAGS 0
#endif
#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif
#ifndef TIOCLINUX
#define TIOCLINUX 0x541C
#endif
#ifndef IPPROTO_L2TP
#define IPPROTO_L2TP 115
#endif
#define SOCKET_KIND 0xf /* the rest of a socket's type is flags */
#define OPEN_TEMPORARY (O_TMPFILE & ~O_DIRECTORY)

/*
 * Mounts. Whoever can mount can take the cover off what the sandbox hides, or lay a file of his own over
 * one that a privileged program trusts. They need a capability that nothing inside has; this stands
 * where a kernel gives it away (a namespace of one's own).
 */
static const struct refusal mounts[] = {
    ALWAYS("mount"), ALWAYS("umount"), ALWAYS("umount2"), ALWAYS("pivot_root"), ALWAYS("chroot"),
    ALWAYS("move_mount"), ALWAYS("open_tree"), ALWAYS("fsopen"), ALWAYS("fsconfig"),
    ALWAYS("fsmount"), ALWAYS("fspick"), ALWAYS("mount_setattr"),
};

/*
 * New namespaces, of users above all: in one of its own a process has every capability, and with them
 * reaches parts of the kernel that were written for root alone. Most escapes from containers of the last
 * years began there. clone3 has its flags in memory, so it does not exist; libc then uses clone.
 */
static const struct refusal namespaces[] = {
    UNHEARD_OF("clone3"), ALWAYS("setns"),
    WHEN("clone", EPERM, HAS(CLONE_FLAGS, CLONE_NEWUSER)),
    WHEN("clone", EPERM, HAS(CLONE_FLAGS, CLONE_NEWNS)),
    WHEN("clone", EPERM, HAS(CLONE_FLAGS, CLONE_NEWPID)),
    WHEN("clone", EPERM, HAS(CLONE_FLAGS, CLONE_NEWNET)),
    WHEN("clone", EPERM, HAS(CLONE_FLAGS, CLONE_NEWIPC)),
    WHEN("clone", EPERM, HAS(CLONE_FLAGS, CLONE_NEWUTS)),
    WHEN("clone", EPERM, HAS(CLONE_FLAGS, CLONE_NEWCGROUP)),
    WHEN("unshare", EPERM, HAS(0, CLONE_NEWUSER)),
    WHEN("unshare", EPERM, HAS(0, CLONE_NEWNS)),
    WHEN("unshare", EPERM, HAS(0, CLONE_NEWPID)),
    WHEN("unshare", EPERM, HAS(0, CLONE_NEWNET)),
    WHEN("unshare", EPERM, HAS(0, CLONE_NEWIPC)),
    WHEN("unshare", EPERM, HAS(0, CLONE_NEWUTS)),
    WHEN("unshare", EPERM, HAS(0, CLONE_NEWCGROUP)),
    WHEN("unshare", EPERM, HAS(0, CLONE_NEWTIME)),
};

/*
 * Other processes' memory and descriptors: the runner's are what a result could be forged with. A
 * program may still be traced by the parent that it asked (PTRACE_TRACEME), so that gdb can run one.
 */
static const struct refusal others[] = {
    WHEN("ptrace", EPERM, IS(0, PTRACE_ATTACH)), WHEN("ptrace", EPERM, IS(0, PTRACE_SEIZE)),
    ALWAYS("process_vm_readv"), ALWAYS("process_vm_writev"), ALWAYS("process_madvise"),
    ALWAYS("process_mrelease"), ALWAYS("pidfd_getfd"), ALWAYS("kcmp"),
};

/* The kernel's key rings know no namespace of processes or mounts: keys of the user, such as those of
 * an encrypted home or of a network file system, would be in reach. */
static const struct refusal keys[] = {
    ALWAYS("keyctl"), ALWAYS("add_key"), ALWAYS("request_key"),
};

/* Programs inside the kernel, and windows that turn its races into holes: large, young, and of no use
 * to a model's code. io_uring does its work where no seccomp filter looks. */
static const struct refusal kernel_programs[] = {
    ALWAYS("bpf"), ALWAYS("perf_event_open"), ALWAYS("userfaultfd"), ALWAYS("io_uring_setup"),
    ALWAYS("io_uring_enter"), ALWAYS("io_uring_register"), ALWAYS("lookup_dcookie"),
};

/* The kernel itself: another one, parts of it, its log, its clock, its ports and names. */
static const struct refusal machine[] = {
    ALWAYS("kexec_load"), ALWAYS("kexec_file_load"), ALWAYS("reboot"), ALWAYS("init_module"),
    ALWAYS("finit_module"), ALWAYS("delete_module"), ALWAYS("syslog"), ALWAYS("settimeofday"),
    ALWAYS("clock_settime"), ALWAYS("clock_settime64"), ALWAYS("stime"), ALWAYS("sethostname"),
    ALWAYS("setdomainname"), ALWAYS("iopl"), ALWAYS("ioperm"), ALWAYS("acct"), ALWAYS("swapon"),
    ALWAYS("swapoff"), ALWAYS("quotactl"), ALWAYS("quotactl_fd"), ALWAYS("vhangup"),
    ALWAYS("fanotify_init"),
};

/* Files by number instead of by name, which walks past every folder's permissions and every mount (the
 * hole named Shocker). */
static const struct refusal handles[] = {
    ALWAYS("open_by_handle_at"),
};

/* Characters pushed into a terminal's input, as if its user had typed them: into the shell from which the
 * host was started. */
static const struct refusal terminals[] = {
    WHEN("ioctl", EPERM, IS(1, TIOCSTI)), WHEN("ioctl", EPERM, IS(1, TIOCLINUX)),
};

/*
 * Files that lend their owner's rights. The code runs as the host's user and writes into a folder of
 * his: a set-user-ID file left there would be a key to the account for everybody on the machine.
 * openat2 has its mode in memory, so it does not exist.
 */
#define WITHOUT(bit)                                                                               \
    WHEN("chmod", EPERM, HAS(1, bit)), WHEN("fchmod", EPERM, HAS(1, bit)),                         \
    WHEN("fchmodat", EPERM, HAS(2, bit)), WHEN("creat", EPERM, HAS(1, bit)),                       \
    WHEN("mknod", EPERM, HAS(1, bit)), WHEN("mknodat", EPERM, HAS(2, bit)),                        \
    WHEN_BOTH("open", EPERM, HAS(1, O_CREAT), HAS(2, bit)),                                        \
    WHEN_BOTH("openat", EPERM, HAS(2, O_CREAT), HAS(3, bit)),                                      \
    WHEN_BOTH("open", EPERM, HAS(1, OPEN_TEMPORARY), HAS(2, bit)),                                 \
    WHEN_BOTH("openat", EPERM, HAS(2, OPEN_TEMPORARY), HAS(3, bit))
static const struct refusal set_id_files[] = {
    WITHOUT(S_ISUID), WITHOUT(S_ISGID), UNHEARD_OF("openat2"),
};

/*
 * Families of sockets beyond UNIX, IPv4, IPv6 and routing information. Each is a piece of the kernel
 * that is loaded on demand, and some know no network namespace: a vsock socket reaches the hypervisor
 * and its services from a sandbox without a network. A pair of sockets is made of the same families.
 */
#define NO_FAMILY(family)                                                                          \
    WHEN("socket", EAFNOSUPPORT, IS(0, family)), WHEN("socketpair", EAFNOSUPPORT, IS(0, family))
static const struct refusal socket_families[] = {
    NO_FAMILY(3), NO_FAMILY(4), NO_FAMILY(5), NO_FAMILY(6), NO_FAMILY(7), NO_FAMILY(8),
    NO_FAMILY(9), NO_FAMILY(11), NO_FAMILY(12), NO_FAMILY(13), NO_FAMILY(14), NO_FAMILY(15),
    WHEN("socket", EAFNOSUPPORT, AT_LEAST(0, AF_NETLINK + 1)),
    WHEN("socketpair", EAFNOSUPPORT, AT_LEAST(0, AF_NETLINK)),
    WHEN_BOTH("socket", EPROTONOSUPPORT, IS(0, AF_NETLINK), IS_SET(2)),
};

/*
 * Of IPv4 and IPv6 only what everybody uses: TCP, UDP, echo, TCP over several paths. The others are loaded
 * on demand in the same way, and faults were found in most: DCCP, L2TP, SCTP, UDP-Lite.
 */
#define NO_PROTOCOL(protocol)                                                                      \
    WHEN_BOTH("socket", EPROTONOSUPPORT, IS(0, AF_INET), IS(2, protocol)),                         \
    WHEN_BOTH("socket", EPROTONOSUPPORT, IS(0, AF_INET6), IS(2, protocol))
static const struct refusal protocols[] = {
    NO_PROTOCOL(IPPROTO_DCCP), NO_PROTOCOL(IPPROTO_L2TP), NO_PROTOCOL(IPPROTO_SCTP),
    NO_PROTOCOL(IPPROTO_UDPLITE),
    WHEN("socket", ESOCKTNOSUPPORT, KIND(1, SOCK_DCCP)),
};

/*
 * What happens to a crash. A core may go to a program of the host's (kernel.core_pattern), which as root
 * and outside of every namespace reads what the code prepared for it. sandbox_enter sets the one limit
 * that prevents that; here it is kept.
 */
static const struct refusal crashes[] = {
    WHEN("setrlimit", EPERM, IS(0, RLIMIT_CORE)),
    WHEN_BOTH("prlimit64", EPERM, IS(1, RLIMIT_CORE), IS_SET(2)),
};

/* Calls that nobody has made for decades, and nobody has looked at. */
static const struct refusal obsolete[] = {
    ALWAYS("uselib"), ALWAYS("ustat"), ALWAYS("sysfs"), ALWAYS("_sysctl"), ALWAYS("modify_ldt"),
    ALWAYS("vm86"), ALWAYS("vm86old"), ALWAYS("create_module"), ALWAYS("query_module"),
    ALWAYS("get_kernel_syms"), ALWAYS("nfsservctl"), ALWAYS("afs_syscall"), ALWAYS("tuxcall"),
    ALWAYS("security"), ALWAYS("vserver"), ALWAYS("getpmsg"), ALWAYS("putpmsg"), ALWAYS("bdflush"),
};

/* Only where the limit on processors is a choice of processors. */
static const struct refusal processors[] = {
    ALWAYS("sched_setaffinity"),
};

#define GROUP(table) { table, sizeof(table) / sizeof((table)[0]) }
static const struct {
    const struct refusal *refusals;
    size_t count;
} groups[] = {
    GROUP(mounts), GROUP(namespaces), GROUP(others), GROUP(keys), GROUP(kernel_programs),
    GROUP(machine), GROUP(handles), GROUP(terminals), GROUP(set_id_files), GROUP(socket_families),
    GROUP(protocols), GROUP(crashes), GROUP(obsolete),
};
/* clang-format on */

/*
 * The last system call whose meaning was weighed for the tables above: set_mempolicy_home_node, of Linux
 * 5.17. What came later does not exist (ENOSYS): a call that this filter has never heard of is not
 * allowed because of that. All machines number calls of this age alike, but for those named here; the
 * doubled calls of x86 (x32) lie far above and go the same way.
 */
#if defined(__mips__) || defined(__alpha__) || defined(__arm__)
#define NEWEST_CALL UINT32_MAX
#else
#define NEWEST_CALL 450u
#endif

static int put_head(int file)
{
    const uint32_t here = seccomp_arch_native();
    const struct sock_filter head[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, here, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, NEWEST_CALL, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
    };
    return write(file, head, sizeof(head)) == (ssize_t)sizeof(head) ? 0 : -errno;
}

static int add_refusals(scmp_filter_ctx filter, const struct refusal *refusals, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct refusal *refusal = &refusals[i];
        int number = seccomp_syscall_resolve_name(refusal->name);
        if (number == __NR_SCMP_ERROR)
            continue; /* this libseccomp does not know it, so it is newer, and above the head */
        int failure = seccomp_rule_add_array(filter, SCMP_ACT_ERRNO((uint16_t)refusal->errnum),
                                             number, refusal->condition_count, refusal->conditions);
        /* EDOM: this machine has no such call. */
        if (failure && failure != -EDOM)
            return failure;
    }
    return 0;
}

static int add_all(scmp_filter_ctx filter, bool pin_processors)
{
    /* Programs of another architecture (32-bit ones on a 64-bit machine) call by other numbers. */
    int failure = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM));
    for (size_t i = 0; !failure && i < sizeof(groups) / sizeof(groups[0]); i++)
        failure = add_refusals(filter, groups[i].refusals, groups[i].count);
    if (!failure && pin_processors)
        failure = add_refusals(filter, processors, sizeof(processors) / sizeof(processors[0]));
    return failure;
}

/* The whole of FILE, from its beginning. */
static int read_back(int file, unsigned char **program, size_t *length)
{
    struct stat status;
    if (fstat(file, &status))
        return -errno;
    size_t size = (size_t)status.st_size;
    unsigned char *bytes = malloc(size);
    if (!bytes)
        return -ENOMEM;
    if (pread(file, bytes, size, 0) != (ssize_t)size) {
        free(bytes);
        return -EIO;
    }
    *program = bytes;
    *length = size;
    return 0;
}

int32_t filter_build(bool pin_processors, unsigned char **program, size_t *length,
                     code_executor_error *error)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    if (!filter)
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory for the seccomp filter");
    int failure = add_all(filter, pin_processors);
    int file = memfd_create("seccomp filter", MFD_CLOEXEC);
    if (!failure)
        failure = file < 0 ? -errno : put_head(file);
    if (!failure)
        failure = seccomp_export_bpf(filter, file);
    if (!failure)
        failure = read_back(file, program, length);
    if (file >= 0)
        close(file);
    seccomp_release(filter);
    if (failure)
        return error_set_errno(error, CODE_EXECUTOR_INTERNAL, -failure,
                               "cannot build the seccomp filter");
    return CODE_EXECUTOR_OK;
}
