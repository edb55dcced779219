/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.h: the command line, read by two tables: the commands (main.c) and the options
 * (options.c).
 */
#ifndef HOST_DEMO_OPTIONS_H
#define HOST_DEMO_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

/* A set of these says for which commands an option is. */
enum command_set {
    COMMAND_REPL = 1,
    COMMAND_RUN = 2,
    COMMAND_EXTRACT = 4,
    COMMAND_PLUGINS = 8,
    COMMAND_INFO = 16,
    COMMAND_PS = 32,
    COMMAND_PRUNE = 64,
    COMMAND_CHECK = 128,
    COMMAND_MCP = 256,
};

struct route_option {
    char *language;
    const char *executor; /* NAME, NAME:{...} or NAME:@FILE */
};

struct options {
    const char *executor; /* NULL: the default */
    const char *config;   /* JSON or @FILE, or NULL */
    const char *work_dir;
    const char *probes; /* JSON or @FILE, or NULL */
    const char *rules;  /* separated by commas, or NULL for all */
    struct route_option *routes;
    size_t route_count;
    double timeout; /* seconds for each block; 0: the executor's own */
    bool all;
    bool clean;
    bool json;
    bool quiet;
    bool help;
    bool version;
    const char *argument; /* of the command, or NULL */
};

struct command {
    const char *name;
    enum command_set set;
    const char *argument; /* "[FILE|-]", "" where it takes none */
    bool needs_argument;
    const char *help;
    int (*run)(const struct options *options); /* returns the exit status */
};

/* Every command of the program; the first is the one that runs when none is named. */
extern const struct command commands[];
extern const size_t command_count;

enum {
    EXIT_OK = 0,
    EXIT_USAGE = 2,
    EXIT_HOST_FAILED = 125,
    EXIT_NOBODY_READS = 141, /* as a program that SIGPIPE killed */
};

/*
 * Reads ARGUMENTS (a NULL-terminated vector, which OPTIONS then points into). False: they are
 * wrong, and stderr says how. *COMMAND is the one that was named.
 */
bool options_read(char **arguments, struct options *options, const struct command **command);
void options_free(struct options *options);

/* Prints how to call the program to DESCRIPTOR. False: it cannot be written. */
bool options_usage(int descriptor);

#endif /* HOST_DEMO_OPTIONS_H */
