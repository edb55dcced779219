/* SPDX-License-Identifier: Apache-2.0 */
/*
 * labels.h: what is written on every container and volume that this plugin makes, so that it can be
 * known again: by the launch that made it, by another host that cleans up, by a person with `docker ps`.
 *
 * A host is named by the machine's boot, its pid namespace, its pid and when it started: a pid alone is
 * no identity, it is given out again.
 */
#ifndef CODE_EXECUTOR_DOCKER_LABELS_H
#define CODE_EXECUTOR_DOCKER_LABELS_H

#include <json-c/json.h>
#include <stdbool.h>

#define LABEL_PROJECT "code-executor.project"
#define LABEL_LAUNCH  "code-executor.launch"
#define LABEL_ROLE    "code-executor.role"
#define LABEL_KEEP    "code-executor.keep"
#define PROJECT       "code_executor"

#define LAUNCH_ID_SIZE 33

/* 32 random hexadecimal digits and a NUL. False: the system has no randomness to give. */
bool labels_random_id(char id[LAUNCH_ID_SIZE]);

/* A new object with all labels of this process. LAUNCH_ID may be NULL (a volume belongs to nobody);
 * KEEP: stays when the host ends. NULL: no memory. */
json_object *labels_new(const char *launch_id, const char *role, bool keep);

/* The filters of a list request that finds what hosts of this machine's boot and this pid namespace
 * made. NULL: no memory, or /proc is not there. */
json_object *labels_filter_neighbours(void);
/* Those that find what LAUNCH_ID made. */
json_object *labels_filter_launch(const char *launch_id);
/* Those that find everything. */
json_object *labels_filter_all(void);

/* Whether LABELS (of something that such a filter found) name a host that has ended and that did not
 * want it kept. */
bool labels_left_behind(json_object *labels);

enum labels_owner {
    OWNER_NOBODY, /* the labels name none */
    OWNER_ALIVE,
    OWNER_GONE,
    OWNER_UNKNOWN /* of another boot, machine or pid namespace */
};

/* The host that LABELS name; *PID is its number where it is. */
enum labels_owner labels_owner(json_object *labels, int64_t *pid);

#endif /* CODE_EXECUTOR_DOCKER_LABELS_H */
