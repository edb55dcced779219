/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unreachable.h: why nothing answers at an endpoint, in words: what was tried, what came back, what to do.
 */
#ifndef CODE_EXECUTOR_DOCKER_UNREACHABLE_H
#define CODE_EXECUTOR_DOCKER_UNREACHABLE_H

#include "endpoint.h"

struct failure {
    CURL *easy;            /* which has ended */
    CURLcode code;         /* with this, not CURLE_OK */
    const char *words;     /* libcurl's, may be empty */
    const char *ssh_words; /* the last of an ssh that ended, or "" */
    bool answered;         /* the engine has answered something before */
};

int32_t unreachable_explain(const struct endpoint *endpoint, const struct failure *failure,
                            code_executor_error *error);

#endif /* CODE_EXECUTOR_DOCKER_UNREACHABLE_H */
