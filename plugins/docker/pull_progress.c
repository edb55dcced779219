/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pull_progress.c: see pull_progress.h.
 *
 * A layer goes through states, told by words: Pulling fs layer, Waiting, Downloading (with counts),
 * Verifying Checksum, Download complete, Extracting (with counts), Pull complete; or Already exists. The
 * total grows while layers turn up. Nothing that is told is trusted: counts may be absurd, layers without
 * number.
 */
#include "pull_progress.h"
#include "clock.h"
#include "json.h"
#include <stdio.h>
#include <string.h>

#define PROGRESS_EVERY_MS 100
#define PIECE_MAX         (64 * 1024)
#define LAYERS_MAX        4096
#define COUNT_MAX         (INT64_MAX / LAYERS_MAX)

/* What is kept of a layer. */
#define DOWNLOADED "downloaded"
#define SIZE       "size"
#define UNPACKED   "unpacked"
#define WHOLE      "whole"

bool pull_progress_init(struct pull_progress *progress, const launch_context *context,
                        const char *image)
{
    *progress = (struct pull_progress){.context = context, .image = image};
    progress->tokener = json_tokener_new();
    progress->layers = json_object_new_object();
    return progress->tokener && progress->layers;
}

void pull_progress_clear(struct pull_progress *progress)
{
    if (progress->tokener)
        json_tokener_free(progress->tokener);
    json_object_put(progress->layers);
}

/* ---- what is shown ----------------------------------------------------------------------------- */

struct sums {
    int64_t downloaded, unpacked, size, whole, layers;
};

static struct sums sum_up(const struct pull_progress *progress)
{
    struct sums sums = {0};
    json_object_object_foreach(progress->layers, id, layer)
    {
        (void)id;
        sums.downloaded += json_integer(layer, DOWNLOADED);
        sums.unpacked += json_integer(layer, UNPACKED);
        sums.size += json_integer(layer, SIZE);
        sums.whole += json_integer(layer, WHOLE);
        sums.layers++;
    }
    return sums;
}

static void tell(struct pull_progress *progress, const struct sums *sums, int64_t done)
{
    char what[320];
    snprintf(what, sizeof what, "%s %s, %lld of %lld layers",
             progress->unpacking ? "unpacking" : "pulling", progress->image, (long long)sums->whole,
             (long long)sums->layers);
    progress->shown = done;
    progress->shown_ms = now_ms();
    launch_progress(progress->context, what, (uint64_t)done, (uint64_t)sums->size);
}

/* A count that is full would say that all has ended. */
static void show(struct pull_progress *progress)
{
    if (now_ms() - progress->shown_ms < PROGRESS_EVERY_MS)
        return;
    struct sums sums = sum_up(progress);
    bool unpacking = sums.downloaded == sums.size;
    int64_t done = unpacking ? sums.unpacked : sums.downloaded;
    if (done == sums.size || (done == progress->shown && unpacking == progress->unpacking))
        return;
    progress->unpacking = unpacking;
    tell(progress, &sums, done);
}

void pull_progress_end(struct pull_progress *progress)
{
    struct sums sums = sum_up(progress);
    sums.whole = sums.layers;
    tell(progress, &sums, sums.size);
}

/* ---- what is told ------------------------------------------------------------------------------ */

static bool set_downloaded(json_object *layer)
{
    return json_put_integer(layer, DOWNLOADED, json_integer(layer, SIZE));
}

static bool set_whole(json_object *layer)
{
    return set_downloaded(layer) && json_put_integer(layer, UNPACKED, json_integer(layer, SIZE)) &&
           json_put_integer(layer, WHOLE, 1);
}

static bool set_at_most(json_object *layer, const char *key, int64_t count, int64_t size)
{
    return json_put_integer(layer, key, count < size ? count : size);
}

/* The size is what the download says: no count may ever be larger. */
static bool set_counts(json_object *layer, const char *status, json_object *detail)
{
    bool downloading = strcmp(status, "Downloading") == 0;
    bool extracting = strcmp(status, "Extracting") == 0;
    int64_t total = json_integer(detail, "total"), done = json_integer(detail, "current");
    if (extracting && !set_downloaded(layer))
        return false;
    if ((!downloading && !extracting) || total <= 0 || done < 0 || total > COUNT_MAX)
        return true;
    if (extracting)
        return set_at_most(layer, UNPACKED, done, json_integer(layer, SIZE));
    return json_put_integer(layer, SIZE, total) && set_at_most(layer, DOWNLOADED, done, total) &&
           set_at_most(layer, UNPACKED, json_integer(layer, UNPACKED), total);
}

static bool note_layer(struct pull_progress *progress, const char *id, const char *status,
                       json_object *detail)
{
    json_object *layer = json_member(progress->layers, id);
    if (!layer && json_object_object_length(progress->layers) < LAYERS_MAX)
        layer = json_put_object(progress->layers, id);
    if (!layer)
        return json_object_object_length(progress->layers) >= LAYERS_MAX;
    if (strcmp(status, "Pull complete") == 0 || strcmp(status, "Already exists") == 0)
        return set_whole(layer);
    if (strcmp(status, "Download complete") == 0 || strcmp(status, "Verifying Checksum") == 0)
        return set_downloaded(layer);
    return set_counts(layer, status, detail);
}

/* An engine tries again by itself for a minute or so, in which nothing seems to happen. */
static void note_retry(struct pull_progress *progress, const char *status)
{
    if (!progress->retries)
        launch_log(progress->context, CODE_EXECUTOR_LOG_WARNING,
                   "the connection to the registry broke off while %s was pulled; the engine "
                   "tries again (%.64s)",
                   progress->image, status);
    progress->retries = true;
}

/* "Pulling from NAME" has the tag in place of a layer's id. */
static bool note(struct pull_progress *progress, json_object *message)
{
    const char *failure = json_string(message, "error");
    const char *words = json_string(json_member(message, "errorDetail"), "message");
    const char *status = json_string(message, "status");
    const char *id = json_string(message, "id");
    if (failure || words)
        snprintf(progress->failure, sizeof progress->failure, "%s", words ? words : failure);
    if (!status || !id || strncmp(status, "Pulling from", strlen("Pulling from")) == 0)
        return true;
    if (strncmp(status, "Retrying", strlen("Retrying")) == 0)
        note_retry(progress, status);
    if (!note_layer(progress, id, status, json_member(message, "progressDetail")))
        return false;
    show(progress);
    return true;
}

/* A number is known to be whole only by what comes behind it: then nothing of this piece is used, once. */
bool pull_progress_take(struct pull_progress *progress, const char *bytes, size_t length)
{
    while (length > 0) {
        size_t part = length < PIECE_MAX ? length : PIECE_MAX;
        json_object *message = json_tokener_parse_ex(progress->tokener, bytes, (int)part);
        enum json_tokener_error state = json_tokener_get_error(progress->tokener);
        size_t used =
            state == json_tokener_success ? json_tokener_get_parse_end(progress->tokener) : part;
        if (message) {
            progress->out_of_memory = !note(progress, message);
            json_object_put(message);
        }
        if (state == json_tokener_success)
            json_tokener_reset(progress->tokener);
        progress->garbled = state != json_tokener_success && state != json_tokener_continue;
        if (progress->garbled || progress->out_of_memory)
            return false;
        bytes += used;
        length -= used;
        while (length > 0 && (*bytes == '\r' || *bytes == '\n' || *bytes == ' ')) {
            bytes++;
            length--;
        }
    }
    return true;
}
