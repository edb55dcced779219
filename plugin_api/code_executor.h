/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_executor.h: the code executor ABI, version 1.
 *
 * A *host* (a program that talks to a language model) hands the code that the model wrote to an
 * *executor*, and gets back what the code printed and how it ended. An executor is a shared object
 * that exports one symbol, code_executor_plugin_v1, which returns a table of functions. This header is
 * all that the two share: it needs no library, and compiles as C99 and later and as C++11 and later.
 *
 * The flow, from the host's side (error handling left out):
 *
 *     code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
 *     const code_executor_v1 *executor = entry();               // entry: from dlsym, see below
 *     code_executor_instance *instance = NULL;
 *     executor->create(NULL, "{\"timeout\": 10}", &instance, &error);
 *     executor->execute(instance, &request, &result, &error);   // starts on demand
 *     executor->result_free(result);
 *     executor->destroy(instance);                              // implies stop
 *
 * Conventions that hold for every call:
 *
 * Memory.  What a plugin allocates, the plugin frees (result_free, string_free, destroy). What the
 *     host passes in is the host's, need only live until the call returns, and is never written to
 *     except where a parameter says so. Results stay valid after destroy and until result_free; they
 *     do not outlive the unloading of the plugin.
 * Text and bytes.  Names, messages and paths are NUL-terminated UTF-8 as far as the system's names
 *     are. Code and output are bytes with a length; they may hold NUL and need not be UTF-8. One NUL
 *     that the length does not count follows everything that a plugin returns.
 * Errors.  A call that can fail returns a status (CODE_EXECUTOR_OK is 0) and takes a
 *     code_executor_error as its last parameter, which may be NULL. A failure of the *code* is no
 *     error: it is a result with an exit code. A failure of the *executor* is an error.
 * Threads.  Each call is marked:
 *     [any-thread]  from any thread, also while other calls on the same instance are running;
 *     [alone]       no other call on this instance may be running or come later.
 *     Different instances are independent of each other.
 * Callbacks.  Every callback runs on the thread that made the call it belongs to, before that call
 *     returns, and never on a thread of the plugin. Inside a callback only cancel and get_extension
 *     may be called on the same instance. A callback that blocks delays its own execution alone.
 * Manners.  A plugin changes nothing of the host process: no signal handlers, working directory,
 *     umask, environment or child processes that the host's wait() could see. Every descriptor is
 *     close-on-exec, and a forked child of the host holds none that leads to an environment. An
 *     instance belongs to the process that created it: in a forked child its calls answer
 *     CODE_EXECUTOR_UNSUPPORTED, and destroy leaves everything as it is. After destroy of the last
 *     instance no thread remains and the plugin may be unloaded with dlclose. (A helper process that
 *     a plugin starts is re-parented to the nearest subreaper or to PID 1: a host that is either will
 *     see it exit as it sees every orphan.)
 *
 * Growth.  Version 1 grows only at its ends. Every structure begins with its size as its maker knew
 *     it; new fields are appended, and zero in one means the old behaviour. A reader looks at no field
 *     that lies beyond struct_size; a plugin that is handed a structure larger than it knows checks
 *     that the unknown rest is zero, and answers CODE_EXECUTOR_UNSUPPORTED otherwise. A host reads a
 *     vtable member that was appended after the first release only with CODE_EXECUTOR_HAS.
 *     Enumerations are int32_t; a value that a reader does not know is to be read as failure.
 */
#ifndef CODE_EXECUTOR_H
#define CODE_EXECUTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CODE_EXECUTOR_ABI_VERSION 1

/* The one symbol that a plugin exports, for dlsym. */
#define CODE_EXECUTOR_ENTRY_SYMBOL "code_executor_plugin_v1"

#if defined(__GNUC__)
#define CODE_EXECUTOR_EXPORT __attribute__((visibility("default")))
#else
#define CODE_EXECUTOR_EXPORT
#endif

/* Whether the structure that POINTER points to is large enough to hold MEMBER. */
#ifdef __cplusplus
#define CODE_EXECUTOR_HAS(pointer, member)                                                         \
    ((pointer)->struct_size >=                                                                     \
     static_cast<size_t>(reinterpret_cast<const char *>(&(pointer)->member) -                      \
                         reinterpret_cast<const char *>(pointer)) +                                \
         sizeof((pointer)->member))
#else
#define CODE_EXECUTOR_HAS(pointer, member)                                                         \
    ((pointer)->struct_size >=                                                                     \
     (size_t)((const char *)&(pointer)->member - (const char *)(pointer)) +                        \
         sizeof((pointer)->member))
#endif

/* ------------------------------------------------------------------------------------------------
 * Status and error
 * --------------------------------------------------------------------------------------------- */

/* Status of a call. The word in the comment is the one used in JSON. */
enum code_executor_status {
    CODE_EXECUTOR_OK = 0,      /* "ok" */
    CODE_EXECUTOR_INVALID = 1, /* "invalid": an argument, a request or a configuration is wrong */
    CODE_EXECUTOR_UNSUPPORTED =
        2, /* "unsupported": understood, but not something this plugin can do */
    CODE_EXECUTOR_UNAVAILABLE =
        3, /* "unavailable": what the executor needs is not there or not running */
    CODE_EXECUTOR_DENIED = 4, /* "denied": there, but not permitted to this process */
    CODE_EXECUTOR_NOT_FOUND =
        5,                      /* "not_found": a plugin, image, file or execution does not exist */
    CODE_EXECUTOR_CONFLICT = 6, /* "conflict": a name or resource is already in use */
    CODE_EXECUTOR_CANCELLED = 7, /* "cancelled": by cancel, stop, restart or a callback */
    CODE_EXECUTOR_LOST = 8,      /* "lost": the environment died or was cut off while in use */
    CODE_EXECUTOR_TIMED_OUT = 9, /* "timed_out": the executor itself (not the code) took too long */
    CODE_EXECUTOR_NO_MEMORY = 10, /* "no_memory": an allocation failed in the host process */
    CODE_EXECUTOR_IO = 11,        /* "io": a system call on a file or socket failed */
    CODE_EXECUTOR_PROTOCOL = 12,  /* "protocol": the other side answered what it must not */
    CODE_EXECUTOR_INTERNAL = 13   /* "internal": a fault in the plugin */
};

/*
 * Filled by a call that fails: what was tried, what came back, what to do. The caller owns it and sets
 * struct_size (CODE_EXECUTOR_ERROR_INIT); a plugin writes only within it. A call that succeeds sets
 * status to CODE_EXECUTOR_OK and message to "". The message is always NUL-terminated and is cut, never
 * in the middle of a UTF-8 character, where it does not fit.
 */
typedef struct code_executor_error {
    size_t struct_size;
    int32_t status; /* enum code_executor_status; equal to what the call returned */
    int32_t reserved;
    char message[2048];
} code_executor_error;

#define CODE_EXECUTOR_ERROR_INIT                                                                   \
    {                                                                                              \
        sizeof(code_executor_error), 0, 0,                                                         \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

/* ------------------------------------------------------------------------------------------------
 * Host: what create is given
 * --------------------------------------------------------------------------------------------- */

enum code_executor_log_level {
    CODE_EXECUTOR_LOG_ERROR = 0,
    CODE_EXECUTOR_LOG_WARNING = 1,
    CODE_EXECUTOR_LOG_INFO = 2,
    CODE_EXECUTOR_LOG_DEBUG = 3
};

/*
 * What a host offers to an instance; copied by create. Each member may be NULL. The functions may be
 * called on several threads at once, but each time on one that is inside a call on the instance.
 */
typedef struct code_executor_host {
    size_t struct_size;
    void *user_data;
    /* One line without a newline; level: enum code_executor_log_level. */
    void (*log)(void *user_data, int32_t level, const char *message);
    /* Progress of something long, such as the pull of an image. WHAT names it; DONE and TOTAL are in
     * bytes, TOTAL 0 where it is not known. Called with DONE equal to TOTAL when it has ended. */
    void (*progress)(void *user_data, const char *what, uint64_t done, uint64_t total);
} code_executor_host;

/* ------------------------------------------------------------------------------------------------
 * Request
 * --------------------------------------------------------------------------------------------- */

typedef struct code_executor_block {
    size_t struct_size;
    const char *language; /* as the model wrote it: case and aliases are the executor's business */
    const char *code;     /* code_length bytes; may be NULL when that is 0 */
    size_t code_length;
} code_executor_block;

/* The streams of on_output. */
enum code_executor_stream {
    CODE_EXECUTOR_STREAM_STDOUT = 1,
    CODE_EXECUTOR_STREAM_STDERR = 2,
    CODE_EXECUTOR_STREAM_EXECUTOR = 3 /* the executor's own words, such as "\nTimeout" */
};

typedef struct code_executor_request {
    size_t struct_size;
    /* In the order in which they are to run; block_count may be as large as memory allows. */
    const code_executor_block *const *blocks;
    size_t block_count;
    /* Names this execution for cancel. Not 0, and unique among those in flight on the instance. */
    uint64_t execution_id;
    /* Seconds that each block may take; at least 1, or 0 for the instance's own. */
    double timeout;
    /* What each block finds on its standard input, before end-of-file. */
    const char *stdin_bytes;
    size_t stdin_length;
    /* "NAME=value" each, added to (and overriding) the environment that the instance gives. */
    const char *const *environment;
    size_t environment_count;
    void *user_data;
    /* BLOCK (an index into blocks) is about to run or to be saved, and cancel has effect on it. May
     * be NULL. Not 0: cancel. */
    int32_t (*on_begin)(void *user_data, size_t block);
    /* LENGTH bytes (never 0) that BLOCK wrote to STREAM (enum code_executor_stream), while it runs.
     * Sees every byte, also those that the result's cap drops. May be NULL. Not 0: cancel. */
    int32_t (*on_output)(void *user_data, size_t block, int32_t stream, const char *bytes,
                         size_t length);
} code_executor_request;

/* ------------------------------------------------------------------------------------------------
 * Result
 * --------------------------------------------------------------------------------------------- */

/* How a block, or a run of blocks, ended. The word in the comment is the one used in JSON. */
enum code_executor_outcome {
    CODE_EXECUTOR_OUTCOME_COMPLETED =
        0, /* "completed": it ran to its end, with whatever exit code */
    CODE_EXECUTOR_OUTCOME_SAVED =
        1, /* "saved": written to the workspace, not run, as the policy says */
    CODE_EXECUTOR_OUTCOME_REFUSED =
        2, /* "refused": not run: language, file name or content; exit code 1 */
    CODE_EXECUTOR_OUTCOME_TIMED_OUT =
        3, /* "timed_out": killed when its time was up; exit code 124 */
    CODE_EXECUTOR_OUTCOME_CANCELLED =
        4, /* "cancelled": killed by cancel, stop or restart; exit code 130 */
    CODE_EXECUTOR_OUTCOME_OUT_OF_MEMORY =
        5, /* "out_of_memory": killed by the memory limit; exit code 137 */
    CODE_EXECUTOR_OUTCOME_FAILED = 6 /* "failed": the executor failed while it ran; see the error */
};

typedef struct code_executor_block_result {
    size_t struct_size;
    const char *language; /* as the request gave it */
    int32_t outcome;      /* enum code_executor_outcome */
    /* As the shell counts: 128 + N when signal N killed it, 127 when no interpreter was found. */
    int32_t exit_code;
    int32_t signal; /* the signal that killed it, or 0 */
    int32_t reserved;
    /* What it wrote, each bounded by the instance's max_output_bytes: where more came, the first and
     * last halves stay, and a line between them says how much was dropped. */
    const char *stdout_bytes;
    size_t stdout_length;
    const char *stderr_bytes;
    size_t stderr_length;
    /* stdout, stderr and the executor's words in order of arrival. */
    const char *output;
    size_t output_length;
    uint64_t dropped_bytes; /* of output; 0 when it is whole */
    const char *code_file;  /* absolute path on the host where the code was saved, or NULL */
    uint64_t wall_ns;       /* wall-clock time, in nanoseconds */
    uint64_t cpu_ns;        /* user and system time of all its processes that have been reaped */
    uint64_t peak_memory_bytes; /* resident set of its largest process */
} code_executor_block_result;

typedef struct code_executor_result {
    size_t struct_size;
    int32_t exit_code;  /* of the last block that ran; 0 when all did what they should */
    int32_t outcome;    /* enum code_executor_outcome, of the last block */
    const char *output; /* the blocks' outputs joined, in order */
    size_t output_length;
    const char *code_file; /* of the first block that was saved, or NULL */
    /* One for each block that was begun or refused; those behind the first failure are not there. */
    const code_executor_block_result *const *blocks;
    size_t block_count;
} code_executor_result;

/* ------------------------------------------------------------------------------------------------
 * The vtable
 * --------------------------------------------------------------------------------------------- */

/* One configured executor. What is in it is the plugin's affair. */
typedef struct code_executor_instance code_executor_instance;

typedef struct code_executor_v1 {
    size_t struct_size;
    uint32_t abi_version; /* CODE_EXECUTOR_ABI_VERSION */
    uint32_t reserved;

    /* Static strings. The schema is JSON Schema (2020-12) of an object, with a description and a
     * default for every key. */
    const char *name; /* [a-z0-9_-]+; what the file is called, without ".so" */
    const char *version;
    const char *description; /* one line */
    const char *config_schema;

    /*
     * Makes an instance from a configuration (JSON text of an object; NULL and "" mean {}). Touches
     * nothing outside of the process: no folder is made, no daemon is asked. [any-thread]
     * HOST may be NULL. On success *INSTANCE is the caller's, to be given to destroy.
     * INVALID: no JSON, an unknown key (named, with the nearest known one), a wrong type or value.
     */
    int32_t (*create)(const code_executor_host *host, const char *config_json,
                      code_executor_instance **instance, code_executor_error *error);

    /*
     * Brings the environment up. Does nothing when it is up. [any-thread]
     * A call while another thread starts waits for that and shares its end. Stoppable by cancel with
     * id 0 and by stop, then CANCELLED. When it fails, nothing is left behind.
     */
    int32_t (*start)(code_executor_instance *instance, code_executor_error *error);

    /*
     * Brings the environment down: ends everything that runs in it. Does nothing when it is down.
     * Executions in flight return with outcome "cancelled", and so do those that wait for a start.
     * [any-thread] An error says what could not be cleaned up; the instance counts as down even then.
     */
    int32_t (*stop)(code_executor_instance *instance, code_executor_error *error);

    /*
     * Back to a fresh environment: every process that code left is ended. The workspace stays.
     * Starts when down, and also when the environment was lost. [any-thread] Executions in flight
     * return with outcome "cancelled".
     */
    int32_t (*restart)(code_executor_instance *instance, code_executor_error *error);

    /*
     * Runs the blocks in order and stops behind the first whose exit code is not 0. Starts the
     * environment on demand, and again when it was lost before the first block began. [any-thread]:
     * executions on one instance overlap.
     * *RESULT is set to NULL or to a result that the caller gives to result_free, on success and on
     * failure: when the executor fails after a block began, the result holds what finished and, with
     * outcome "failed", the part of the block that was running.
     * INVALID: no blocks ("No code blocks to execute."), a timeout between 0 and 1, an id that is 0 or
     * in flight. CANCELLED only when cancelled before the first block began.
     */
    int32_t (*execute)(code_executor_instance *instance, const code_executor_request *request,
                       code_executor_result **result, code_executor_error *error);

    /*
     * Ends an execution: the whole process tree of the running block is killed and execute returns
     * promptly with outcome "cancelled". Id 0: everything in flight on the instance, a start, restart
     * or pull included. Returns at once, without waiting for that. [any-thread], also in a callback.
     * NOT_FOUND: nothing in flight has that id (never for id 0).
     */
    int32_t (*cancel)(code_executor_instance *instance, uint64_t execution_id,
                      code_executor_error *error);

    /*
     * What the instance is now, as JSON text of an object: at least "name", "state" ("stopped",
     * "starting", "started", "lost"), "timeout", "work_dir", "bind_dir" (null where there is none),
     * "isolation" (one line), "engine" (an object or null), "limits" (an object). [any-thread]
     * *JSON is the caller's, to be given to string_free.
     */
    int32_t (*describe)(code_executor_instance *instance, char **json, code_executor_error *error);

    /* Frees what execute or describe returned; NULL is allowed. [any-thread] */
    void (*result_free)(code_executor_result *result);
    void (*string_free)(char *string);

    /* Stops and frees the instance; NULL is allowed. [alone] */
    void (*destroy)(code_executor_instance *instance);

    /*
     * The optional ability called ID, or NULL: of an instance, or with INSTANCE NULL of the plugin.
     * What it points to lives as long as the instance (the plugin). [any-thread], also in a callback.
     * Ids end in "/" and a version; a plugin's own begin with its name and a dot.
     */
    const void *(*get_extension)(code_executor_instance *instance, const char *id);
} code_executor_v1;

/* The type of the entry symbol. It returns a static table, or NULL when the plugin cannot work here
 * at all, and may be called any number of times. [any-thread] */
typedef const code_executor_v1 *(*code_executor_entry_v1)(void);

/* ------------------------------------------------------------------------------------------------
 * Extension: languages
 * --------------------------------------------------------------------------------------------- */

#define CODE_EXECUTOR_EXTENSION_LANGUAGES "code_executor.languages/1"

typedef struct code_executor_language {
    size_t struct_size;
    const char *name;
    const char *const *aliases; /* alias_count names that mean the same */
    size_t alias_count;
    bool runs; /* the policy: true runs such a block, false only saves it */
    uint8_t reserved[7];
    const char *command; /* what is run, found or to be looked for: "python, python3" */
    /* Absolute path, as the code sees it, of the interpreter that was found; NULL when none was or
     * when the environment is not up. */
    const char *interpreter;
} code_executor_language;

typedef struct code_executor_languages_v1 {
    size_t struct_size;
    /*
     * Lists the languages of INSTANCE, or with NULL the plugin's own with their default policies.
     * *LANGUAGES is an array of *COUNT pointers that lives until the next call of list on the same
     * instance, or its destroy. [any-thread], but one call of list at a time on one instance.
     */
    int32_t (*list)(code_executor_instance *instance,
                    const code_executor_language *const **languages, size_t *count,
                    code_executor_error *error);
} code_executor_languages_v1;

/* ------------------------------------------------------------------------------------------------
 * Extension: leftovers
 * --------------------------------------------------------------------------------------------- */

/*
 * Of a plugin (INSTANCE NULL) whose environments, or what they need, may outlive the host: because
 * that was asked for, or because something went wrong.
 */
#define CODE_EXECUTOR_EXTENSION_LEFTOVERS "code_executor.leftovers/1"

typedef struct code_executor_leftovers_v1 {
    size_t struct_size;
    /*
     * Lists all that the plugin has made, in this process or any other, and that is still there,
     * where CONFIG_JSON (as for create) leads. *JSON is the caller's, to be given to string_free: an
     * array of objects, each with "kind" ("container", "volume" ...), "id", "name", "state",
     * "created" (seconds since 1970, or null), "image" (or null), "kept" (whether it was asked to
     * stay) and "owner": null where it belongs to no host in particular, else an object with "pid"
     * and "alive"; that is null where it cannot be known, as of a host on another machine, in
     * another container, or before the machine was booted. [any-thread]
     */
    int32_t (*list)(const char *config_json, char **json, code_executor_error *error);
    /*
     * Removes what belongs to hosts that have ended, but for what runs because it was asked to go on,
     * and what belongs to nobody and is not in use; with ALL also that, and what belongs to any other
     * host. *JSON as above:
     * what was removed, after a failure too. It may be NULL then. [any-thread]
     */
    int32_t (*prune)(const char *config_json, bool all, char **json, code_executor_error *error);
} code_executor_leftovers_v1;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* CODE_EXECUTOR_H */
