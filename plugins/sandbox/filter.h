/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter.h: the seccomp filter of the sandbox, as a program that sandbox_enter loads.
 *
 * Namespaces decide what sandboxed code can *see*; the filter takes away what it could *ask the kernel*.
 * It is a list of refusals, in groups (filter.c), and not a list of permissions: interpreters and what
 * models import change too often, and a refusal that answers like an older or a stricter kernel lets a
 * program take its other way. Hence errno, never a kill: EPERM where the call is known and forbidden,
 * ENOSYS where the caller must believe that there is no such call and fall back.
 */
#ifndef CODE_EXECUTOR_SANDBOX_FILTER_H
#define CODE_EXECUTOR_SANDBOX_FILTER_H

#include "error.h"
#include <stdbool.h>
#include <stddef.h>

/*
 * The filter for this machine, an array of struct sock_filter, *LENGTH bytes, free(). With
 * PIN_PROCESSORS a process cannot choose its processors anew (resource_limits.h).
 */
int32_t filter_build(bool pin_processors, unsigned char **program, size_t *length,
                     code_executor_error *error);

#endif /* CODE_EXECUTOR_SANDBOX_FILTER_H */
