/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_frames.c: the runner's parser on any bytes, as a stream of frames.
 *
 * With clang and -DCODE_EXECUTOR_FUZZ=ON this is a libFuzzer target (fuzz_frames); otherwise main takes
 * files, which is how ctest runs the corpus and how AFL drives it. What is checked beyond what sanitizers
 * see: requests are sound, every string ends within its frame's memory, and a stream cut anywhere gives
 * the same requests.
 */
#include <request.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t length);

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* Reads every byte, so that a sanitizer sees one that is not ours. */
static size_t touch_list(char **list)
{
    size_t sum = 0;
    for (; *list; list++)
        sum += strlen(*list) + 1;
    return sum;
}

static size_t touch_bytes(const unsigned char *bytes, size_t length)
{
    size_t sum = 0;
    for (size_t i = 0; i < length; i++)
        sum += bytes[i];
    return sum;
}

static void check_spawn(const struct spawn_request *spawn, size_t length)
{
    size_t strings = strlen(spawn->folder) + touch_list(spawn->environment_defaults) +
                     touch_list(spawn->environment_additions);
    CHECK(spawn->candidates[0]);
    for (char ***candidate = spawn->candidates; *candidate; candidate++) {
        CHECK((*candidate)[0] && (*candidate)[0][0] != '\0');
        strings += touch_list(*candidate);
    }
    CHECK(strings <= length);
    for (char **entry = spawn->environment_defaults; *entry; entry++)
        CHECK(strchr(*entry, '=') > *entry);
}

static void check_request(const struct request *request, const unsigned char *frame, size_t length)
{
    volatile size_t sink = 0;
    CHECK(request->frame == frame && request->frame_length <= length);
    CHECK(request->header.length <= FRAME_PAYLOAD_MAX);
    switch (request->header.type) {
    case FRAME_STDIN:
        CHECK(request->input.length == request->header.length);
        sink += touch_bytes(request->input.bytes, request->input.length);
        break;
    case FRAME_SPAWN:
        check_spawn(&request->spawn, request->header.length);
        break;
    case FRAME_KILL:
        CHECK(request->kill.signal >= 1 && request->kill.signal <= 64);
        break;
    case FRAME_LOOKUP:
        CHECK(touch_list(request->lookup) <= request->header.length);
        break;
    case FRAME_WRITE:
        CHECK(request->write.path[0] != '\0');
        sink += strlen(request->write.path);
        sink += touch_bytes(request->write.bytes, request->write.length);
        break;
    default:
        CHECK(request->header.type == FRAME_HELLO || request->header.type == FRAME_CREDIT ||
              request->header.type == FRAME_RESET);
    }
    (void)sink;
}

/* A shorter piece of a frame that is whole asks for more, and never for more than the frame. */
static void check_pieces(const unsigned char *frame, size_t length)
{
    for (size_t piece = 0; piece < length; piece += 1 + length / 8) {
        /* An allocation of just this size, so that reading beyond it shows. */
        unsigned char *copy = malloc(piece + 1);
        CHECK(copy);
        memcpy(copy, frame, piece);
        unsigned char *exact = realloc(copy, piece > 0 ? piece : 1);
        struct request request;
        size_t wanted = 0;
        char objection[REQUEST_OBJECTION_SIZE];
        CHECK(request_parse(exact, piece, &request, &wanted, objection) == REQUEST_PARTIAL);
        CHECK(wanted > piece && wanted <= length);
        free(exact);
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t length)
{
    for (;;) {
        struct request request;
        size_t consumed = 0;
        char objection[REQUEST_OBJECTION_SIZE] = "";
        enum request_outcome outcome = request_parse(bytes, length, &request, &consumed, objection);
        if (outcome == REQUEST_REFUSED) {
            CHECK(objection[0] != '\0' && memchr(objection, '\0', sizeof objection));
            return 0;
        }
        if (outcome == REQUEST_PARTIAL) {
            CHECK(consumed > length && consumed <= FRAME_HEADER_SIZE + FRAME_PAYLOAD_MAX);
            return 0;
        }
        CHECK(consumed >= FRAME_HEADER_SIZE && consumed <= length);
        check_request(&request, bytes, length);
        request_release(&request);
        check_pieces(bytes, consumed);
        bytes += consumed;
        length -= consumed;
    }
}
