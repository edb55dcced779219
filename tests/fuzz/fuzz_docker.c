/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_docker.c: what an engine might send over an attached connection: the head of an answer, then
 * multiplexed output. The first byte of the input says where the rest is cut.
 */
#include "stream.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is read must not depend on where it was cut; a digest of it tells. */
struct digest {
    uint64_t value;
    int progress; /* of the head; -1: the streams are malformed */
    int status;
};

static void add(struct digest *digest, unsigned char byte, unsigned char stream)
{
    digest->value = digest->value * 1099511628211u + byte * 31u + stream + 1u;
}

static void read_streams(struct digest *digest, struct demultiplexer *demultiplexer,
                         const char *bytes, size_t length)
{
    for (size_t used = 0; used < length && digest->progress >= 0;) {
        struct stretch stretch;
        ptrdiff_t part = demultiplexer_next(demultiplexer, bytes + used, length - used, &stretch);
        if (part < 0) {
            digest->progress = -1;
            return;
        }
        if (part == 0 || (size_t)part > length - used)
            abort();
        used += (size_t)part;
        for (size_t i = 0; i < stretch.length; i++)
            add(digest, (unsigned char)stretch.bytes[i], stretch.stream);
    }
}

static struct digest read_all(const char *bytes, size_t length, size_t step)
{
    static struct response_head head;
    struct demultiplexer demultiplexer = {.left = 0};
    struct digest digest = {.progress = HEAD_INCOMPLETE};
    head.length = 0;
    head.status = 0;
    for (size_t at = 0; at < length;) {
        size_t part = length - at < step ? length - at : step, taken = 0;
        /* A copy that ends where the piece ends, so that reading beyond it is noticed. */
        char *piece = malloc(part);
        if (!piece)
            abort();
        memcpy(piece, bytes + at, part);
        if (digest.progress == HEAD_INCOMPLETE) {
            digest.progress = (int)response_head_feed(&head, piece, part, &taken);
            digest.status = head.status;
        }
        if (digest.progress == HEAD_COMPLETE)
            read_streams(&digest, &demultiplexer, piece + taken, part - taken);
        free(piece);
        if (digest.progress == HEAD_MALFORMED || digest.progress < 0)
            break;
        at += part;
    }
    return digest;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    const char *bytes = (const char *)data + 1;
    struct digest whole = read_all(bytes, size - 1, size - 1);
    struct digest cut = read_all(bytes, size - 1, 1 + data[0] % 32);
    if (whole.progress != cut.progress || whole.status != cut.status ||
        (whole.progress >= 0 && whole.value != cut.value))
        abort();
    return 0;
}
