/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker.h: what an instance of the docker executor is; shared by docker.c, start.c and pooled.c.
 */
#ifndef CODE_EXECUTOR_DOCKER_H
#define CODE_EXECUTOR_DOCKER_H

#include "commandline.h"
#include "container.h"
#include "container_user.h"
#include "endpoint.h"
#include "labels.h"
#include "pool.h"
#include "runner_volume.h"
#include "workspace_way.h"
#include <pthread.h>

struct docker {
    /* Fixed by configure. */
    json_object *config;
    struct endpoint endpoint;
    char *bind_dir; /* absolute; NULL: the workspace */
    enum workspace_way way;
    bool auto_remove;
    bool stop_container;
    bool relaunches;       /* to restart */
    bool borrows_endpoint; /* of the one that it is a clone of */
    struct pool *pool;     /* or NULL */

    /* Found out by the first launch that needs it. */
    char *runner_path; /* of the runner for the engine's machine */
    struct runner_volume volume;
    bool volume_known;
    bool runner_seen; /* in the volume, whole */
    bool volumes_swept;
    bool way_seen; /* the container sees the workspace */
    struct container_user user;

    /* While it is up. */
    struct docker *taken;  /* where it is up with one of the pool's: this holds what follows */
    struct endpoint found; /* the engine's, where none was named and there is one elsewhere; kept */
    char launch_id[LAUNCH_ID_SIZE]; /* on the labels of all that the launch makes */
    struct engine *engine;
    struct container container;
    char *runner_file; /* in a container that is not ours, until it is known not to stay there */
    bool runner_removes_itself;
    bool runner_in_workspace;
    bool may_be_foreign; /* the image is perhaps made for another machine */
    bool keep_ptrace;
    bool prepared; /* a launch has come to its end with this container: it may be left */

    /* The container of an earlier launch that was left where it is: by stop_container or auto_remove, or
     * as it could not be removed; else empty. */
    char left_id[CONTAINER_ID_SIZE];
    char left_name[256];
    bool left_whole; /* it may be started again */

    /* For describe, which may come at any time. */
    pthread_mutex_t lock;
    char shown_version[16];
    char shown_server[128];
    char shown_host[512]; /* of an engine that was found; else empty */
    char shown_id[CONTAINER_ID_SIZE];
    char shown_name[256];
    bool shown_copied; /* the workspace */
    bool shown_direct; /* frames do not go through the engine */
};

/* What an instance does that has no pool. */
extern const commandline_launcher docker_alone;

/* Notes for describe which engine and container FROM uses. */
void docker_show(struct docker *docker, const struct docker *from);

/*
 * Brings a container up on docker->engine: docker->container, and *TRANSPORT to the runner in it. What
 * this has made when it fails is removed by start_undo.
 */
int32_t start_container(struct docker *docker, const launch_context *context, transport **transport,
                        code_executor_error *error);

/* Removes what a start that failed has made, as far as it came; the engine stays open. */
void start_undo(struct docker *docker);

#endif /* CODE_EXECUTOR_DOCKER_H */
