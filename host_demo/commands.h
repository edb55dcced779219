/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commands.h: the commands, one file each. Each returns the exit status of the process.
 */
#ifndef HOST_DEMO_COMMANDS_H
#define HOST_DEMO_COMMANDS_H

#include "options.h"

int repl_command(const struct options *options);    /* repl.c */
int run_command(const struct options *options);     /* run.c */
int extract_command(const struct options *options); /* extract.c */
int plugins_command(const struct options *options); /* plugins.c */
int info_command(const struct options *options);    /* plugins.c */

int ps_command(const struct options *options);    /* leftovers.c */
int prune_command(const struct options *options); /* leftovers.c */

int check_command(const struct options *options); /* check/check.c */
int mcp_command(const struct options *options);   /* mcp/mcp.c */

#endif /* HOST_DEMO_COMMANDS_H */
