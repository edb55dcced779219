/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command.c: see command.h.
 *
 * The child shares our memory until it executes the program, while we sleep (CLONE_VM, CLONE_VFORK):
 * no page tables are copied, which a start would notice, and what went wrong is there to read when we
 * wake. It touches nothing but its own stack and `start`. Signals are blocked in us and have default
 * dispositions, so no handler can run in between.
 */
#include "command.h"
#include "guard.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
#define UNDER_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNDER_ADDRESS_SANITIZER
#endif
#endif
#ifdef UNDER_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

/* Where PATH is not set. */
#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

#define CHILD_STACK_SIZE (64u * 1024u)

static size_t name_length(const char *entry)
{
    return (size_t)(strchrnul(entry, '=') - entry);
}

static bool has_name(char **list, size_t count, const char *entry)
{
    size_t length = name_length(entry);
    for (size_t i = 0; i < count; i++)
        if (strncmp(list[i], entry, length) == 0 && list[i][length] == '=')
            return true;
    return false;
}

static size_t list_length(char **list)
{
    size_t length = 0;
    while (list[length])
        length++;
    return length;
}

char **environment_build(char **base, char **defaults, char **additions)
{
    size_t additions_count = list_length(additions);
    size_t most = list_length(base) + list_length(defaults) + additions_count;
    char **built = calloc(most + 1, sizeof *built);
    if (!built)
        return NULL;
    size_t count = 0;
    /* Of two additions with one name the later holds. */
    for (size_t i = additions_count; i-- > 0;)
        if (!has_name(built, count, additions[i]))
            built[count++] = additions[i];
    char **rest[] = {base, defaults};
    for (size_t list = 0; list < 2; list++)
        for (char **entry = rest[list]; *entry; entry++)
            if (!has_name(built, count, *entry))
                built[count++] = *entry;
    return built;
}

const char *environment_get(char **environment, const char *name)
{
    size_t length = strlen(name);
    for (char **entry = environment; *entry; entry++)
        if (strncmp(*entry, name, length) == 0 && (*entry)[length] == '=')
            return *entry + length + 1;
    return NULL;
}

/*
 * The next place where PATH_LIST says to look for PROGRAM; moves PATH_LIST on, to NULL after the last.
 * An empty entry is the current folder. False: the path does not fit.
 */
static bool next_path(const char **path_list, const char *program, char path[PATH_MAX])
{
    const char *folder = *path_list;
    size_t length = (size_t)(strchrnul(folder, ':') - folder);
    *path_list = folder[length] == ':' ? folder + length + 1 : NULL;
    int written =
        snprintf(path, PATH_MAX, "%.*s%s%s", (int)length, folder, length > 0 ? "/" : "", program);
    return written > 0 && written < PATH_MAX && length < PATH_MAX;
}

/* Whether the search goes on after exec failed so. */
static bool not_here(int error)
{
    return error == ENOENT || error == EACCES || error == ENOTDIR;
}

/* Executes ARGUMENTS as execvpe would; returns why it could not. */
static int execute_candidate(char **arguments, char **environment)
{
    if (strchr(arguments[0], '/')) {
        execve(arguments[0], arguments, environment);
        return errno;
    }
    const char *path_list = environment_get(environment, "PATH");
    if (!path_list)
        path_list = DEFAULT_PATH;
    int error = ENOENT;
    char path[PATH_MAX];
    while (path_list) {
        /* Asking costs a fraction of an exec that fails. */
        if (!next_path(&path_list, arguments[0], path) || access(path, F_OK) != 0)
            continue;
        execve(path, arguments, environment);
        if (!not_here(errno))
            return errno;
        if (errno == EACCES)
            error = EACCES;
    }
    return error;
}

struct child {
    const struct command *command;
    struct command_start *start;
};

/* In the child. Returns only where nothing could be executed. */
static int become_command(void *argument)
{
    const struct child *child = argument;
    const struct command *command = child->command;
    struct command_start *start = child->start;
    (void)setsid();
    guard_command();
    if (command->folder[0] != '\0' && chdir(command->folder) != 0) {
        start->error = errno;
        return 127;
    }
    int error = ENOENT;
    for (uint32_t i = 0; command->candidates[i]; i++) {
        start->candidate = i; /* before exec: afterwards this code is gone */
        int reason = execute_candidate(command->candidates[i], command->environment);
        if (!not_here(reason)) {
            start->error = reason;
            return 127;
        }
        /* Something that may not be executed tells more than something that is not there. */
        if (reason == EACCES)
            error = EACCES;
    }
    start->error = error;
    return 127;
}

__attribute__((format(printf, 3, 4))) static void append(char *text, size_t size,
                                                         const char *format, ...)
{
    size_t length = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text + length, size - length, format, arguments);
    va_end(arguments);
}

/* What was tried, in words. */
static void explain(const struct command *command, struct command_start *start)
{
    char *text = start->detail;
    size_t size = sizeof start->detail;
    const char *reason = strerror(start->error);
    if (start->candidate == CANDIDATE_NONE) {
        append(text, size, "cannot enter the folder %s as user %u: %s", command->folder,
               (unsigned)getuid(), reason);
        return;
    }
    if (!not_here(start->error)) {
        append(text, size, "%s: %s", command->candidates[start->candidate][0], reason);
        return;
    }
    append(text, size, "%s:", reason);
    for (uint32_t i = 0; command->candidates[i]; i++)
        append(text, size, "%s %s", i > 0 ? "," : "", command->candidates[i][0]);
    const char *path_list = environment_get(command->environment, "PATH");
    append(text, size, " (PATH is %s)", path_list ? path_list : DEFAULT_PATH);
}

/* An address sanitizer has marks around what was in the last child's frames, which never returned. */
static void forget_frames(unsigned char *stack, size_t size)
{
#ifdef UNDER_ADDRESS_SANITIZER
    __asan_unpoison_memory_region(stack, size);
#else
    (void)stack;
    (void)size;
#endif
}

pid_t command_run(const struct command *command, struct command_start *start)
{
    static _Alignas(16) unsigned char stack[CHILD_STACK_SIZE];
    struct child child = {command, start};
    forget_frames(stack, sizeof stack);
    *start = (struct command_start){.error = 0, .candidate = CANDIDATE_NONE};
    pid_t pid =
        clone(become_command, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &child);
    if (pid < 0) {
        start->error = errno;
        append(start->detail, sizeof start->detail, "cannot start a process: %s",
               strerror(start->error));
        return -1;
    }
    if (start->error == 0)
        return pid;
    (void)waitpid(pid, NULL, 0);
    explain(command, start);
    return -1;
}

bool program_find(const char *program, const char *path_list, char found[PATH_MAX])
{
    if (program[0] == '\0')
        return false;
    /* With a slash there is one place to look. */
    const char *places = strchr(program, '/') ? "" : path_list ? path_list : DEFAULT_PATH;
    char path[PATH_MAX];
    while (places) {
        struct stat status;
        if (!next_path(&places, program, path) || stat(path, &status) != 0 ||
            !S_ISREG(status.st_mode) || faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) != 0)
            continue;
        if (path[0] == '/')
            return snprintf(found, PATH_MAX, "%s", path) < PATH_MAX;
        char folder[PATH_MAX];
        return getcwd(folder, sizeof folder) &&
               snprintf(found, PATH_MAX, "%s/%s", folder, path) < PATH_MAX;
    }
    return false;
}
