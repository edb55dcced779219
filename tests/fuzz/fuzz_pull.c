/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_pull.c: what an engine might tell while it pulls: objects of JSON, one after the other. The first byte
 * of the input says where the rest is cut.
 */
#include "pull_progress.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

void launch_log(const launch_context *context, int32_t level, const char *format, ...)
{
    (void)context;
    (void)level;
    (void)format;
}

void launch_progress(const launch_context *context, const char *what, uint64_t done, uint64_t total)
{
    (void)context;
    if (done > total || total > INT64_MAX || strlen(what) == 0)
        abort();
}

/* Whether all of it was taken in; the engine's words in FAILURE. */
static bool take_all(const char *bytes, size_t length, size_t step, char failure[ENGINE_WORDS_SIZE])
{
    struct pull_progress progress;
    bool taken = pull_progress_init(&progress, NULL, "image");
    if (!taken)
        abort();
    for (size_t at = 0; at < length && taken; at += step) {
        size_t part = length - at < step ? length - at : step;
        /* A copy that ends where the piece ends, so that reading beyond it is noticed. */
        char *piece = malloc(part);
        if (!piece)
            abort();
        memcpy(piece, bytes + at, part);
        taken = pull_progress_take(&progress, piece, part);
        free(piece);
        if (!taken && !progress.garbled)
            abort();
    }
    memcpy(failure, progress.failure, ENGINE_WORDS_SIZE);
    pull_progress_end(&progress);
    pull_progress_clear(&progress);
    return taken;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char whole_failure[ENGINE_WORDS_SIZE], cut_failure[ENGINE_WORDS_SIZE];
    if (size < 2)
        return 0;
    const char *bytes = (const char *)data + 1;
    bool whole = take_all(bytes, size - 1, size - 1, whole_failure);
    bool cut = take_all(bytes, size - 1, 1 + data[0] % 32, cut_failure);
    /* Whether a number that is none (7-5) is refused depends on where json-c finds it cut. */
    if (whole && cut && strcmp(whole_failure, cut_failure) != 0)
        abort();
    return 0;
}
