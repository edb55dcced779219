/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interrupt.c: one thread that waits for signals.
 *
 *     signalfd ──▶ take_signal ──┬─ something runs ──▶ cancel, break its write (again every 100
 *                                │                     ms until it has ended: no race loses one)
 *                                ├─ nothing runs ────▶ wake the main thread, or end
 *                                └─ once more ───────▶ end: last will, _exit
 *
 * `lock` guards what runs, `will_lock` the will. A will that hangs cannot keep the host alive:
 * before the will SIGINT gets its default action back, so that one more Ctrl-C kills at once.
 */
#include "interrupt.h"
#include "text.h"
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

enum {
    CANCEL_AGAIN_MS = 100,
    /* How long the main thread may take to clean up after SIGTERM before it is done without it. */
    PATIENCE_MS = 10000,
};

static struct {
    pthread_t thread;
    bool thread_runs;
    int signals; /* signalfd */
    int pending; /* eventfd, readable while an interrupt is pending */
    int close;   /* eventfd, readable when the thread shall end */
    pthread_mutex_t lock;
    void (*cancel)(void *state); /* NULL while nothing runs */
    void *cancel_state;
    bool idle_wakes;
    bool breaks_calls; /* of this thread: */
    pthread_t caller;
    atomic_bool interrupted;
    atomic_int ending;
    int64_t ending_since; /* of the thread */
    pthread_mutex_t will_lock;
    void (*will)(void *state);
    void *will_state;
} this = {
    .signals = -1,
    .pending = -1,
    .close = -1,
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .will_lock = PTHREAD_MUTEX_INITIALIZER,
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void end_now(int signal_number)
{
    signal(SIGINT, SIG_DFL);
    sigset_t interrupt;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    pthread_sigmask(SIG_UNBLOCK, &interrupt, NULL);
    /* Held for good: what the will is about is not freed any more. */
    pthread_mutex_lock(&this.will_lock);
    if (this.will != NULL)
        this.will(this.will_state);
    _exit(128 + signal_number);
}

static void make_pending(void)
{
    atomic_store(&this.interrupted, true);
    uint64_t one = 1;
    while (write(this.pending, &one, sizeof one) < 0 && errno == EINTR) {
    }
}

static void cancel_what_runs(void)
{
    pthread_mutex_lock(&this.lock);
    if (this.breaks_calls)
        pthread_kill(this.caller, SIGUSR1);
    if (this.cancel != NULL)
        this.cancel(this.cancel_state);
    pthread_mutex_unlock(&this.lock);
}

static void take_signal(int signal_number)
{
    pthread_mutex_lock(&this.lock);
    bool runs = this.cancel != NULL;
    bool idle_wakes = this.idle_wakes;
    pthread_mutex_unlock(&this.lock);
    bool again = atomic_load(&this.interrupted);

    if (signal_number != SIGINT) {
        bool impatient = atomic_exchange(&this.ending, signal_number) != 0;
        this.ending_since = now_ms();
        if (impatient || (!runs && !idle_wakes))
            end_now(signal_number);
    } else if (runs ? again : !idle_wakes) {
        end_now(signal_number);
    }
    make_pending();
    cancel_what_runs();
}

static void *wait_for_signals(void *unused)
{
    (void)unused;
    for (;;) {
        struct pollfd events[] = {{this.signals, POLLIN, 0}, {this.close, POLLIN, 0}};
        int ready = poll(events, 2, atomic_load(&this.interrupted) ? CANCEL_AGAIN_MS : -1);
        if (events[1].revents != 0 && ready > 0)
            return NULL;
        struct signalfd_siginfo information;
        if (ready > 0 && read(this.signals, &information, sizeof information) > 0) {
            take_signal((int)information.ssi_signo);
        } else if (ready == 0) {
            cancel_what_runs();
            int ending = atomic_load(&this.ending);
            if (ending != 0 && now_ms() - this.ending_since > PATIENCE_MS)
                end_now(ending);
        }
    }
}

static void do_nothing(int signal_number)
{
    (void)signal_number;
}

int32_t interrupt_open(code_executor_error *error)
{
    signal(SIGPIPE, SIG_IGN);
    /* Without SA_RESTART: that it came is all there is to it. */
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = do_nothing}, NULL);
    sigset_t taken;
    sigemptyset(&taken);
    sigaddset(&taken, SIGINT);
    sigaddset(&taken, SIGTERM);
    sigaddset(&taken, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &taken, NULL);
    this.signals = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
    this.pending = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    this.close = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (this.signals < 0 || this.pending < 0 || this.close < 0)
        return fail(error, CODE_EXECUTOR_IO, "Cannot wait for signals: %s.", strerror(errno));
    int failure = pthread_create(&this.thread, NULL, wait_for_signals, NULL);
    if (failure != 0)
        return fail(error, CODE_EXECUTOR_IO, "Cannot start a thread: %s.", strerror(failure));
    this.thread_runs = true;
    return CODE_EXECUTOR_OK;
}

void interrupt_close(void)
{
    if (!this.thread_runs)
        return;
    uint64_t one = 1;
    while (write(this.close, &one, sizeof one) < 0 && errno == EINTR) {
    }
    pthread_join(this.thread, NULL);
    this.thread_runs = false;
}

void interrupt_last_will(void (*will)(void *state), void *state)
{
    pthread_mutex_lock(&this.will_lock);
    this.will = will;
    this.will_state = state;
    pthread_mutex_unlock(&this.will_lock);
}

void interrupt_idle_wakes(void)
{
    pthread_mutex_lock(&this.lock);
    this.idle_wakes = true;
    pthread_mutex_unlock(&this.lock);
}

bool interrupt_begin(void (*cancel)(void *state), void *state)
{
    pthread_mutex_lock(&this.lock);
    this.cancel = cancel;
    this.cancel_state = state;
    pthread_mutex_unlock(&this.lock);
    if (interrupt_ending() != 0) {
        interrupt_finish();
        return false;
    }
    return true;
}

void interrupt_finish(void)
{
    pthread_mutex_lock(&this.lock);
    this.cancel = NULL;
    pthread_mutex_unlock(&this.lock);
}

void interrupt_breaks_calls(void)
{
    pthread_mutex_lock(&this.lock);
    this.breaks_calls = true;
    this.caller = pthread_self();
    pthread_mutex_unlock(&this.lock);
}

void interrupt_spares_calls(void)
{
    pthread_mutex_lock(&this.lock);
    this.breaks_calls = false;
    pthread_mutex_unlock(&this.lock);
}

bool interrupt_pending(void)
{
    return atomic_load(&this.interrupted);
}

void interrupt_clear(void)
{
    if (interrupt_ending() != 0)
        return;
    uint64_t count;
    atomic_store(&this.interrupted, false);
    while (read(this.pending, &count, sizeof count) < 0 && errno == EINTR) {
    }
}

int interrupt_descriptor(void)
{
    return this.pending;
}

int interrupt_ending(void)
{
    return atomic_load(&this.ending);
}

bool interrupt_is_this_thread(void)
{
    return this.thread_runs && pthread_equal(pthread_self(), this.thread) != 0;
}
