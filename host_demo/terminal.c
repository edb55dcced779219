/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal.c: see terminal.h. Nothing is buffered: code's output is seen as it comes, and what the
 * two streams show on one terminal keeps its order. Each stream remembers whether its last byte
 * ended a line, so that host_demo's words never continue a line of code's output.
 */
#include "terminal.h"
#include "filter.h"
#include "interrupt.h"
#include "options.h"
#include "rate.h"
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { STREAMS = 3 };

static struct {
    bool is_terminal;
    bool coloured;
    bool mid_line;
    struct filter filter;
} streams[STREAMS];

static bool quiet;
static bool one_place; /* stdout and stderr are the same terminal, pipe or file */
static bool has_utf8;
static bool progress_shown;
static struct rate progress_rate;

/* ------------------------------------------------------------------------------------------------
 * What the streams are
 * --------------------------------------------------------------------------------------------- */

static void fill_standard_descriptors(void)
{
    /* A closed stdin or stdout stays unusable; a closed stderr drops what is said. */
    static const int modes[STREAMS] = {O_WRONLY, O_RDONLY, O_WRONLY};
    for (int descriptor = 0; descriptor < STREAMS; descriptor++) {
        if (fcntl(descriptor, F_GETFD) < 0 && errno == EBADF) {
            /* The lowest free descriptor is this one. It shall pass exec as any stdin would. */
            (void)!open("/dev/null", modes[descriptor]);
        }
    }
}

void terminal_open(void)
{
    fill_standard_descriptors();
    setlocale(LC_CTYPE, "");
    has_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    if (!has_utf8)
        setlocale(LC_CTYPE, "C.UTF-8"); /* Messages are UTF-8, whatever the terminal shows. */
    const char *no_colour = getenv("NO_COLOR");
    const char *kind = getenv("TERM");
    bool colours = (no_colour == NULL || *no_colour == '\0') && kind != NULL && *kind != '\0' &&
                   strcmp(kind, "dumb") != 0;
    struct stat files[STREAMS] = {{0}};
    for (int i = 0; i < STREAMS; i++) {
        (void)fstat(i, &files[i]); /* all three are open */
        streams[i].is_terminal = isatty(i) == 1;
        streams[i].coloured = streams[i].is_terminal && colours;
    }
    one_place = files[1].st_dev == files[2].st_dev && files[1].st_ino == files[2].st_ino;
}

void terminal_be_quiet(void)
{
    quiet = true;
}

bool terminal_is_quiet(void)
{
    return quiet;
}

bool terminal_is(int descriptor)
{
    return streams[descriptor].is_terminal;
}

size_t terminal_columns(void)
{
    struct winsize size;
    bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20;
    return known ? size.ws_col : 80;
}

const char *tone_on(int descriptor, enum tone tone)
{
    static const char *const codes[] = {
        [TONE_PLAIN] = "",        [TONE_BOLD] = "\033[1m",   [TONE_DIM] = "\033[2m",
        [TONE_RED] = "\033[31m",  [TONE_GREEN] = "\033[32m", [TONE_YELLOW] = "\033[33m",
        [TONE_CYAN] = "\033[36m",
    };
    return streams[descriptor].coloured ? codes[tone] : "";
}

const char *tone_off(int descriptor)
{
    return streams[descriptor].coloured ? "\033[0m" : "";
}

const char *sign_arrow(void)
{
    return has_utf8 ? "→" : "->";
}

const char *sign_more(void)
{
    return has_utf8 ? "…" : "...";
}

/* ------------------------------------------------------------------------------------------------
 * Writing
 * --------------------------------------------------------------------------------------------- */

/* Writes what there is room for; 0: try again, -1: it cannot be. */
static ssize_t write_some(int descriptor, const char *text, size_t length)
{
    ssize_t written = write(descriptor, text, length);
    if (written < 0 && errno == EAGAIN) {
        /* Somebody who shares the stream made it non-blocking. */
        poll(&(struct pollfd){descriptor, POLLOUT, 0}, 1, -1);
        return 0;
    }
    return written < 0 && errno == EINTR ? 0 : written;
}

static bool write_all(int descriptor, const char *text, size_t length)
{
    while (length > 0) {
        ssize_t written = write_some(descriptor, text, length);
        if (written < 0)
            return false;
        text += written;
        length -= (size_t)written;
    }
    return true;
}

/* A reader that has stopped reading (a pager, Ctrl-S) must not keep Ctrl-C from cancelling. */
static bool write_unless_interrupted(int descriptor, const char *text, size_t length)
{
    ssize_t written = 0;
    interrupt_breaks_calls();
    while (length > 0 && written >= 0 && !interrupt_pending()) {
        written = write_some(descriptor, text, length);
        text += written < 0 ? 0 : written;
        length -= written < 0 ? 0 : (size_t)written;
    }
    int reason = written < 0 ? errno : EINTR;
    interrupt_spares_calls();
    errno = reason;
    return length == 0;
}

static void note_line_state(int descriptor, const char *text, size_t length)
{
    bool mid_line = text[length - 1] != '\n';
    streams[descriptor].mid_line = mid_line;
    if (one_place) {
        streams[STDOUT_FILENO].mid_line = mid_line;
        streams[STDERR_FILENO].mid_line = mid_line;
    }
}

static void erase_progress(void)
{
    if (progress_shown) {
        progress_shown = false;
        write_all(STDERR_FILENO, "\r\033[K", 4);
    }
}

bool terminal_write_plain(int descriptor, const char *text, size_t length)
{
    if (length == 0)
        return true;
    erase_progress();
    note_line_state(descriptor, text, length);
    return write_all(descriptor, text, length);
}

bool terminal_write(int descriptor, const char *text, size_t length)
{
    if (length == 0)
        return true;
    erase_progress();
    if (!streams[descriptor].is_terminal) {
        note_line_state(descriptor, text, length);
        return write_unless_interrupted(descriptor, text, length);
    }
    CLEANUP(bytes_free) struct bytes passed = {0};
    if (!filter_pass(&streams[descriptor].filter, text, length, &passed)) {
        errno = ENOMEM;
        return false;
    }
    if (passed.length > 0)
        note_line_state(descriptor, passed.data, passed.length);
    return write_unless_interrupted(descriptor, bytes_text(&passed), passed.length);
}

int terminal_lost_stdout(void)
{
    if (errno == EPIPE)
        return EXIT_NOBODY_READS;
    say_problem("The output cannot be written: %s.", strerror(errno));
    return EXIT_HOST_FAILED;
}

/* ------------------------------------------------------------------------------------------------
 * Words
 * --------------------------------------------------------------------------------------------- */

/* Executors log on the threads of their calls. */
static pthread_mutex_t words_lock = PTHREAD_MUTEX_INITIALIZER;

/* Writes LINE to stderr, on a line of its own, in a tone. What cannot be written there is lost:
 * there is nowhere to say so. */
static void put_line(enum tone tone, const struct bytes *line)
{
    CLEANUP(bytes_free) struct bytes text = {0};
    bool begun = !streams[STDERR_FILENO].mid_line || bytes_append_text(&text, "\n");
    if (begun && bytes_append_text(&text, tone_on(STDERR_FILENO, tone)) &&
        bytes_append(&text, bytes_text(line), line->length) &&
        bytes_append_text(&text, tone_off(STDERR_FILENO)) && bytes_append_text(&text, "\n"))
        (void)terminal_write_plain(STDERR_FILENO, text.data, text.length);
}

static void put_words(enum tone tone, const char *name, const char *format, va_list arguments)
{
    char *words = NULL;
    if (vasprintf(&words, format, arguments) < 0)
        return;
    /* Messages may quote what code or a daemon said. */
    CLEANUP(bytes_free) struct bytes visible = {0};
    CLEANUP(bytes_free) struct bytes wrapped = {0};
    size_t columns = streams[STDERR_FILENO].is_terminal ? terminal_columns() : SIZE_MAX;
    if (bytes_append_text(&visible, name) &&
        bytes_append_visible(&visible, words, strlen(words), true) &&
        bytes_append_wrapped(&wrapped, bytes_text(&visible), columns, 2)) {
        pthread_mutex_lock(&words_lock);
        put_line(tone, &wrapped);
        pthread_mutex_unlock(&words_lock);
    }
    free(words);
}

void say_problem(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    put_words(TONE_RED, "host_demo: ", format, arguments);
    va_end(arguments);
}

void say_note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (!quiet)
        put_words(TONE_DIM, "host_demo: ", format, arguments);
    va_end(arguments);
}

void say(enum tone tone, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    put_words(tone, "", format, arguments);
    va_end(arguments);
}

void terminal_expect_echo(void)
{
    streams[STDERR_FILENO].mid_line = streams[STDIN_FILENO].is_terminal;
}

void say_control(const char *sequence)
{
    (void)write_all(STDERR_FILENO, sequence, strlen(sequence));
}

void say_text(const struct bytes *text)
{
    if (streams[STDERR_FILENO].mid_line)
        (void)terminal_write_plain(STDERR_FILENO, "\n", 1);
    (void)terminal_write_plain(STDERR_FILENO, bytes_text(text), text->length);
}

void say_progress(const char *what, uint64_t done, uint64_t total)
{
    if (quiet || !streams[STDERR_FILENO].is_terminal)
        return;
    if (total > 0 && done >= total) {
        progress_rate = (struct rate){0};
        erase_progress();
        return;
    }
    CLEANUP(bytes_free) struct bytes name = {0};
    CLEANUP(bytes_free) struct bytes line = {0};
    bool whole = bytes_append_visible(&name, what, strlen(what), false);
    double megabytes = 1e6;
    if (whole && total > 0) {
        whole = bytes_format(&line, "  %3d %%  %.1f of %.1f MB",
                             (int)((double)done * 100 / (double)total), (double)done / megabytes,
                             (double)total / megabytes);
    } else if (whole && done > 0) {
        whole = bytes_format(&line, "  %.1f MB", (double)done / megabytes);
    }
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double rate = rate_note(&progress_rate, done, (double)now.tv_sec + (double)now.tv_nsec / 1e9);
    if (whole && rate > 0)
        whole = bytes_format(&line, "  %.1f MB/s", rate / megabytes);
    /* One line: what does not fit would scroll. */
    size_t room = terminal_columns() - 1;
    if (!whole || line.length > room)
        return;
    size_t cut = name.length > room - line.length ? room - line.length : name.length;
    CLEANUP(bytes_free) struct bytes shown = {0};
    if (bytes_format(&shown, "%s\r\033[K%.*s%s", streams[STDERR_FILENO].mid_line ? "\n" : "",
                     (int)cut, bytes_text(&name), bytes_text(&line))) {
        streams[STDERR_FILENO].mid_line = false;
        streams[STDOUT_FILENO].mid_line = streams[STDOUT_FILENO].mid_line && !one_place;
        (void)write_all(STDERR_FILENO, shown.data, shown.length);
        progress_shown = true;
    }
}
