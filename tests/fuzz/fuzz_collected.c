/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_collected.c: what might come instead of the files of a workspace. The first byte says where the rest is
 * cut. The workspace is played by this file, which sees to it that no path leads out, that a file gets as
 * many bytes as were announced, and that each one begun is ended or abandoned.
 */
#include "collected.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LIMIT = 4096 };

static bool is_open;
static uint64_t missing; /* bytes of the open file */
static uint64_t total;

static void expect(bool holds)
{
    if (!holds)
        abort();
}

int32_t error_set(code_executor_error *error, int32_t status, const char *format, ...)
{
    (void)error;
    (void)format;
    return status;
}

int32_t workspace_file_begin(const char *path, const char *name, uint64_t size,
                             workspace_file *file, char objection[WORKSPACE_OBJECTION_SIZE],
                             code_executor_error *error)
{
    (void)path;
    (void)file;
    (void)error;
    expect(!is_open && name[0] != '\0' && name[0] != '/');
    for (const char *part = name; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL)
        expect(*part && *part != '/' && strcmp(part, ".") != 0 && strcmp(part, "..") != 0 &&
               strncmp(part, "./", 2) != 0 && strncmp(part, "../", 3) != 0);
    total += size;
    expect(total <= LIMIT);
    missing = size;
    strcpy(objection, size % 7 == 6 ? "no" : "");
    is_open = !objection[0];
    return size % 11 == 10 ? (is_open = false, CODE_EXECUTOR_IO) : CODE_EXECUTOR_OK;
}

void workspace_file_append(workspace_file *file, const char *bytes, size_t length)
{
    (void)file;
    (void)bytes;
    expect(is_open && length <= missing);
    missing -= length;
}

int32_t workspace_file_end(workspace_file *file, char objection[WORKSPACE_OBJECTION_SIZE],
                           code_executor_error *error)
{
    (void)file;
    (void)error;
    expect(is_open && missing == 0);
    is_open = false;
    objection[0] = '\0';
    return CODE_EXECUTOR_OK;
}

void workspace_file_abandon(workspace_file *file)
{
    (void)file;
    expect(is_open);
    is_open = false;
}

static void on_file(void *user_data, const char *path, const char *skipped)
{
    (void)user_data;
    (void)skipped;
    expect(path[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t step = size > 0 && data[0] ? data[0] : 1;
    static collected taken;
    memset(&taken, 0, sizeof taken);
    taken.work_dir = "/work";
    taken.max_bytes = LIMIT;
    taken.on_file = on_file;
    total = 0;
    int32_t status = CODE_EXECUTOR_OK;
    for (size_t at = 1; at < size && status == CODE_EXECUTOR_OK; at += step)
        status = collected_take(&taken, (const char *)data + at,
                                size - at < step ? size - at : step, NULL);
    collected_end(&taken);
    expect(!is_open);
    return 0;
}
