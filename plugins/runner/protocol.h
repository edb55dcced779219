/* SPDX-License-Identifier: Apache-2.0 */
/*
 * protocol.h: the frames that a host (plugins/commandline/session.c) and a runner exchange.
 *
 * One connection is a pair of byte streams: the runner's standard input and output, or the socket that
 * takes their places (rendezvous.h). Each carries frames, a header of FRAME_HEADER_SIZE bytes and a payload:
 *
 *     0        4      6        8           12
 *     +--------+------+--------+-----------+---------------------+
 *     | length | type | detail | execution | payload             |
 *     +--------+------+--------+-----------+---------------------+
 *     u32      u16    u16      u32           `length` bytes, at most FRAME_PAYLOAD_MAX
 *
 * Numbers are little-endian. A string in a payload is a u32 length and its bytes, which hold no NUL.
 * `execution` names an execution; the host picks a number that is not in use, never 0. Frames about
 * the connection as a whole carry 0.
 *
 *     host                                     runner
 *     HELLO(magic, version, flags)  ─────────▶          the host speaks first; nothing else before it
 *                                   ◀───────── HELLO(magic, version, …)
 *     STDIN(bytes) …                ─────────▶          kept until SPAWN, which they must precede
 *     SPAWN(command, limits)        ─────────▶          starts at once
 *                                   ◀───────── OUTPUT(stream, bytes) …
 *     CREDIT(count) …               ─────────▶
 *     KILL(signal, grace)           ─────────▶          optional
 *                                   ◀───────── EXIT(how, times, memory)     the last of an execution
 *
 * Several executions overlap freely. After its EXIT an execution's number is free again, though
 * processes that it left in the background live on until RESET or the end of the connection.
 *
 * Flow control. OUTPUT payloads of an execution never exceed the credit that SPAWN and CREDIT frames
 * gave it, so a host that does not take one execution's output delays neither the others nor control
 * frames, and neither side buffers without bound. The runner always reads its input.
 *
 * A frame that is malformed, unknown, too long or out of place ends the connection: the runner sends
 * ERROR with the reason and exits, killing all it started; the host closes its end and reports the
 * reason. End-of-file on its input does the same without the ERROR.
 *
 * The version is a plain number that both must share: host and runner are installed together.
 */
#ifndef CODE_EXECUTOR_RUNNER_PROTOCOL_H
#define CODE_EXECUTOR_RUNNER_PROTOCOL_H

#include <stdint.h>
#include <string.h>

#define PROTOCOL_MAGIC   0x31585243u /* "CRX1" as bytes */
#define PROTOCOL_VERSION 1u

#define FRAME_HEADER_SIZE 12u
#define FRAME_PAYLOAD_MAX (1024u * 1024u)

/* Largest payload of an OUTPUT frame. */
#define OUTPUT_PAYLOAD_MAX (64u * 1024u)

/* The runner exits when no HELLO has come after this long. */
#define HELLO_DEADLINE_SECONDS 30

/* Longest name of a rendezvous' socket, and longest proof, each with a NUL. */
#define RENDEZVOUS_NAME_MAX  64u
#define RENDEZVOUS_PROOF_MAX 64u

/* Executions that a runner carries at once (those with an EXIT to come). One more is not started:
 * EXIT_NOT_STARTED with EAGAIN. */
#define EXECUTIONS_MAX 1024u

/* What one frame may ask for; more is malformed. */
#define ENVIRONMENT_MAX 4096u /* variables in one list */
#define CANDIDATES_MAX  64u
#define LOOKUP_MAX      128u
#define WRITES_MAX      64u                    /* files that are written at the same time */
#define INPUT_MAX       (256u * 1024u * 1024u) /* STDIN bytes of one execution */

enum frame_type {
    /* Host to runner. */
    FRAME_HELLO = 1, /* both ways; see hello_flag and the layouts below */
    FRAME_STDIN = 2, /* payload: bytes that the execution's command finds on its standard input */
    FRAME_SPAWN = 3,
    FRAME_CREDIT = 4, /* u32 bytes more of OUTPUT; ignored for an execution that has ended */
    FRAME_KILL = 5,   /* u32 signal, u32 grace in ms: SIGKILL follows then; the execution counts as
                         cancelled; ignored for one that has ended; before SPAWN it takes back
                         STDIN, without an EXIT */
    FRAME_RESET = 6,  /* ends every process that was started, background ones too; executions in
                         flight end with EXIT_CANCELLED before RESET_DONE */
    FRAME_LOOKUP = 7, /* u32 count, strings: names of programs; detail 0 */
    FRAME_WRITE =
        8, /* detail: write_flag; string path, u32 mode, then bytes to the payload's end */

    /* Runner to host. */
    FRAME_OUTPUT = 65, /* detail: 1 stdout, 2 stderr; payload: bytes */
    FRAME_EXIT = 66,
    FRAME_RESET_DONE = 67,
    FRAME_LOOKUP_DONE = 68, /* u32 count, strings: absolute path of each, "" where there is none */
    FRAME_WRITE_DONE = 69,  /* u32 errno, 0 when the whole file is there */
    FRAME_ERROR = 70        /* payload: text, why the runner ends the connection */
};

/*
 * HELLO, host to runner: u32 magic, u32 version, u32 flags (hello_flag); with HELLO_RENDEZVOUS string name,
 * string proof, whose first half is what the host says there, and the second what the runner answers (rendezvous.h).
 * HELLO, runner to host: u32 magic, u32 version, u32 pid, u32 uid, string: machine (uname -m).
 */
enum hello_flag {
    HELLO_KEEP_PTRACE = 1u, /* what is started keeps CAP_SYS_PTRACE; then root beside the runner can
                              read its memory and forge results */
    HELLO_RENDEZVOUS = 2u /* the host listens at a socket too, through which the answer may come */
};

/*
 * SPAWN: u32 timeout in ms (0: none), u32 grace in ms between SIGTERM and SIGKILL, u32 credit,
 *     u32 flags (0), string folder (the working directory; "": where the runner was started),
 *     u32 count, strings: environment defaults, "NAME=value", which hold where NAME is not set yet,
 *     u32 count, strings: environment additions, "NAME=value", which hold in any case,
 *     u32 count of candidates, each: u32 count, strings: an argument vector.
 * The first candidate whose program is found in PATH (as it is for the command) and can be executed is
 * run; the environment is the runner's own, with the two lists applied.
 */

/*
 * EXIT: u32 how (exit_how), u32 exit code, u32 signal, u32 error (errno, EXIT_NOT_STARTED alone),
 *     u32 index of the candidate that ran (CANDIDATE_NONE where it did not come to one: the folder
 *     cannot be entered, no process can be made), u64 wall ns, u64 cpu ns, u64 peak memory in bytes,
 *     string: detail, words for a person, may be empty.
 * Exit code is meant for EXIT_EXITED, signal for the death by one; both are 0 elsewhere.
 *
 * Before EXIT comes what the command had written when it ended, as credit permits. Only after KILL or
 * RESET the EXIT does not wait for credit: what does not fit then is dropped. Once its time and grace
 * are over, EXIT comes within EXIT_LATE_SECONDS, even where something cannot be killed; so does
 * RESET_DONE.
 */
#define EXIT_LATE_SECONDS 8
#define CANDIDATE_NONE    0xffffffffu

enum exit_how {
    EXIT_EXITED = 0,
    EXIT_SIGNALLED = 1,
    EXIT_TIMED_OUT = 2,
    EXIT_CANCELLED = 3,     /* by KILL or RESET */
    EXIT_OUT_OF_MEMORY = 4, /* killed by SIGKILL while the cgroup's count of oom kills rose */
    EXIT_NOT_STARTED = 5,   /* no candidate could be run; error ENOENT: none was found */
    EXIT_LOST = 6           /* its supervisor was killed by what it ran; the tree is killed */
};

/*
 * WRITE: the file at PATH, relative to the folder in which the runner was started and beneath it. A
 * file longer than a payload comes in several frames with the same execution number, one after the
 * other; bytes are appended. Parent folders are made, links are not followed, and the file takes its
 * place (rename) with WRITE_LAST, so that a reader sees the old or the whole new one. One WRITE_DONE
 * answers all its frames, after the last, with the first error.
 */
enum write_flag { WRITE_FIRST = 1u, WRITE_LAST = 2u };

struct frame_header {
    uint32_t length;
    uint16_t type;
    uint16_t detail;
    uint32_t execution;
};

static inline void put_u16(unsigned char *at, uint16_t value)
{
    at[0] = (unsigned char)(value & 0xff);
    at[1] = (unsigned char)(value >> 8);
}

static inline void put_u32(unsigned char *at, uint32_t value)
{
    put_u16(at, (uint16_t)(value & 0xffff));
    put_u16(at + 2, (uint16_t)(value >> 16));
}

static inline void put_u64(unsigned char *at, uint64_t value)
{
    put_u32(at, (uint32_t)(value & 0xffffffffu));
    put_u32(at + 4, (uint32_t)(value >> 32));
}

static inline uint16_t get_u16(const unsigned char *at)
{
    return (uint16_t)(at[0] | at[1] << 8);
}

static inline uint32_t get_u32(const unsigned char *at)
{
    return (uint32_t)get_u16(at) | (uint32_t)get_u16(at + 2) << 16;
}

static inline uint64_t get_u64(const unsigned char *at)
{
    return (uint64_t)get_u32(at) | (uint64_t)get_u32(at + 4) << 32;
}

static inline void put_frame_header(unsigned char at[FRAME_HEADER_SIZE], struct frame_header header)
{
    put_u32(at, header.length);
    put_u16(at + 4, header.type);
    put_u16(at + 6, header.detail);
    put_u32(at + 8, header.execution);
}

static inline struct frame_header get_frame_header(const unsigned char at[FRAME_HEADER_SIZE])
{
    struct frame_header header = {get_u32(at), get_u16(at + 4), get_u16(at + 6), get_u32(at + 8)};
    return header;
}

/*
 * A reader over a payload. Each read that does not fit marks the reader as failed and yields zero or
 * an empty string from then on, so that a caller checks once, at the end.
 */
struct payload_reader {
    const unsigned char *at;
    size_t left;
    int failed;
};

static inline uint32_t read_u32(struct payload_reader *reader)
{
    if (reader->failed || reader->left < 4) {
        reader->failed = 1;
        return 0;
    }
    uint32_t value = get_u32(reader->at);
    reader->at += 4;
    reader->left -= 4;
    return value;
}

static inline uint64_t read_u64(struct payload_reader *reader)
{
    uint64_t low = read_u32(reader);
    return low | (uint64_t)read_u32(reader) << 32;
}

/* The bytes of a string within the payload, not NUL-terminated; a NUL among them is a failure. */
static inline const char *read_string(struct payload_reader *reader, uint32_t *length)
{
    *length = read_u32(reader);
    if (reader->failed || reader->left < *length || memchr(reader->at, 0, *length)) {
        reader->failed = 1;
        *length = 0;
        return "";
    }
    const char *string = (const char *)reader->at;
    reader->at += *length;
    reader->left -= *length;
    return string;
}

#endif /* CODE_EXECUTOR_RUNNER_PROTOCOL_H */
