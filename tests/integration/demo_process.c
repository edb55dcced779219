/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demo_process.c: see demo_process.h.
 *
 *     test ──stdin──▶ host_demo ──stdout, stderr──▶ test: one poll loop feeds and collects
 */
#include "demo_process.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void die(const char *what)
{
    fprintf(stderr, "demo_process: %s: %s\n", what, strerror(errno));
    exit(99);
}

double demo_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ------------------------------------------------------------------------------------------------
 * The folder
 * --------------------------------------------------------------------------------------------- */

static char folder[] = "/tmp/demo-test-XXXXXX";
static bool folder_made;
static pid_t folder_owner;
static char *file_paths[64]; /* that demo_file gave */
static size_t file_count;

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status;
    (void)kind;
    (void)walk;
    return remove(path);
}

static void remove_folder(void)
{
    if (getpid() == folder_owner) {
        nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        for (size_t i = 0; i < file_count; i++)
            free(file_paths[i]);
    }
}

const char *demo_folder(void)
{
    if (!folder_made) {
        if (mkdtemp(folder) == NULL)
            die("mkdtemp");
        folder_made = true;
        folder_owner = getpid();
        atexit(remove_folder);
    }
    return folder;
}

const char *demo_file(const char *name, const char *text, size_t length)
{
    char *path = NULL;
    if (asprintf(&path, "%s/%s", demo_folder(), name) < 0)
        die("asprintf");
    FILE *file = fopen(path, "we");
    if (file == NULL || fwrite(text, 1, length, file) != length || fclose(file) != 0)
        die(path);
    if (file_count == sizeof file_paths / sizeof *file_paths)
        die("too many files");
    file_paths[file_count++] = path;
    return path;
}

/* ------------------------------------------------------------------------------------------------
 * Starting and ending
 * --------------------------------------------------------------------------------------------- */

static void become_host_demo(const char *const *arguments, int input, int output, int words)
{
    const char *vector[20] = {HOST_DEMO_PATH};
    for (size_t i = 0; i < 18 && arguments[i] != NULL; i++)
        vector[i + 1] = arguments[i];
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    static const int signals[] = {SIGPIPE, SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], SIG_DFL); /* nohup and shells ignore some */
    const int descriptors[] = {input, output, words};
    for (int i = 0; i < 3; i++)
        if (descriptors[i] < 0)
            close(i);
        else
            dup2(descriptors[i], i);
    if (isatty(STDIN_FILENO)) {
        setsid();
        ioctl(STDIN_FILENO, TIOCSCTTY, 0);
    }
    execv(HOST_DEMO_PATH, (char *const *)(uintptr_t)vector);
    _exit(99);
}

static const char *plugin_path; /* of the call that is being made, or NULL */

/* The machine may export what hides faults, or what changes what is said. */
static void clear_environment(void)
{
    static const char *const names[] = {"PYTHONUNBUFFERED", "LC_ALL", "LC_CTYPE"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
    setenv("NO_COLOR", "1", 1);
    setenv("LANG", "C.UTF-8", 1);
    setenv("TMPDIR", demo_folder(), 1);
    setenv("XDG_STATE_HOME", demo_folder(), 1);
    setenv("CODE_EXECUTOR_PLUGIN_PATH", plugin_path == NULL ? TEST_PLUGIN_FOLDER : plugin_path, 1);
}

pid_t demo_start(const char *const *arguments, int input, int output, int words)
{
    clear_environment();
    pid_t process = fork();
    if (process < 0)
        die("fork");
    if (process == 0)
        become_host_demo(arguments, input, output, words);
    return process;
}

static int status_of(int waited)
{
    return WIFEXITED(waited) ? WEXITSTATUS(waited) : -WTERMSIG(waited);
}

int demo_wait(pid_t process, double seconds)
{
    double deadline = demo_now() + seconds;
    int waited = 0;
    while (demo_now() < deadline) {
        if (waitpid(process, &waited, WNOHANG) == process)
            return status_of(waited);
        usleep(10000);
    }
    kill(process, SIGKILL);
    waitpid(process, &waited, 0);
    return DEMO_TOO_LATE;
}

/* ------------------------------------------------------------------------------------------------
 * A whole call
 * --------------------------------------------------------------------------------------------- */

struct exchange {
    const struct demo_call *call;
    struct demo_result *result;
    pid_t process;
    int input; /* our ends; -1 when closed */
    int output;
    int words;
    size_t fed;
    bool signalled;
};

static void close_end(int *end)
{
    close(*end);
    *end = -1;
}

static void feed(struct exchange *exchange, size_t length)
{
    ssize_t written =
        write(exchange->input, exchange->call->input + exchange->fed, length - exchange->fed);
    exchange->fed += written < 0 ? 0 : (size_t)written;
    if (exchange->fed == length || (written < 0 && errno != EAGAIN && errno != EINTR))
        close_end(&exchange->input);
}

static void collect(int *end, char **text, size_t *length)
{
    char piece[65536];
    ssize_t got = read(*end, piece, sizeof piece);
    if (got <= 0) {
        close_end(end);
        return;
    }
    char *grown = realloc(*text, *length + (size_t)got + 1);
    if (grown == NULL)
        die("realloc");
    memcpy(grown + *length, piece, (size_t)got);
    *text = grown;
    *length += (size_t)got;
    grown[*length] = '\0';
}

static void collect_output(struct exchange *exchange)
{
    struct demo_result *result = exchange->result;
    const struct demo_call *call = exchange->call;
    collect(&exchange->output, &result->output, &result->output_length);
    if (call->signal_after_output != 0 && !exchange->signalled && result->output_length > 0) {
        kill(exchange->process, call->signal_after_output);
        exchange->signalled = true;
    }
    if (exchange->output >= 0 && call->drop_output_after > 0 &&
        result->output_length >= (size_t)call->drop_output_after)
        close_end(&exchange->output);
}

static void converse(struct exchange *exchange, size_t input_length, double deadline)
{
    while ((exchange->output >= 0 || exchange->words >= 0) && demo_now() < deadline) {
        struct pollfd events[] = {
            {exchange->input, POLLOUT, 0},
            {exchange->output, POLLIN, 0},
            {exchange->words, POLLIN, 0},
        };
        if (poll(events, 3, 200) <= 0)
            continue;
        if (events[0].revents != 0)
            feed(exchange, input_length);
        if (events[1].revents != 0)
            collect_output(exchange);
        if (events[2].revents != 0)
            collect(&exchange->words, &exchange->result->words, &exchange->result->words_length);
    }
}

static int open_or_die(const char *path, int flags)
{
    int descriptor = open(path, flags | O_CLOEXEC, 0600);
    if (descriptor < 0)
        die(path);
    return descriptor;
}

static void make_pipe(int ends[2])
{
    if (pipe2(ends, O_CLOEXEC) != 0)
        die("pipe2");
}

/* As wait4 says it, which knows the peak memory. */
static void reap(struct exchange *exchange, double deadline)
{
    struct rusage usage = {0};
    int waited = 0;
    for (;;) {
        if (wait4(exchange->process, &waited, WNOHANG, &usage) == exchange->process) {
            exchange->result->status = status_of(waited);
            break;
        }
        if (demo_now() > deadline) {
            kill(exchange->process, SIGKILL);
            wait4(exchange->process, &waited, 0, &usage);
            exchange->result->status = DEMO_TOO_LATE;
            break;
        }
        usleep(2000);
    }
    exchange->result->peak_kilobytes = usage.ru_maxrss;
}

void demo_run(const struct demo_call *call, struct demo_result *result)
{
    memset(result, 0, sizeof *result);
    signal(SIGPIPE, SIG_IGN);
    int input[2] = {-1, -1}, output[2] = {-1, -1}, words[2];
    size_t length = 0;
    if (call->input != NULL) {
        make_pipe(input);
        fcntl(input[1], F_SETFL, O_NONBLOCK);
        length = call->input_length == 0 ? strlen(call->input) : call->input_length;
    } else {
        input[0] = open_or_die("/dev/null", O_RDONLY);
    }
    if (call->output_path != NULL)
        output[1] = open_or_die(call->output_path, O_WRONLY);
    else
        make_pipe(output);
    make_pipe(words);
    plugin_path = call->plugin_path;
    double begun = demo_now();
    struct exchange exchange = {
        .call = call, .result = result, .input = input[1], .output = output[0], .words = words[0]};
    exchange.process = demo_start(call->arguments, input[0], output[1], words[1]);
    close(input[0]);
    close(output[1]);
    close(words[1]);
    converse(&exchange, length, begun + DEMO_DEADLINE_SECONDS);
    reap(&exchange, begun + DEMO_DEADLINE_SECONDS);
    result->seconds = demo_now() - begun;
    int *ends[] = {&exchange.input, &exchange.output, &exchange.words};
    for (size_t i = 0; i < 3; i++)
        if (*ends[i] >= 0)
            close_end(ends[i]);
    result->output = result->output == NULL ? strdup("") : result->output;
    result->words = result->words == NULL ? strdup("") : result->words;
}

void demo_result_free(struct demo_result *result)
{
    free(result->output);
    free(result->words);
    memset(result, 0, sizeof *result);
}

/* ------------------------------------------------------------------------------------------------
 * Other processes
 * --------------------------------------------------------------------------------------------- */

static bool has_command_line(const char *pid, const char *command_line)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%.20s/cmdline", pid);
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return false;
    ssize_t length = read(descriptor, text, sizeof text - 1);
    close(descriptor);
    if (length <= 0)
        return false;
    for (ssize_t i = 0; i < length - 1; i++)
        text[i] = text[i] == '\0' ? ' ' : text[i];
    text[length] = '\0';
    return strcmp(text, command_line) == 0;
}

static bool process_runs(const char *command_line)
{
    DIR *processes = opendir("/proc");
    bool found = false;
    if (processes == NULL)
        die("/proc");
    for (struct dirent *entry; !found && (entry = readdir(processes)) != NULL;) {
        found = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
                has_command_line(entry->d_name, command_line);
    }
    closedir(processes);
    return found;
}

bool demo_process_stays(const char *command_line, double seconds)
{
    double deadline = demo_now() + seconds;
    while (process_runs(command_line)) {
        if (demo_now() > deadline)
            return true;
        usleep(50000);
    }
    return false;
}
