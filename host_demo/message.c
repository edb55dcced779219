/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message.c: see message.h. Files are read, not mapped: one that is cut while it is read must give
 * fewer bytes, not a signal.
 */
#include "message.h"
#include "terminal.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_BYTES = 256 << 20 };

static int32_t read_to_end(int descriptor, const char *name, struct bytes *to,
                           code_executor_error *error)
{
    char piece[65536];
    for (;;) {
        ssize_t got = read(descriptor, piece, sizeof piece);
        if (got == 0)
            return CODE_EXECUTOR_OK;
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail(error, CODE_EXECUTOR_IO, "Cannot read %s: %s.", name, strerror(errno));
        if (to->length + (size_t)got > MOST_BYTES) {
            return fail(error, CODE_EXECUTOR_INVALID, "%s has more than %d MiB.", name,
                        MOST_BYTES >> 20);
        }
        if (!bytes_append(to, piece, (size_t)got))
            return fail(error, CODE_EXECUTOR_NO_MEMORY, "No memory for %s.", name);
    }
}

int32_t message_read(const char *file, struct bytes *message, code_executor_error *error)
{
    if (file == NULL || strcmp(file, "-") == 0) {
        if (terminal_is(STDIN_FILENO)) {
            say(TONE_DIM,
                "Paste or type a message; Ctrl-D on a line of its own ends it. (`host_demo "
                "run FILE` reads a file.)");
        }
        return read_to_end(STDIN_FILENO, "stdin", message, error);
    }
    CLEANUP(close_descriptor) int descriptor = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0) {
        int32_t status = errno == ENOENT   ? CODE_EXECUTOR_NOT_FOUND
                         : errno == EACCES ? CODE_EXECUTOR_DENIED
                                           : CODE_EXECUTOR_IO;
        return fail(error, status, "Cannot open %s: %s.", file, strerror(errno));
    }
    return read_to_end(descriptor, file, message, error);
}
