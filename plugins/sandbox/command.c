/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command.c: see command.h. Namespaces, limits and the two programs; mounts.c says what is seen inside.
 *
 * What is not there, and why:
 *   --die-with-parent   follows the *thread* that started bubblewrap, and ends the sandbox of a living
 *                       host whose worker thread ends. The runner ends at end-of-file of its socket
 *                       instead, also when the host is killed.
 *   bubblewrap's init   --as-pid-1 makes the runner process 1 of its namespace. The kernel lets nobody
 *                       inside kill or stop that one, and kills all others when it ends.
 */
#include "command.h"

#include "fork_guard.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* The first number that helper_process gives to a file. */
#define FIRST_FILE 4

#define PATH_INSIDE "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* Nothing of the host's: variables hold keys more often than files do. */
const char *const command_environment[] = {
    "PATH=" PATH_INSIDE, "HOME=" SANDBOX_HOME, "USER=sandbox", "LOGNAME=sandbox",
    "SHELL=/bin/sh",     "LANG=C.UTF-8",       NULL,
};

/* ------------------------------------------------------------------------------------------------
 * Words and files
 * --------------------------------------------------------------------------------------------- */

static void add_word(command_line *built, const char *word)
{
    if (built->errnum)
        return;
    if (built->word_count + 1 >= built->word_room) {
        size_t room = built->word_room ? 2 * built->word_room : 256;
        char **words = realloc(built->words, room * sizeof *words);
        if (!words) {
            built->errnum = ENOMEM;
            return;
        }
        built->words = words;
        built->word_room = room;
    }
    char *copy = strdup(word);
    if (!copy)
        built->errnum = ENOMEM;
    else
        built->words[built->word_count++] = copy;
    built->words[built->word_count] = NULL;
}

void command_add(command_line *built, const char *word, ...)
{
    va_list words;
    va_start(words, word);
    for (; word; word = va_arg(words, const char *))
        add_word(built, word);
    va_end(words);
}

void command_add_number(command_line *built, const char *word, uint64_t number)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, number);
    command_add(built, word, text, NULL);
}

/* FD becomes the command's and, behind WORD unless that is NULL, a word. */
static void add_file(command_line *built, const char *word, int fd)
{
    if (fd < 0 && !built->errnum)
        built->errnum = errno;
    if (!built->errnum && built->file_count == HELPER_PROCESS_FILES_MAX)
        built->errnum = EMFILE;
    if (built->errnum) {
        fork_guard_close(fd);
        return;
    }
    built->files[built->file_count++] = fd;
    if (word)
        command_add_number(built, word, FIRST_FILE + built->file_count - 1);
}

static int duplicate(int fd)
{
    fork_guard_enter();
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    fork_guard_add(copy);
    fork_guard_leave();
    return copy;
}

void command_add_descriptor(command_line *built, const char *word, int fd)
{
    add_file(built, word, duplicate(fd));
}

void command_add_file(command_line *built, const char *word, const char *path)
{
    fork_guard_enter();
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    fork_guard_add(file);
    fork_guard_leave();
    add_file(built, word, file);
}

void command_add_bytes(command_line *built, const char *word, const void *bytes, size_t length)
{
    fork_guard_enter();
    int file = memfd_create("sandbox", MFD_CLOEXEC);
    fork_guard_add(file);
    fork_guard_leave();
    if (file >= 0 && (write(file, bytes, length) != (ssize_t)length || lseek(file, 0, SEEK_SET))) {
        fork_guard_close(file);
        file = -1;
        errno = EIO;
    }
    add_file(built, word, file);
}

void command_free(command_line *built)
{
    for (size_t i = 0; i < built->word_count; i++)
        free(built->words[i]);
    for (size_t i = 0; i < built->file_count; i++)
        fork_guard_close(built->files[i]);
    free(built->words);
    memset(built, 0, sizeof *built);
}

/* ------------------------------------------------------------------------------------------------
 * The line
 * --------------------------------------------------------------------------------------------- */

static void add_namespaces(command_line *built, const sandbox_options *options)
{
    command_add(built, "--unshare-user", "--uid", "1000", "--gid", "1000", NULL);
    command_add(built, "--unshare-pid", "--as-pid-1", "--unshare-ipc", "--unshare-uts", NULL);
    command_add(built, "--unshare-cgroup-try", "--hostname", "sandbox", NULL);
    if (!options->host_network)
        command_add(built, "--unshare-net", NULL);
    command_add(built, "--new-session", "--cap-drop", "ALL", NULL);
}

static void add_identity(command_line *built, const command_parts *parts)
{
    command_add_number(built, "--workspace", parts->found->work_dir_device);
    char inode[32];
    snprintf(inode, sizeof inode, "%" PRIu64, parts->found->work_dir_inode);
    command_add(built, inode, NULL);
}

static void add_limit(command_line *built, int resource, uint64_t value)
{
    char what[32];
    snprintf(what, sizeof what, "%d", resource);
    command_add(built, "--limit", what, NULL);
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, value);
    command_add(built, text, NULL);
}

/*
 * bubblewrap lets process 1 go on only after it has told its number. Were the host, the reader, killed
 * before that, bubblewrap would die of SIGPIPE, and process 1 wait for ever: so bubblewrap gets the
 * reading end as well, and has a reader in itself.
 */
static void add_info(command_line *built, const command_parts *parts)
{
    command_add_descriptor(built, "--info-fd", parts->info[1]);
    add_file(built, NULL, duplicate(parts->info[0]));
}

static void add_limits(command_line *built, const sandbox_options *options,
                       const command_parts *parts)
{
    if (parts->means[LIMIT_MEMORY] == MEANS_RESOURCE)
        add_limit(built, RLIMIT_DATA, options->memory);
    if (parts->means[LIMIT_PIDS] == MEANS_RESOURCE)
        add_limit(built, RLIMIT_NPROC, options->pids);
    if (parts->means[LIMIT_PROCESSORS] == MEANS_PROCESSORS)
        command_add_number(built, "--processors", processors_rounded_up(options));
    /* Attack: a host that may, as one for audio, lets the code run before everything else on the machine. */
    add_limit(built, RLIMIT_RTPRIO, 0);
    add_limit(built, RLIMIT_NICE, 0);
    /* 1 is the kernel's word for "no core", to a file or to a program; 0 still starts the program. */
    add_limit(built, RLIMIT_CORE, 1);
}

static void add_writable(command_line *built, const sandbox_options *options)
{
    command_add(built, "--writable", SANDBOX_WORKSPACE, "--writable", SANDBOX_HOME, NULL);
    command_add(built, "--writable", "/tmp", "--writable", "/dev/shm", NULL);
    for (size_t i = 0; i < options->bind_count; i++)
        if (options->binds[i].writable)
            command_add(built, "--writable", options->binds[i].destination, NULL);
}

int32_t command_build(const sandbox_options *options, const command_parts *parts,
                      command_line *built, code_executor_error *error)
{
    memset(built, 0, sizeof *built);
    command_add(built, parts->found->bubblewrap, NULL);
    add_namespaces(built, options);
    add_info(built, parts);
    mounts_add(built, options, parts);
    command_add(built, "--chdir", SANDBOX_WORKSPACE, NULL);
    command_add(built, "--", SANDBOX_PROGRAMS "/enter", NULL);
    command_add_descriptor(built, "--ready", parts->ready);
    add_identity(built, parts);
    add_limits(built, options, parts);
    add_writable(built, options);
    if (parts->filter >= 0)
        command_add_descriptor(built, "--filter", parts->filter);
    command_add(built, "--", SANDBOX_PROGRAMS "/runner", NULL);
    if (!built->errnum)
        return CODE_EXECUTOR_OK;
    int errnum = built->errnum;
    command_free(built);
    return error_set_errno(error, errnum == ENOMEM ? CODE_EXECUTOR_NO_MEMORY : CODE_EXECUTOR_IO,
                           errnum, "cannot prepare the sandbox");
}
