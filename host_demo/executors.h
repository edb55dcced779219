/* SPDX-License-Identifier: Apache-2.0 */
/*
 * executors.h: the executors that a run or a dialogue has loaded, each with its label, its
 * configuration and its workspace, and the router that sends blocks to them.
 *
 *     specification ──▶ plugin ──▶ configuration ──▶ instance ──▶ label ──▶ routes
 *     NAME, PATH,       (loaded)   + a temporary                  docker
 *     NAME:{...},                  workspace, where               docker#2
 *     NAME:@FILE                   none is configured
 *
 * One specification is one instance, however many routes lead to it. All calls come from the main
 * thread, but for executors_stop_all, the last will of a host that ends at once.
 */
#ifndef HOST_DEMO_EXECUTORS_H
#define HOST_DEMO_EXECUTORS_H

#include "options.h"
#include "text.h"
#include <code_executor_host.h>

struct executor {
    char *label;
    char *specification; /* by which the same one is found again */
    code_executor_plugin *plugin;
    const code_executor_v1 *table;
    code_executor_instance *instance;
    char *workspace; /* temporary, ours to remove when empty; or NULL */
    bool cleans;     /* also when it is not empty */
};

struct executors;

/* WORK_DIR: the workspace of all, or NULL. It must outlive the executors. */
int32_t executors_open(const char *work_dir, struct executors **opened, code_executor_error *error);

/* Destroys all; says where files are that code left in a temporary workspace. NULL is allowed. */
void executors_close(struct executors *executors);

/* For CLEANUP. */
void executors_close_at(struct executors **executors);

/*
 * The executor with this label, else the one with this specification, else a new one. CONFIG (JSON
 * or @FILE) may be NULL; a specification may carry one of its own. Loads and creates, does not
 * start.
 */
int32_t executors_load(struct executors *executors, const char *specification, const char *config,
                       const struct executor **loaded, code_executor_error *error);

/* Sends LANGUAGE (NULL: all without a route of their own) to an executor. INVALID: a language that
 * neither the host library nor this executor knows. */
int32_t executors_route(struct executors *executors, const char *language,
                        const struct executor *executor, code_executor_error *error);

/* Loads what --executor, --config and --route of the command line name. */
int32_t executors_load_named(struct executors *executors, const struct options *options,
                             code_executor_error *error);

/*
 * Makes sure that LANGUAGE (NULL: any without a route of its own) has a route: where it has none
 * and there is no default executor yet, that is sandbox, or local where sandbox is not there or
 * cannot work here, with a word that local does not isolate. What is wrong with the user's
 * configuration or workspace is a failure, and never a reason for local.
 */
int32_t executors_need(struct executors *executors, const char *language,
                       code_executor_error *error);

/* The label of the route of LANGUAGE, or NULL. */
const char *executors_label(const struct executors *executors, const char *language);

/* What the executor of LANGUAGE would do with a block in it; POLICY_RUNS where it does not tell. */
enum block_policy { POLICY_RUNS, POLICY_SAVES, POLICY_UNKNOWN };
enum block_policy executors_policy(const struct executors *executors, const char *language);

/* Whether a failure was one of usage: what was asked for can be on no machine. NULL is allowed. */
bool executors_are_misused(const struct executors *executors);

size_t executors_count(const struct executors *executors);
const struct executor *executors_at(const struct executors *executors, size_t index);

int32_t executors_execute(struct executors *executors, const code_executor_request *request,
                          code_executor_routed_result **result, code_executor_error *error);

/* Ends everything in flight; from any thread, but not while routes or executors are added. */
void executors_cancel(void *executors);

/* Ends one execution; as above, and of no effect where it is not in flight. */
void executors_cancel_one(struct executors *executors, uint64_t execution_id);

/* Whether the environment of an executor is up, or was. */
bool executor_is_up(const struct executor *executor);

/* Writes the routes, a line each, as a person reads them. */
bool executors_append_routes(const struct executors *executors, struct bytes *text);

#endif /* HOST_DEMO_EXECUTORS_H */
