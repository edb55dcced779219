/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request_check.c: see request_check.h.
 */
#include "request_check.h"

#include <string.h>

/* No structure of this ABI will ever be as large: a size that was never set. */
enum { SIZE_LIMIT = 64 * 1024 };

/* STRUCTURE is of the type called NAME, which is KNOWN bytes large here. */
static int32_t check_structure(const void *structure, size_t known, const char *name,
                               code_executor_error *error)
{
    size_t size;
    memcpy(&size, structure, sizeof size);
    if (size < known || size > SIZE_LIMIT) {
        return error_set(
            error, CODE_EXECUTOR_INVALID,
            "%s: struct_size is %zu, it must be set to sizeof(%s), which is at least %zu", name,
            size, name, known);
    }
    const unsigned char *bytes = structure;
    for (size_t at = known; at < size; at++) {
        if (bytes[at] != 0) {
            return error_set(
                error, CODE_EXECUTOR_UNSUPPORTED,
                "%s: a field at byte %zu is set, which this version of the plugin does "
                "not know",
                name, at);
        }
    }
    return CODE_EXECUTOR_OK;
}

int32_t check_host(const code_executor_host *host, code_executor_error *error)
{
    return check_structure(host, sizeof *host, "code_executor_host", error);
}

static int32_t check_block(const code_executor_block *block, size_t index,
                           code_executor_error *error)
{
    if (!block)
        return error_set(error, CODE_EXECUTOR_INVALID, "block %zu is NULL", index);
    int32_t status = check_structure(block, sizeof *block, "code_executor_block", error);
    if (status != CODE_EXECUTOR_OK)
        return error_prefix(error, status, "block %zu: ", index);
    if (!block->language || (!block->code && block->code_length > 0)) {
        return error_set(error, CODE_EXECUTOR_INVALID, "block %zu has no %s", index,
                         block->language ? "code" : "language");
    }
    return CODE_EXECUTOR_OK;
}

static int32_t check_blocks(const code_executor_request *request, code_executor_error *error)
{
    if (request->block_count == 0)
        return error_set(error, CODE_EXECUTOR_INVALID, "No code blocks to execute.");
    if (!request->blocks)
        return error_set(error, CODE_EXECUTOR_INVALID, "blocks is NULL");
    int32_t status = CODE_EXECUTOR_OK;
    for (size_t i = 0; status == CODE_EXECUTOR_OK && i < request->block_count; i++)
        status = check_block(request->blocks[i], i, error);
    return status;
}

static int32_t check_environment(const code_executor_request *request, code_executor_error *error)
{
    if (request->environment_count > 0 && !request->environment)
        return error_set(error, CODE_EXECUTOR_INVALID, "environment is NULL");
    for (size_t i = 0; i < request->environment_count; i++) {
        const char *assignment = request->environment[i];
        const char *equals = assignment ? strchr(assignment, '=') : NULL;
        if (!equals || equals == assignment) {
            return error_set(error, CODE_EXECUTOR_INVALID,
                             "environment: entry %zu is not of the form NAME=value", i);
        }
    }
    return CODE_EXECUTOR_OK;
}

int32_t check_request(const code_executor_request *request, code_executor_error *error)
{
    if (!request)
        return error_set(error, CODE_EXECUTOR_INVALID, "request is NULL");
    int32_t status = check_structure(request, sizeof *request, "code_executor_request", error);
    if (status == CODE_EXECUTOR_OK)
        status = check_blocks(request, error);
    if (status == CODE_EXECUTOR_OK)
        status = check_environment(request, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    /* Written so that NaN fails too. */
    if (request->timeout != 0 && !(request->timeout >= 1)) {
        return error_set(error, CODE_EXECUTOR_INVALID,
                         "Timeout must be greater than or equal to 1.");
    }
    if (request->execution_id == 0) {
        return error_set(error, CODE_EXECUTOR_INVALID,
                         "execution_id is 0, which names no execution");
    }
    if (!request->stdin_bytes && request->stdin_length > 0)
        return error_set(error, CODE_EXECUTOR_INVALID, "stdin_bytes is NULL");
    return CODE_EXECUTOR_OK;
}
