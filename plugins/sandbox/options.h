/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.h: the keys of the configuration that are the sandbox's own, and what they may be.
 */
#ifndef CODE_EXECUTOR_SANDBOX_OPTIONS_H
#define CODE_EXECUTOR_SANDBOX_OPTIONS_H

#include "config.h"
#include "error.h"
#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where things are inside. */
#define SANDBOX_WORKSPACE "/workspace"
#define SANDBOX_HOME      "/home/sandbox"
#define SANDBOX_PROGRAMS  "/run/code_executor"

/* A file or folder of the host that is shown inside. */
typedef struct sandbox_bind {
    char *source;      /* absolute */
    char *destination; /* absolute, without "." and ".." */
    bool writable;
} sandbox_bind;

typedef struct sandbox_options {
    bool host_network;
    bool seccomp;
    sandbox_bind *binds;
    size_t bind_count;
    uint64_t memory;      /* bytes; 0: no limit */
    double processors;    /* 0: no limit */
    uint64_t pids;        /* processes and threads; 0: no limit */
    uint64_t tmpfs_bytes; /* of each private folder in memory */
    char *bubblewrap;     /* path of bwrap, or NULL: the first in PATH */
} sandbox_options;

/* INVALID says which key is wrong, and how. */
int32_t sandbox_options_read(json_object *config, sandbox_options *options,
                             code_executor_error *error);
void sandbox_options_free(sandbox_options *options);

/* clang-format off */
#define SANDBOX_SCHEMA                                                                             \
    COMMANDLINE_SCHEMA_BEGIN                                                                       \
    COMMANDLINE_SCHEMA_WORK_DIR("null")                                                            \
    COMMANDLINE_SCHEMA_OTHER_PROPERTIES                                                            \
    JSON_TEXT(                                                                                     \
        "network": {                                                                               \
            "type": "string", "enum": ["none", "host"], "default": "none",                         \
            "description": "none: a network of its own with nothing but loopback. host: the host's, its loopback services included." \
        },                                                                                         \
        "bind_ro": {                                                                               \
            "type": ["array", "null"], "items": {"type": "string", "minLength": 1}, "default": [], \
            "description": "Files and folders of the host to be seen inside, read-only: PATH or PATH:PATH_INSIDE." \
        },                                                                                         \
        "bind_rw": {                                                                               \
            "type": ["array", "null"], "items": {"type": "string", "minLength": 1}, "default": [], \
            "description": "The same, writable."                                                   \
        },                                                                                         \
        "memory": {                                                                                \
            "type": ["integer", "string", "null"], "minimum": 8388608, "default": null,            \
            "description": "Memory that all its processes may use together, in bytes or as 512m, 2g. null: no limit." \
        },                                                                                         \
        "cpus": {                                                                                  \
            "type": ["number", "null"], "minimum": 0.01, "default": null,                          \
            "description": "Processors that it may keep busy, such as 1.5. null: no limit."        \
        },                                                                                         \
        "pids_limit": {                                                                            \
            "type": ["integer", "null"], "minimum": 16, "default": 512,                            \
            "description": "Processes and threads at once, those that run the sandbox itself included. null: no limit." \
        },                                                                                         \
        "tmpfs_size": {                                                                            \
            "type": ["integer", "string"], "minimum": 65536, "default": "256m",                    \
            "description": "Size of each of the private folders in memory: /tmp, /dev/shm and the home." \
        },                                                                                         \
        "seccomp": {                                                                               \
            "type": "boolean", "default": true,                                                    \
            "description": "Whether system calls that sandboxed code has no business with are refused: mounts, namespaces, tracing others, keys, bpf, io_uring, modules and more." \
        },                                                                                         \
        "bwrap": {                                                                                 \
            "type": ["string", "null"], "pattern": "^/", "default": null,                          \
            "errorMessage": {"pattern": "bwrap must be the absolute path of a program."},          \
            "description": "The bubblewrap program. null: bwrap, as found in PATH."                \
        }                                                                                          \
    )                                                                                              \
    COMMANDLINE_SCHEMA_END
/* clang-format on */

#endif /* CODE_EXECUTOR_SANDBOX_OPTIONS_H */
