/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input.c: see input.h. The bytes are in an anonymous file: a command that does not read them blocks
 * nobody, and where memory is bounded they count.
 */
#include "input.h"
#include "protocol.h"
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

static int append(struct input *input, const unsigned char *bytes, size_t length)
{
    if (input->descriptor < 0)
        input->descriptor = memfd_create("stdin", MFD_CLOEXEC);
    if (input->descriptor < 0)
        return errno;
    while (length > 0) {
        ssize_t count = write(input->descriptor, bytes, length);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return count < 0 ? errno : EIO;
        bytes += count;
        length -= (size_t)count;
    }
    return 0;
}

bool input_append(struct input *input, const unsigned char *bytes, size_t length)
{
    if (length > INPUT_MAX - input->length)
        return false;
    input->length += length;
    if (input->error == 0)
        input->error = append(input, bytes, length);
    return true;
}

int input_take(struct input *input, int *error)
{
    int descriptor = input->descriptor;
    *error = input->error;
    if (*error == 0 && descriptor >= 0 && lseek(descriptor, 0, SEEK_SET) != 0)
        *error = errno;
    *input = INPUT_NONE;
    return descriptor;
}
