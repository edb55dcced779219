/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pull_progress.h: what the engine tells while it pulls, object after object, and what the host is shown
 * of it: one count of bytes over all layers, first of those that are downloaded, then of those that are
 * unpacked.
 */
#ifndef CODE_EXECUTOR_DOCKER_PULL_PROGRESS_H
#define CODE_EXECUTOR_DOCKER_PULL_PROGRESS_H

#include "commandline.h"
#include "engine.h"

struct pull_progress {
    const launch_context *context;
    const char *image;
    json_tokener *tokener;
    json_object *layers; /* id to what is known of the layer */
    int64_t shown_ms;    /* when */
    int64_t shown;       /* bytes */
    bool unpacking;      /* what is shown now */
    bool garbled;        /* what the engine told is not JSON */
    bool out_of_memory;
    bool retries;
    char failure[ENGINE_WORDS_SIZE]; /* the engine's words, where it told of one */
};

/* False: no memory. */
bool pull_progress_init(struct pull_progress *progress, const launch_context *context,
                        const char *image);
void pull_progress_clear(struct pull_progress *progress);

/* Takes in bytes of the stream, cut anywhere. False: the rest is of no use. */
bool pull_progress_take(struct pull_progress *progress, const char *bytes, size_t length);

/* Shows that it is done. */
void pull_progress_end(struct pull_progress *progress);

#endif /* CODE_EXECUTOR_DOCKER_PULL_PROGRESS_H */
