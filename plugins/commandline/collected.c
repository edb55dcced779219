/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collected.c: see collected.h. What the stream could try, and what answers:
 *   - a path that leads out of the workspace: checked here, and each folder on it is opened without
 *     following links (workspace.h);
 *   - bytes or files without end: no more than max_bytes and RECORDS_MAX;
 *   - a path of 4 GiB: no longer than COLLECT_PATH_MAX;
 *   - an end that is too early: COLLECTED_ENDED is reached by the last record alone.
 */
#include "collected.h"
#include "runner/protocol.h"
#include <errno.h>
#include <string.h>

enum { RECORDS_MAX = 1000000 };

static int32_t nonsense(code_executor_error *error)
{
    return error_set(error, CODE_EXECUTOR_PROTOCOL,
                     "what came of the workspace's files makes no sense");
}

/* Gathers SIZE bytes in PART; true when they are complete. */
static bool gather(collected *self, void *part, size_t size, const char **bytes, size_t *length)
{
    size_t taken = size - self->filled < *length ? size - self->filled : *length;
    memcpy((char *)part + self->filled, *bytes, taken);
    self->filled += taken;
    *bytes += taken;
    *length -= taken;
    if (self->filled < size)
        return false;
    self->filled = 0;
    return true;
}

static bool is_beneath(const char *path, size_t length)
{
    if (strlen(path) != length)
        return false;
    while (*path) {
        size_t part = strcspn(path, "/");
        if (part == 0 || (part == 1 && path[0] == '.') || (part == 2 && memcmp(path, "..", 2) == 0))
            return false;
        path += part;
        if (*path == '/' && !*++path)
            return false;
    }
    return length > 0;
}

static int32_t take_head(collected *self, code_executor_error *error)
{
    if (get_u32(self->part) != COLLECT_MAGIC)
        return nonsense(error);
    self->now = get_u32(self->part + 4) | (uint64_t)get_u32(self->part + 8) << 32;
    self->state = COLLECTED_RECORD;
    return CODE_EXECUTOR_OK;
}

static int32_t begin_folders(collected *self, code_executor_error *error)
{
    if (self->knows_folders || self->left > COLLECT_FOLDERS_MAX || self->path_length > 0)
        return nonsense(error);
    self->knows_folders = true;
    self->state = self->left > 0 ? COLLECTED_FOLDERS : COLLECTED_RECORD;
    return CODE_EXECUTOR_OK;
}

static void take_folders(collected *self, const char **bytes, size_t *length)
{
    size_t taken = self->left < *length ? (size_t)self->left : *length;
    if (self->on_folders)
        self->on_folders(self->user_data, *bytes, taken);
    self->left -= taken;
    *bytes += taken;
    *length -= taken;
    if (self->left == 0)
        self->state = COLLECTED_RECORD;
}

static int32_t take_record(collected *self, code_executor_error *error)
{
    self->kind = get_u32(self->part);
    self->mode = get_u32(self->part + 4);
    self->left = get_u32(self->part + 8) | (uint64_t)get_u32(self->part + 12) << 32;
    self->path_length = get_u32(self->part + 16);
    if (self->kind == COLLECT_END) {
        self->state = COLLECTED_ENDED;
        return CODE_EXECUTOR_OK;
    }
    if (self->kind == COLLECT_ALIVE && self->left == 0 && self->path_length == 0)
        return CODE_EXECUTOR_OK;
    if (self->kind == COLLECT_FOLDERS)
        return begin_folders(self, error);
    if (++self->records > RECORDS_MAX)
        return error_set(error, CODE_EXECUTOR_UNSUPPORTED,
                         "more than %d files changed in the workspace at once", RECORDS_MAX);
    if (self->kind > COLLECT_SKIPPED || self->path_length > COLLECT_PATH_MAX ||
        self->left > (self->kind == COLLECT_FILE ? self->max_bytes - self->total : 0))
        return nonsense(error);
    self->total += self->left;
    self->state = COLLECTED_PATH;
    return CODE_EXECUTOR_OK;
}

static void tell(collected *self, const char *skipped)
{
    self->on_file(self->user_data, self->path, skipped);
}

static int32_t end_file(collected *self, code_executor_error *error)
{
    char objection[WORKSPACE_OBJECTION_SIZE];
    self->state = COLLECTED_RECORD;
    if (!self->saving)
        return CODE_EXECUTOR_OK;
    self->saving = false;
    if (self->is_wanted && !self->is_wanted(self->user_data, self->path)) {
        workspace_file_abandon(&self->file);
        return CODE_EXECUTOR_OK;
    }
    self->file.runs = self->mode & 0111;
    self->file.keeps_same = true;
    int32_t status = workspace_file_end(&self->file, objection, error);
    if (status == CODE_EXECUTOR_OK)
        tell(self, objection[0] ? objection : NULL);
    return status;
}

static int32_t take_path(collected *self, code_executor_error *error)
{
    char objection[WORKSPACE_OBJECTION_SIZE];
    self->path[self->path_length] = '\0';
    self->state = COLLECTED_RECORD;
    if (!is_beneath(self->path, self->path_length))
        return nonsense(error);
    if (self->kind == COLLECT_SKIPPED) {
        char words[128];
        self->exceeded = self->exceeded || self->mode == EFBIG;
        tell(self, strerror_r((int)self->mode, words, sizeof words));
        return CODE_EXECUTOR_OK;
    }
    int32_t status =
        workspace_file_begin(self->work_dir, self->path, self->left, &self->file, objection, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    self->saving = !objection[0];
    if (objection[0])
        tell(self, objection);
    self->state = COLLECTED_BYTES;
    return self->left == 0 ? end_file(self, error) : CODE_EXECUTOR_OK;
}

static int32_t take_bytes(collected *self, const char **bytes, size_t *length,
                          code_executor_error *error)
{
    size_t taken = self->left < *length ? (size_t)self->left : *length;
    if (self->saving)
        workspace_file_append(&self->file, *bytes, taken);
    if (self->saving && self->on_bytes)
        self->on_bytes(self->user_data, *bytes, taken);
    self->left -= taken;
    *bytes += taken;
    *length -= taken;
    return self->left == 0 ? end_file(self, error) : CODE_EXECUTOR_OK;
}

int32_t collected_take(collected *self, const char *bytes, size_t length,
                       code_executor_error *error)
{
    int32_t status = CODE_EXECUTOR_OK;
    while (length > 0 && status == CODE_EXECUTOR_OK) {
        switch (self->state) {
        case COLLECTED_HEAD:
            if (gather(self, self->part, COLLECT_HEAD_SIZE, &bytes, &length))
                status = take_head(self, error);
            break;
        case COLLECTED_RECORD:
            if (gather(self, self->part, COLLECT_RECORD_SIZE, &bytes, &length))
                status = take_record(self, error);
            break;
        case COLLECTED_PATH:
            if (gather(self, self->path, self->path_length, &bytes, &length))
                status = take_path(self, error);
            break;
        case COLLECTED_BYTES:
            status = take_bytes(self, &bytes, &length, error);
            break;
        case COLLECTED_FOLDERS:
            take_folders(self, &bytes, &length);
            break;
        case COLLECTED_ENDED:
            status = nonsense(error);
            break;
        }
    }
    return status;
}

void collected_end(collected *self)
{
    if (self->saving)
        workspace_file_abandon(&self->file);
    self->saving = false;
}
