/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probes.h: the code that host_demo check gives to an executor: one piece for each thing that a block can
 * do, in a language that the executor runs, with what must come of it.
 */
#ifndef HOST_DEMO_CHECK_PROBES_H
#define HOST_DEMO_CHECK_PROBES_H

#include <code_executor.h>

enum probe_kind {
    PROBE_PRINT,       /* writes to stdout and ends well */
    PROBE_ERROR,       /* writes to stderr and ends well */
    PROBE_EXIT,        /* ends with an exit code that is not 0 */
    PROBE_WAIT,        /* runs for longer than anyone waits */
    PROBE_FLOOD,       /* writes a given number of bytes, more than a result keeps, to stdout */
    PROBE_BYTES,       /* writes NUL and what is not UTF-8 to stdout */
    PROBE_STDIN,       /* copies stdin to stdout */
    PROBE_ENVIRONMENT, /* writes the variable CODE_EXECUTOR_CHECK to stdout */
    PROBE_COUNT
};

struct probe {
    const char *code; /* NULL: there is none */
    const char *stdout_bytes;
    size_t stdout_length;
    const char *stderr_bytes;
    size_t stderr_length;
    int32_t exit_code;
    uint64_t bytes; /* of PROBE_FLOOD */
};

struct probes {
    const char *language; /* NULL: there are none */
    struct probe items[PROBE_COUNT];
};

/* What a kind is called in the JSON of --probes. */
const char *probe_name(enum probe_kind kind);

/*
 * Reads --probes: {"language": "rpn", "print": {"code": "1 2 +", "stdout": "3\n"}, ...}. Each has "code" and
 * what must come of it: "stdout", "stdout_hex" or "stderr", "exit_code", "bytes". What is read lives as
 * long as the program. INVALID: it is not that.
 */
int32_t probes_read(const char *json, struct probes *probes, code_executor_error *error);

/* Those that are built in, for one of the languages that run; none where there are none. */
void probes_choose(const code_executor_language *const *languages, size_t count,
                   struct probes *probes);

#endif /* HOST_DEMO_CHECK_PROBES_H */
