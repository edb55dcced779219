/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request_check.h: what a host hands in, looked at before it is used.
 *
 * A structure that is larger than the one known here comes from a newer host. Where the rest is zero it
 * means what it always meant; where it is not, the host asks for something that this plugin does not
 * know, and hears UNSUPPORTED rather than being misunderstood.
 */
#ifndef CODE_EXECUTOR_REQUEST_CHECK_H
#define CODE_EXECUTOR_REQUEST_CHECK_H

#include "error.h"

/* INVALID or UNSUPPORTED, with the structure, block or field in words. */
int32_t check_request(const code_executor_request *request, code_executor_error *error);
int32_t check_host(const code_executor_host *host, code_executor_error *error);

#endif /* CODE_EXECUTOR_REQUEST_CHECK_H */
