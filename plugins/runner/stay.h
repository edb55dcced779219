/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stay.h: what a runner is told on its command line that shall outlive its host: it goes on when its standard
 * input ends, with all that code has left running, until it is killed. Where an engine keeps the input open
 * by itself there is nothing to outlive; Podman does not.
 */
#ifndef CODE_EXECUTOR_RUNNER_STAY_H
#define CODE_EXECUTOR_RUNNER_STAY_H

/* The one argument, or none. */
#define RUNNER_STAYS "--stay"

#endif /* CODE_EXECUTOR_RUNNER_STAY_H */
