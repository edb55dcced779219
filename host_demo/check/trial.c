/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trial.c: see trial.h.
 *
 *     parent: shared report ─ fork ─ wait for the pidfd, no longer than the limit ─ kill ─ read the report
 *     child:  a session of its own, default signals, stdin at end-of-file, stdout and stderr in a file in
 *             memory, TMPDIR in a folder that goes with the trial ─ the rule ─ _exit
 *
 * Attack: a plugin under test does what it likes in the child, and may write anything into the report:
 * its texts are ended before they are read, and what is removed is what the parent itself has made.
 */
#include "trial.h"
#include "folder_removal.h"
#include "interrupt.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct trial {
    const struct rule *rule;
    const struct checked *checked;
    struct report *report; /* shared */
    int words;
    int watched; /* a pidfd */
    /* Over what an interrupt clears away: it finds what is there whole, or not at all. */
    pthread_mutex_t lock;
    char *folder;
    pid_t child; /* 0: none, or reaped */
};

/* ------------------------------------------------------------------------------------------------
 * The child
 * --------------------------------------------------------------------------------------------- */

static void restore_signals(void)
{
    sigset_t none;
    sigemptyset(&none);
    for (int number = 1; number < 32; number++)
        signal(number, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* What the plugin finds is what it would find in a plain host. */
static bool become_plain_host(const struct trial *trial)
{
    static const struct rlimit no_core = {0, 0};
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    restore_signals();
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* for a host_demo that is killed */
    setrlimit(RLIMIT_CORE, &no_core);
    return nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 && close(nothing) == 0 &&
           dup2(trial->words, STDOUT_FILENO) >= 0 && dup2(trial->words, STDERR_FILENO) >= 0 &&
           setenv("TMPDIR", trial->folder, 1) == 0;
}

static _Noreturn void try_in_child(const struct trial *trial)
{
    struct subject subject = {
        .checked = trial->checked,
        .report = trial->report,
        .folder = trial->folder,
        .words = trial->words,
        .probes = trial->checked->probes,
    };
    if (!become_plain_host(trial))
        not_applicable(&subject, "the host failed: %s", strerror(errno));
    step(&subject, "load");
    trial->rule->run(&subject);
    trial->report->verdict = VERDICT_HOLDS;
    _exit(0);
}

/* ------------------------------------------------------------------------------------------------
 * The parent
 * --------------------------------------------------------------------------------------------- */

static int32_t make_folder(struct trial *trial, code_executor_error *error)
{
    const char *parent = getenv("TMPDIR");
    parent = parent == NULL || *parent != '/' ? "/tmp" : parent;
    if (asprintf(&trial->folder, "%s/host_demo-XXXXXX", parent) < 0) {
        trial->folder = NULL;
        return fail_no_memory(error);
    }
    if (mkdtemp(trial->folder) != NULL)
        return CODE_EXECUTOR_OK;
    int reason = errno;
    free(trial->folder);
    trial->folder = NULL;
    return fail(error, CODE_EXECUTOR_IO, "Cannot make a folder in %s: %s.", parent,
                strerror(reason));
}

static int32_t begin(struct trial *trial, code_executor_error *error)
{
    void *shared = mmap(NULL, sizeof *trial->report, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    trial->report = shared == MAP_FAILED ? NULL : shared;
    trial->words = memfd_create("words", MFD_CLOEXEC);
    if (trial->report == NULL || trial->words < 0)
        return fail(error, CODE_EXECUTOR_IO, "Cannot share memory: %s.", strerror(errno));
    pthread_mutex_lock(&trial->lock);
    int32_t status = make_folder(trial, error);
    if (status == CODE_EXECUTOR_OK)
        trial->child = fork();
    if (status == CODE_EXECUTOR_OK && trial->child == 0)
        try_in_child(trial);
    pthread_mutex_unlock(&trial->lock);
    if (status != CODE_EXECUTOR_OK)
        return status;
    if (trial->child < 0)
        return fail(error, CODE_EXECUTOR_IO, "Cannot start a process: %s.", strerror(errno));
    trial->watched = (int)syscall(SYS_pidfd_open, trial->child, 0u);
    return trial->watched >= 0
               ? CODE_EXECUTOR_OK
               : fail(error, CODE_EXECUTOR_IO, "Cannot watch a process: %s.", strerror(errno));
}

/* What the child left in its folder may be written to until the last process that it started has seen
 * its end. */
static void remove_its_folder(const char *folder)
{
    static const struct timespec moment = {.tv_nsec = 50000000};
    for (int i = 0; i < 20 && folder_remove(folder) != 0; i++)
        nanosleep(&moment, NULL);
}

static void kill_child(const struct trial *trial)
{
    kill(-trial->child, SIGKILL);
    kill(trial->child, SIGKILL);
}

/* The last will of a host_demo that is interrupted; holds the lock to its end. */
static void abandon(void *state)
{
    struct trial *trial = state;
    pthread_mutex_lock(&trial->lock);
    if (trial->child > 0)
        kill_child(trial);
    if (trial->folder != NULL)
        remove_its_folder(trial->folder);
}

static void end_texts(struct report *report)
{
    report->step[sizeof report->step - 1] = '\0';
    report->expected[sizeof report->expected - 1] = '\0';
    report->seen[sizeof report->seen - 1] = '\0';
}

/* The last line that the child said, such as an allocator's last words; "" where there is none. */
static const char *last_line(int words, char *buffer, size_t size)
{
    off_t length = lseek(words, 0, SEEK_END);
    off_t begin = length > (off_t)size - 1 ? length - (off_t)size + 1 : 0;
    ssize_t got = pread(words, buffer, size - 1, begin);
    size_t end = got < 0 ? 0 : (size_t)got;
    while (end > 0 && buffer[end - 1] == '\n')
        end--;
    buffer[end] = '\0';
    char *newline = strrchr(buffer, '\n');
    return newline == NULL ? buffer : newline + 1;
}

static void judge_silent_end(const struct trial *trial, int waited, bool late, double limit)
{
    struct report *report = trial->report;
    char buffer[512];
    report->verdict = VERDICT_FAILED;
    if (report->expected[0] == '\0')
        snprintf(report->expected, sizeof report->expected, "%s returns", report->step);
    if (late) {
        snprintf(report->seen, sizeof report->seen, "%s had not returned after %g s", report->step,
                 limit);
        return;
    }
    const char *line = last_line(trial->words, buffer, sizeof buffer);
    const char *name = WIFSIGNALED(waited) ? sigabbrev_np(WTERMSIG(waited)) : NULL;
    char how[64];
    if (WIFSIGNALED(waited))
        snprintf(how, sizeof how, "crashed (SIG%s)", name == NULL ? "?" : name);
    else
        snprintf(how, sizeof how, "ended the process (exit code %d)", WEXITSTATUS(waited));
    snprintf(report->seen, sizeof report->seen, "it %s in %s%s%s", how, report->step,
             *line == '\0' ? "" : ": ", line);
}

/* Of one that has ended, or was killed. */
static int reap_child(struct trial *trial)
{
    int waited = 0;
    pthread_mutex_lock(&trial->lock);
    while (waitpid(trial->child, &waited, 0) < 0 && errno == EINTR) {
    }
    kill(-trial->child, SIGKILL); /* what it may have started in its session */
    trial->child = 0;
    pthread_mutex_unlock(&trial->lock);
    return waited;
}

/* Waits for the child, or LIMIT. */
static void await(struct trial *trial, double limit)
{
    struct pollfd watched = {trial->watched, POLLIN, 0};
    int ready;
    do
        ready = poll(&watched, 1, (int)(limit * 1000));
    while (ready < 0 && errno == EINTR);
    if (ready == 0)
        kill_child(trial);
    int waited = reap_child(trial);
    end_texts(trial->report);
    if (trial->report->verdict == VERDICT_NONE || ready == 0)
        judge_silent_end(trial, waited, ready == 0, limit);
}

int32_t trial_run(const struct rule *rule, const struct checked *checked, double limit,
                  struct report *report, code_executor_error *error)
{
    struct trial trial = {.rule = rule,
                          .checked = checked,
                          .words = -1,
                          .watched = -1,
                          .lock = PTHREAD_MUTEX_INITIALIZER};
    interrupt_last_will(abandon, &trial);
    int32_t status = begin(&trial, error);
    if (status == CODE_EXECUTOR_OK) {
        await(&trial, limit);
        *report = *trial.report;
    } else if (trial.child > 0) {
        kill_child(&trial);
        reap_child(&trial);
    }
    pthread_mutex_lock(&trial.lock);
    if (trial.folder != NULL)
        remove_its_folder(trial.folder);
    free(trial.folder);
    trial.folder = NULL;
    pthread_mutex_unlock(&trial.lock);
    interrupt_last_will(NULL, NULL);
    close_descriptor(&trial.words);
    close_descriptor(&trial.watched);
    if (trial.report != NULL)
        munmap(trial.report, sizeof *trial.report);
    return status;
}
