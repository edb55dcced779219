/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.c: see request.h. One table row for each frame that a host may send, one function for each
 * payload. A payload must be used up to its last byte.
 */
#include "request.h"
#include <stdio.h>
#include <stdlib.h>

struct parser {
    struct payload_reader reader;
    struct request *request;
    void **next_pointer; /* in the request's memory: first pointers, then the bytes of strings */
    size_t pointers_left;
    char *next_byte;
    const char *objection; /* set where "malformed" would say too little */
    char words[96];        /* for one that is made up of parts */
};

static void object(struct parser *parser, const char *words)
{
    if (!parser->objection)
        parser->objection = words;
    parser->reader.failed = 1;
}

/* A string of the payload, copied and with a NUL behind it. */
static char *take_string(struct parser *parser)
{
    uint32_t length = 0;
    const char *string = read_string(&parser->reader, &length);
    static char empty[1];
    if (parser->reader.failed)
        return empty;
    char *copy = parser->next_byte;
    memcpy(copy, string, length);
    copy[length] = '\0';
    parser->next_byte += length + 1;
    return copy;
}

static void **take_pointers(struct parser *parser, size_t count)
{
    static void *none[1];
    if (count > parser->pointers_left) {
        object(parser, "it counts more strings than it holds");
        return none;
    }
    void **pointers = parser->next_pointer;
    parser->next_pointer += count;
    parser->pointers_left -= count;
    return pointers;
}

/* u32 count, strings. */
static char **take_list(struct parser *parser, uint32_t most, const char *too_many)
{
    uint32_t count = read_u32(&parser->reader);
    if (count > most)
        object(parser, too_many);
    else if (count > parser->reader.left / 4)
        object(parser, "it counts more strings than it holds");
    if (parser->reader.failed)
        count = 0;
    char **list = (char **)take_pointers(parser, (size_t)count + 1);
    if (parser->reader.failed)
        return list;
    for (uint32_t i = 0; i < count; i++)
        list[i] = take_string(parser);
    list[count] = NULL;
    return list;
}

static void parse_hello(struct parser *parser)
{
    uint32_t magic = read_u32(&parser->reader);
    uint32_t version = read_u32(&parser->reader);
    if (!parser->reader.failed && magic != PROTOCOL_MAGIC) {
        object(parser, "it is no host of code_executor");
    } else if (!parser->reader.failed && version != PROTOCOL_VERSION) {
        snprintf(parser->words, sizeof parser->words,
                 "the host speaks version %u, this runner version %u", version, PROTOCOL_VERSION);
        object(parser, parser->words);
    }
    uint32_t flags = read_u32(&parser->reader);
    if (flags & ~(uint32_t)(HELLO_KEEP_PTRACE | HELLO_RENDEZVOUS))
        object(parser, "unknown flags");
    int meets = (flags & HELLO_RENDEZVOUS) != 0;
    parser->request->hello.flags = flags;
    parser->request->hello.name = meets ? take_string(parser) : "";
    parser->request->hello.proof = meets ? take_string(parser) : "";
    if (!parser->reader.failed && (strlen(parser->request->hello.name) >= RENDEZVOUS_NAME_MAX ||
                                   strlen(parser->request->hello.proof) >= RENDEZVOUS_PROOF_MAX))
        object(parser, "a name or a proof that is too long");
}

static void parse_bytes(struct parser *parser)
{
    parser->request->input.bytes = parser->reader.at;
    parser->request->input.length = parser->reader.left;
    parser->reader.left = 0;
}

static char **take_environment(struct parser *parser)
{
    char **list = take_list(parser, ENVIRONMENT_MAX, "too many environment variables");
    for (char **entry = list; !parser->reader.failed && *entry; entry++)
        if ((*entry)[0] == '=' || !strchr(*entry, '='))
            object(parser, "an environment variable is not NAME=value");
    return list;
}

static void take_candidates(struct parser *parser, struct spawn_request *spawn)
{
    uint32_t count = read_u32(&parser->reader);
    if (!parser->reader.failed && (count == 0 || count > CANDIDATES_MAX))
        object(parser, "no command, or too many candidates");
    if (parser->reader.failed)
        count = 0;
    spawn->candidates = (char ***)take_pointers(parser, (size_t)count + 1);
    if (parser->reader.failed)
        return;
    for (uint32_t i = 0; i < count; i++) {
        spawn->candidates[i] = take_list(parser, UINT32_MAX, "");
        if (!parser->reader.failed && (!spawn->candidates[i][0] || !spawn->candidates[i][0][0]))
            object(parser, "a candidate has no program");
        if (parser->reader.failed)
            return;
    }
    spawn->candidates[count] = NULL;
}

static void parse_spawn(struct parser *parser)
{
    struct spawn_request *spawn = &parser->request->spawn;
    spawn->timeout_ms = read_u32(&parser->reader);
    spawn->grace_ms = read_u32(&parser->reader);
    spawn->credit = read_u32(&parser->reader);
    if (read_u32(&parser->reader) != 0)
        object(parser, "unknown flags");
    spawn->folder = take_string(parser);
    spawn->environment_defaults = take_environment(parser);
    spawn->environment_additions = take_environment(parser);
    take_candidates(parser, spawn);
}

static void parse_credit(struct parser *parser)
{
    parser->request->credit = read_u32(&parser->reader);
}

static void parse_kill(struct parser *parser)
{
    parser->request->kill.signal = read_u32(&parser->reader);
    parser->request->kill.grace_ms = read_u32(&parser->reader);
    if (parser->request->kill.signal < 1 || parser->request->kill.signal > 64)
        object(parser, "no such signal");
}

static void parse_nothing(struct parser *parser)
{
    (void)parser;
}

static void parse_lookup(struct parser *parser)
{
    parser->request->lookup = take_list(parser, LOOKUP_MAX, "too many programs");
}

static void parse_write(struct parser *parser)
{
    struct write_request *write = &parser->request->write;
    write->path = take_string(parser);
    write->mode = read_u32(&parser->reader);
    if (!parser->reader.failed && write->path[0] == '\0')
        object(parser, "no path");
    if (write->mode & ~07777u)
        object(parser, "no such mode");
    write->bytes = parser->reader.at;
    write->length = parser->reader.left;
    parser->reader.left = 0;
}

static const struct frame_rule {
    const char *name;
    void (*parse)(struct parser *parser);
    uint16_t details;  /* bits that may be set */
    int of_connection; /* 1: execution must be 0; 0: must not */
    int has_strings;   /* so it needs memory */
} frame_rules[] = {
    [FRAME_HELLO] = {"HELLO", parse_hello, 0, 1, 1},
    [FRAME_STDIN] = {"STDIN", parse_bytes, 0, 0, 0},
    [FRAME_SPAWN] = {"SPAWN", parse_spawn, 0, 0, 1},
    [FRAME_CREDIT] = {"CREDIT", parse_credit, 0, 0, 0},
    [FRAME_KILL] = {"KILL", parse_kill, 0, 0, 0},
    [FRAME_RESET] = {"RESET", parse_nothing, 0, 1, 0},
    [FRAME_LOOKUP] = {"LOOKUP", parse_lookup, 0, -1, 1},
    [FRAME_WRITE] = {"WRITE", parse_write, WRITE_FIRST | WRITE_LAST, 0, 1},
};

static enum request_outcome refuse(char objection[REQUEST_OBJECTION_SIZE], const char *name,
                                   const char *words)
{
    snprintf(objection, REQUEST_OBJECTION_SIZE, "malformed %s frame: %s", name, words);
    return REQUEST_REFUSED;
}

/* The rule for HEADER, or NULL with an objection. */
static const struct frame_rule *find_rule(struct frame_header header,
                                          char objection[REQUEST_OBJECTION_SIZE])
{
    if (header.type >= sizeof frame_rules / sizeof frame_rules[0] ||
        !frame_rules[header.type].parse) {
        snprintf(objection, REQUEST_OBJECTION_SIZE, "unknown frame type %u", header.type);
        return NULL;
    }
    const struct frame_rule *rule = &frame_rules[header.type];
    const char *words = NULL;
    if (header.length > FRAME_PAYLOAD_MAX)
        words = "it is too long";
    else if (header.detail & ~rule->details)
        words = "unknown detail";
    else if (rule->of_connection == 1 && header.execution != 0)
        words = "it belongs to no execution";
    else if (rule->of_connection == 0 && header.execution == 0)
        words = "it must name an execution";
    if (words) {
        refuse(objection, rule->name, words);
        return NULL;
    }
    return rule;
}

/*
 * Memory for any payload of LENGTH bytes. Every string takes 4 bytes of it and one pointer here; every
 * list 4 bytes, a closing NULL and, where it is a candidate, a pointer to it: so two pointers for each 4
 * bytes are enough. A string's NUL takes no more than the length before it.
 */
static int make_memory(struct parser *parser, size_t length)
{
    size_t count = length / 4 * 2 + 8;
    void **pointers = malloc(count * sizeof *pointers + length);
    if (!pointers)
        return 0;
    parser->request->memory = pointers;
    parser->next_pointer = pointers;
    parser->pointers_left = count;
    parser->next_byte = (char *)(pointers + count);
    return 1;
}

enum request_outcome request_parse(const unsigned char *bytes, size_t length,
                                   struct request *request, size_t *consumed,
                                   char objection[REQUEST_OBJECTION_SIZE])
{
    *consumed = FRAME_HEADER_SIZE;
    if (length < FRAME_HEADER_SIZE)
        return REQUEST_PARTIAL;
    struct frame_header header = get_frame_header(bytes);
    const struct frame_rule *rule = find_rule(header, objection);
    if (!rule)
        return REQUEST_REFUSED;
    *consumed = FRAME_HEADER_SIZE + (size_t)header.length;
    if (length < *consumed)
        return REQUEST_PARTIAL;

    memset(request, 0, sizeof *request);
    request->header = header;
    request->frame = bytes;
    request->frame_length = *consumed;
    struct parser parser = {
        .reader = {bytes + FRAME_HEADER_SIZE, header.length, 0},
        .request = request,
    };
    if (rule->has_strings && !make_memory(&parser, header.length))
        return refuse(objection, rule->name, "no memory to take it apart");
    rule->parse(&parser);
    if (parser.reader.failed || parser.reader.left > 0) {
        const char *words = parser.objection       ? parser.objection
                            : parser.reader.failed ? "it ends too early, or a string holds a NUL"
                                                   : "there is more in it than belongs to it";
        request_release(request);
        return refuse(objection, rule->name, words);
    }
    return REQUEST_COMPLETE;
}

void request_release(struct request *request)
{
    free(request->memory);
    request->memory = NULL;
}
