/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input.c: see input.h.
 *
 *     stdin ──▶ waiting (bytes) ──┬─ edited: read_character ──▶ libedit ──▶ a line
 *               poll, with the    │    └─ ESC [200~ ... ESC [201~ ──▶ a paste, past libedit
 *               interrupt         └─ not edited: up to the newline
 *
 * libedit asks for characters one at a time and never reads stdin itself. A -1 to it ends the line
 * that is being edited; `ended_by` then says why.
 */
#include "input.h"
#include "interrupt.h"
#include "terminal.h"
#include <errno.h>
#include <histedit.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

enum {
    HISTORY_LINES = 1000,
    /* How long the rest of an escape sequence may take, and how soon pasted text follows itself. */
    SEQUENCE_MS = 50,
    HASTE_MS = 30,
    SHOWN_PASTE_LINES = 16,
    PROMPT_ESCAPE = 1, /* what stands around the parts of a prompt that take no column */
};

static const char paste_begin[] = "\033[200~";
static const char paste_end[] = "\033[201~";

struct input {
    struct bytes waiting; /* read from stdin; consumed up to used */
    size_t used;
    bool gone;
    bool brackets;             /* the terminal is asked to bracket pastes */
    enum input_event ended_by; /* why read_character answered -1 */
    struct bytes paste;        /* INPUT_PASTE's lines */
    struct bytes prompt;
    EditLine *editor;
    History *history;
    char *history_path;
    const char *const *completions;
    size_t completion_count;
};

/* ------------------------------------------------------------------------------------------------
 * Bytes
 * --------------------------------------------------------------------------------------------- */

enum fill_result { FILL_MORE, FILL_LATE, FILL_INTERRUPT, FILL_GONE };

/* Moves what waits to the front once more than half of the memory lies before it. */
static void compact(struct input *input)
{
    if (input->used > input->waiting.length / 2) {
        input->waiting.length -= input->used;
        memmove(input->waiting.data, input->waiting.data + input->used, input->waiting.length);
        input->used = 0;
    }
}

/* Reads what there is, waiting TIMEOUT_MS (-1: as long as it takes) for it. */
static enum fill_result fill(struct input *input, int timeout_ms)
{
    char piece[4096];
    compact(input);
    while (!input->gone) {
        struct pollfd events[] = {{STDIN_FILENO, POLLIN, 0}, {interrupt_descriptor(), POLLIN, 0}};
        int ready = poll(events, 2, timeout_ms);
        if (ready == 0)
            return FILL_LATE;
        if (interrupt_ending() != 0)
            break;
        if (ready > 0 && events[1].revents != 0)
            return FILL_INTERRUPT;
        if (ready < 0 || events[0].revents == 0)
            continue;
        ssize_t got = read(STDIN_FILENO, piece, sizeof piece);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got <= 0 || !bytes_append(&input->waiting, piece, (size_t)got))
            break;
        return FILL_MORE;
    }
    input->gone = true;
    return FILL_GONE;
}

static size_t waiting_length(const struct input *input)
{
    return input->waiting.length - input->used;
}

static const char *waiting_text(const struct input *input)
{
    return bytes_text(&input->waiting) + input->used;
}

static void use(struct input *input, size_t length)
{
    input->used += length;
    if (input->used == input->waiting.length) {
        input->used = 0;
        input->waiting.length = 0;
    }
}

bool input_more_waits(struct input *input)
{
    if (input->editor == NULL)
        return false; /* A script's lines wait by their nature. */
    return waiting_length(input) > 0 || fill(input, HASTE_MS) == FILL_MORE;
}

void input_forget_waiting(struct input *input)
{
    if (input->editor != NULL) {
        tcflush(STDIN_FILENO, TCIFLUSH);
        use(input, waiting_length(input));
    }
}

/* ------------------------------------------------------------------------------------------------
 * Pastes
 * --------------------------------------------------------------------------------------------- */

/* Whether what waits begins with MARK; waits a little for the rest of it. */
static bool begins_with(struct input *input, const char *mark)
{
    size_t length = strlen(mark);
    for (;;) {
        size_t there = waiting_length(input) < length ? waiting_length(input) : length;
        if (memcmp(waiting_text(input), mark, there) != 0)
            return false;
        if (there == length)
            return true;
        if (fill(input, SEQUENCE_MS) != FILL_MORE)
            return false;
    }
}

/* Moves what waits, up to the end of the paste, to PASTED. */
static enum fill_result gather_paste(struct input *input, struct bytes *pasted)
{
    size_t searched = 0;
    use(input, strlen(paste_begin));
    for (;;) {
        const char *text = waiting_text(input);
        const char *end =
            memmem(text + searched, waiting_length(input) - searched, paste_end, strlen(paste_end));
        if (end != NULL) {
            bool kept = bytes_append(pasted, text, (size_t)(end - text));
            use(input, (size_t)(end - text) + strlen(paste_end));
            return kept ? FILL_MORE : FILL_GONE;
        }
        size_t overlap = strlen(paste_end) - 1;
        searched = waiting_length(input) > overlap ? waiting_length(input) - overlap : 0;
        enum fill_result result = fill(input, -1);
        if (result != FILL_MORE) {
            use(input, waiting_length(input));
            return result;
        }
    }
}

/* Terminals send a paste's line ends as they send the Enter key. */
static void unify_line_ends(struct bytes *text)
{
    size_t length = 0;
    for (size_t i = 0; i < text->length; i++) {
        char byte = text->data[i];
        if (byte == '\r') {
            byte = '\n';
            i += i + 1 < text->length && text->data[i + 1] == '\n';
        }
        text->data[length++] = byte;
    }
    text->length = length;
    if (text->data != NULL)
        text->data[length] = '\0';
}

/* Shows a paste as if it had been typed behind the prompt, the middle of a long one left out. */
static void show_paste(const struct bytes *paste)
{
    CLEANUP(bytes_free) struct bytes shown = {0};
    size_t lines = 0, number = 0;
    for (size_t i = 0; i < paste->length; i++)
        lines += paste->data[i] == '\n';
    bool whole = bytes_append_text(&shown, "\r\033[K");
    const char *line = paste->data;
    while (whole && line < paste->data + paste->length) {
        const char *newline = strchrnul(line, '\n');
        bool middle =
            lines > SHOWN_PASTE_LINES && number >= SHOWN_PASTE_LINES - 4 && number < lines - 4;
        if (!middle) {
            whole = bytes_append_text(&shown, "  ") &&
                    bytes_append_visible(&shown, line, (size_t)(newline - line), false) &&
                    bytes_append_text(&shown, "\n");
        } else if (number == SHOWN_PASTE_LINES - 4) {
            whole = bytes_format(&shown, "  %s %zu more lines\n", sign_more(),
                                 lines - SHOWN_PASTE_LINES);
        }
        number++;
        line = newline + 1;
    }
    if (whole)
        say_text(&shown);
}

/* Appends what is in the line that is being edited. */
static bool append_edited(const struct input *input, struct bytes *to)
{
    const LineInfo *line = el_line(input->editor);
    return bytes_append(to, line->buffer, (size_t)(line->lastchar - line->buffer));
}

/* Lets TEXT be read next, as if it were typed, without what would command the editor. */
static bool type_first(struct input *input, const char *text, size_t length)
{
    struct bytes front = {0};
    bool whole = true;
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte == '\t' || (byte >= 0x20 && byte != 0x7f))
            whole = whole && bytes_append(&front, &text[i], 1);
    }
    if (!whole || !bytes_append(&front, waiting_text(input), waiting_length(input))) {
        bytes_free(&front);
        return false;
    }
    bytes_free(&input->waiting);
    input->waiting = front;
    input->used = 0;
    return true;
}

/*
 * Takes a paste. One line goes into the line that is being edited: true. Several end it: they and
 * what was typed before them become input->paste, what follows the last newline waits for the next
 * line.
 */
static bool take_paste(struct input *input)
{
    CLEANUP(bytes_free) struct bytes pasted = {0};
    enum fill_result result = gather_paste(input, &pasted);
    if (result != FILL_MORE) {
        input->ended_by = result == FILL_INTERRUPT ? INPUT_INTERRUPT : INPUT_GONE;
        return false;
    }
    unify_line_ends(&pasted);
    size_t length = pasted.length;
    while (length > 0 && pasted.data[length - 1] == '\n')
        length--;
    if (length == 0 || memchr(pasted.data, '\n', length) == NULL) {
        bool kept = type_first(input, bytes_text(&pasted), length);
        input->ended_by = kept ? input->ended_by : INPUT_GONE;
        return kept;
    }
    const char *last = memrchr(pasted.data, '\n', pasted.length);
    size_t lines = (size_t)(last - pasted.data) + 1;
    input->paste.length = 0;
    bool kept = append_edited(input, &input->paste) &&
                bytes_append(&input->paste, pasted.data, lines) &&
                type_first(input, last + 1, pasted.length - lines);
    input->ended_by = kept ? INPUT_PASTE : INPUT_GONE;
    return false;
}

/* ------------------------------------------------------------------------------------------------
 * Characters for libedit
 * --------------------------------------------------------------------------------------------- */

/* Takes one character of UTF-8; what is none is dropped. */
static bool take_character(struct input *input, wchar_t *character)
{
    size_t sequence = utf8_sequence(waiting_text(input), waiting_length(input));
    while (sequence == 0 && waiting_length(input) < 4 && fill(input, SEQUENCE_MS) == FILL_MORE)
        sequence = utf8_sequence(waiting_text(input), waiting_length(input));
    mbstate_t state = {0};
    size_t taken = sequence == 0 ? 0 : mbrtowc(character, waiting_text(input), sequence, &state);
    use(input, sequence == 0 ? 1 : sequence);
    return taken == sequence && sequence > 0 && *character != L'\0';
}

/* Asks the terminal to say where a paste begins and ends. Only while libedit has the terminal: so
 * whoever sees it asked also knows that what they type next is edited. */
static void bracket_pastes(struct input *input, bool on)
{
    const char *kind = getenv("TERM");
    if (on != input->brackets && kind != NULL && strcmp(kind, "dumb") != 0) {
        say_control(on ? "\033[?2004h" : "\033[?2004l");
        input->brackets = on;
    }
}

static int read_character(EditLine *editor, wchar_t *character)
{
    struct input *input = NULL;
    el_get(editor, EL_CLIENTDATA, &input);
    bracket_pastes(input, true);
    for (;;) {
        if (waiting_length(input) == 0) {
            enum fill_result result = fill(input, -1);
            if (result != FILL_MORE) {
                input->ended_by = result == FILL_INTERRUPT ? INPUT_INTERRUPT : INPUT_GONE;
                return -1;
            }
        }
        if (*waiting_text(input) == '\033' && begins_with(input, paste_begin)) {
            if (!take_paste(input))
                return -1;
        } else if (take_character(input, character)) {
            return 1;
        }
    }
}

static char *give_prompt(EditLine *editor)
{
    struct input *input = NULL;
    el_get(editor, EL_CLIENTDATA, &input);
    return input->prompt.data;
}

/* A tab completes a command's name, or a file's behind it; in a message it is a tab. */
static unsigned char complete(EditLine *editor, int key)
{
    struct input *input = NULL;
    el_get(editor, EL_CLIENTDATA, &input);
    const LineInfo *line = el_line(editor);
    size_t length = (size_t)(line->cursor - line->buffer);
    if (length == 0 || *line->buffer != ':')
        return el_insertstr(editor, "\t") == 0 ? CC_REFRESH : CC_ERROR;
    if (memchr(line->buffer, ' ', length) != NULL)
        return _el_fn_complete(editor, key);
    const char *only = NULL;
    for (size_t i = 0; i < input->completion_count; i++) {
        if (strncmp(input->completions[i], line->buffer, length) == 0) {
            if (only != NULL)
                return CC_ERROR;
            only = input->completions[i];
        }
    }
    if (only == NULL || el_insertstr(editor, only + length) != 0)
        return CC_ERROR;
    return el_insertstr(editor, " ") == 0 ? CC_REFRESH : CC_ERROR;
}

/* ------------------------------------------------------------------------------------------------
 * Opening and closing
 * --------------------------------------------------------------------------------------------- */

/* Makes the folders above PATH, for this user alone. */
static void make_parents(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
}

/* Where the history is kept; NULL: nowhere. */
static char *find_history_path(void)
{
    struct bytes path = {0};
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    if (state != NULL && *state == '/')
        bytes_format(&path, "%s/host_demo/history", state);
    else if (home != NULL && *home == '/')
        bytes_format(&path, "%s/.local/state/host_demo/history", home);
    return path.data;
}

static void open_history(struct input *input)
{
    HistEvent event;
    input->history = history_init();
    if (input->history == NULL)
        return;
    history(input->history, &event, H_SETSIZE, HISTORY_LINES);
    history(input->history, &event, H_SETUNIQUE, 1);
    input->history_path = find_history_path();
    if (input->history_path != NULL)
        history(input->history, &event, H_LOAD, input->history_path);
    el_set(input->editor, EL_HIST, history, input->history);
}

static bool open_editor(struct input *input)
{
    input->editor = el_init("host_demo", stdin, stderr, stderr);
    if (input->editor == NULL)
        return false;
    el_set(input->editor, EL_CLIENTDATA, input);
    el_set(input->editor, EL_SIGNAL, 1);
    el_set(input->editor, EL_EDITOR, "emacs");
    el_set(input->editor, EL_PROMPT_ESC, give_prompt, PROMPT_ESCAPE);
    el_set(input->editor, EL_GETCFN, read_character);
    /* The narrow form leaks both strings. */
    el_wset(input->editor, EL_ADDFN, L"host-demo-complete", L"Complete a command", complete);
    el_set(input->editor, EL_BIND, "^I", "host-demo-complete", NULL);
    el_set(input->editor, EL_BIND, "^R", "em-inc-search-prev", NULL);
    open_history(input);
    el_source(input->editor, NULL);
    return true;
}

int32_t input_open(const char *const *completions, size_t count, struct input **opened,
                   code_executor_error *error)
{
    struct input *new = calloc(1, sizeof *new);
    if (new == NULL)
        return fail_no_memory(error);
    new->completions = completions;
    new->completion_count = count;
    if (terminal_is(STDIN_FILENO) && terminal_is(STDERR_FILENO) && !open_editor(new)) {
        free(new);
        return fail(error, CODE_EXECUTOR_IO, "Cannot edit lines on this terminal.");
    }
    *opened = new;
    return CODE_EXECUTOR_OK;
}

void input_close(struct input *input)
{
    if (input == NULL)
        return;
    if (input->history != NULL) {
        HistEvent event;
        if (input->history_path != NULL) {
            make_parents(input->history_path);
            history(input->history, &event, H_SAVE, input->history_path);
        }
        history_end(input->history);
    }
    if (input->editor != NULL)
        el_end(input->editor);
    free(input->history_path);
    bytes_free(&input->waiting);
    bytes_free(&input->paste);
    bytes_free(&input->prompt);
    free(input);
}

bool input_is_edited(const struct input *input)
{
    return input->editor != NULL;
}

void input_remember(struct input *input, const char *line)
{
    HistEvent event;
    if (input->history != NULL && *line != '\0')
        history(input->history, &event, H_ENTER, line);
}

/* ------------------------------------------------------------------------------------------------
 * Events
 * --------------------------------------------------------------------------------------------- */

static enum input_event next_plain(struct input *input, struct bytes *text)
{
    size_t searched = 0;
    for (;;) {
        const char *line = waiting_text(input);
        size_t there = waiting_length(input);
        const char *newline = memchr(line + searched, '\n', there - searched);
        if (newline != NULL || (input->gone && there > 0)) {
            size_t length = newline == NULL ? there : (size_t)(newline - line);
            bool kept = bytes_append(text, line, length);
            use(input, length + (newline != NULL));
            return kept ? INPUT_LINE : INPUT_GONE;
        }
        searched = there;
        enum fill_result result = fill(input, -1);
        if (result == FILL_INTERRUPT)
            return INPUT_INTERRUPT;
        if (result == FILL_GONE && (interrupt_ending() != 0 || waiting_length(input) == 0))
            return INPUT_GONE;
    }
}

static enum input_event next_edited(struct input *input, struct bytes *text)
{
    int length = 0;
    input->ended_by = INPUT_END;
    const char *line = el_gets(input->editor, &length);
    bracket_pastes(input, false);
    if (line != NULL && length > 0) {
        size_t kept = (size_t)length - (line[length - 1] == '\n');
        return bytes_append(text, line, kept) ? INPUT_LINE : INPUT_GONE;
    }
    switch (input->ended_by) {
    case INPUT_PASTE:
        show_paste(&input->paste);
        return bytes_append(text, input->paste.data, input->paste.length) ? INPUT_PASTE
                                                                          : INPUT_GONE;
    case INPUT_INTERRUPT:
        say(TONE_PLAIN, "^C");
        break;
    default:
        say(TONE_PLAIN, "%s", "");
        break;
    }
    return input->ended_by;
}

enum input_event input_next(struct input *input, const char *prompt, struct bytes *text)
{
    text->length = 0;
    if (!bytes_append_text(text, ""))
        return INPUT_GONE;
    if (input->editor == NULL)
        return next_plain(input, text);
    input->prompt.length = 0;
    if (!bytes_format(&input->prompt, "%c%s%c%s%c%s%c", PROMPT_ESCAPE,
                      tone_on(STDERR_FILENO, TONE_BOLD), PROMPT_ESCAPE, prompt, PROMPT_ESCAPE,
                      tone_off(STDERR_FILENO), PROMPT_ESCAPE))
        return INPUT_GONE;
    return next_edited(input, text);
}
