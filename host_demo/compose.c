/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compose.c: see compose.h. Whether a fence is open is asked of the same reading that will run the
 * message, so that the two never disagree; it is asked anew only after a line that may be a fence.
 */
#include "compose.h"
#include "terminal.h"
#include <code_executor_host.h>
#include <string.h>

struct composition {
    struct input *input;
    struct bytes *message;
    bool fence_seen; /* since fence_open was found out */
    bool fence_open;
};

static bool is_blank(const char *line, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (strchr(" \t\r", line[i]) == NULL || line[i] == '\0')
            return false;
    return true;
}

static bool fence_is_open(struct composition *composition)
{
    if (composition->fence_seen) {
        code_executor_extraction *extraction = NULL;
        const struct bytes *message = composition->message;
        composition->fence_open = false;
        if (code_executor_extract(bytes_text(message), message->length, &extraction, NULL) ==
                CODE_EXECUTOR_OK &&
            extraction->block_count > 0)
            composition->fence_open = !extraction->blocks[extraction->block_count - 1]->complete;
        code_executor_extraction_free(extraction);
        composition->fence_seen = false;
    }
    return composition->fence_open;
}

static bool add(struct composition *composition, const struct bytes *text, const char *end)
{
    if (memmem(bytes_text(text), text->length, "```", 3) != NULL ||
        memmem(bytes_text(text), text->length, "~~~", 3) != NULL)
        composition->fence_seen = true;
    return bytes_append(composition->message, bytes_text(text), text->length) &&
           bytes_append_text(composition->message, end);
}

/* Whether LINE looks like a command, which is none within a message. */
static bool looks_like_command(const char *line)
{
    size_t letters = strspn(line + (*line == ':'), "abcdefghijklmnopqrstuvwxyz");
    return *line == ':' && letters > 0 &&
           line[1 + letters + strspn(line + 1 + letters, " \t\r")] == '\0';
}

/* True: the message goes on. */
static bool take_line(struct composition *composition, const struct bytes *line)
{
    bool blank = is_blank(bytes_text(line), line->length);
    input_remember(composition->input, bytes_text(line));
    if (blank && !fence_is_open(composition) && !input_more_waits(composition->input))
        return false;
    return add(composition, line, "\n");
}

static void hint(struct composition *composition, enum input_event event)
{
    if (!input_is_edited(composition->input) || terminal_is_quiet())
        return;
    if (event == INPUT_END) {
        say(TONE_DIM, "The code block is still open: close it with its fence, or drop the message "
                      "with Ctrl-C.");
    } else if (event == INPUT_PASTE) {
        say(TONE_DIM, "%s",
            fence_is_open(composition) ? "The last code block is still open."
                                       : "An empty line ends the message.");
    }
}

/* Within a block anything may be code. */
static void hint_at_command(struct composition *composition, const char *line)
{
    if (input_is_edited(composition->input) && !terminal_is_quiet() && looks_like_command(line) &&
        !fence_is_open(composition)) {
        say(TONE_DIM,
            "%s is a part of the message now: commands come first. An empty line ends the message, "
            "Ctrl-C drops it.",
            line);
    }
}

/* "/help": what other dialogues take as a command is no message either. */
static bool is_slash_command(const char *line)
{
    size_t letters = strspn(line + (*line == '/'), "abcdefghijklmnopqrstuvwxyz");
    return *line == '/' && letters > 0 && line[1 + letters] == '\0';
}

/* What follows the first line or paste of a message. */
static enum composed go_on(struct composition *composition)
{
    CLEANUP(bytes_free) struct bytes text = {0};
    for (;;) {
        enum input_event event = input_next(composition->input, ". ", &text);
        switch (event) {
        case INPUT_LINE:
            if (!take_line(composition, &text))
                return COMPOSED_MESSAGE;
            hint_at_command(composition, bytes_text(&text));
            break;
        case INPUT_PASTE:
            add(composition, &text, "");
            hint(composition, event);
            break;
        case INPUT_INTERRUPT:
            return input_is_edited(composition->input) ? COMPOSED_NOTHING : COMPOSED_END;
        case INPUT_END:
            if (!fence_is_open(composition))
                return COMPOSED_MESSAGE;
            hint(composition, event);
            break;
        case INPUT_GONE:
        default:
            /* The end of a script ends its last message; the end of a terminal drops it. */
            return input_is_edited(composition->input) ? COMPOSED_END : COMPOSED_MESSAGE;
        }
    }
}

enum composed compose(struct input *input, struct bytes *text)
{
    struct composition composition = {.input = input, .message = text};
    CLEANUP(bytes_free) struct bytes first = {0};
    text->length = 0;
    switch (input_next(input, "> ", &first)) {
    case INPUT_LINE:
        if (is_blank(bytes_text(&first), first.length))
            return COMPOSED_NOTHING;
        if (*bytes_text(&first) == ':' || is_slash_command(bytes_text(&first))) {
            input_remember(input, bytes_text(&first));
            return bytes_append(text, first.data, first.length) ? COMPOSED_COMMAND : COMPOSED_END;
        }
        take_line(&composition, &first);
        return go_on(&composition);
    case INPUT_PASTE:
        add(&composition, &first, "");
        hint(&composition, INPUT_PASTE);
        return go_on(&composition);
    case INPUT_INTERRUPT:
        return input_is_edited(input) ? COMPOSED_NOTHING : COMPOSED_END;
    case INPUT_END:
    case INPUT_GONE:
    default:
        return COMPOSED_END;
    }
}
