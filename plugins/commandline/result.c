/* SPDX-License-Identifier: Apache-2.0 */
/*
 * result.c: see result.h.
 */
#include "result.h"
#include "arena.h"
#include "commandline.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The result comes first, so that a pointer to it is one to all of it. */
struct result_builder {
    code_executor_result result;
    struct arena arena;
    code_executor_block_result **blocks;
    size_t capacity;
};

result_builder *result_begin(void)
{
    result_builder *builder = calloc(1, sizeof *builder);
    if (builder) {
        builder->result.struct_size = sizeof builder->result;
        builder->result.output = "";
    }
    return builder;
}

void commandline_result_free(code_executor_result *result)
{
    if (!result)
        return;
    result_builder *builder = (result_builder *)result;
    arena_release(&builder->arena);
    free(builder->blocks);
    free(builder);
}

static bool make_room(result_builder *builder)
{
    if (builder->result.block_count < builder->capacity)
        return true;
    size_t capacity = builder->capacity ? 2 * builder->capacity : 4;
    void *blocks = capacity < SIZE_MAX / sizeof *builder->blocks
                       ? realloc(builder->blocks, capacity * sizeof *builder->blocks)
                       : NULL;
    if (!blocks)
        return false;
    builder->blocks = blocks;
    builder->capacity = capacity;
    return true;
}

code_executor_block_result *result_add_block(result_builder *builder, const char *language)
{
    language = language ? language : "";
    if (!make_room(builder))
        return NULL;
    code_executor_block_result *block = arena_get(&builder->arena, sizeof *block);
    char *copy = arena_copy(&builder->arena, language, strlen(language));
    builder->arena.failed = false; /* what fits is still there to be told */
    if (!block || !copy)
        return NULL;
    block->struct_size = sizeof *block;
    block->language = copy;
    block->stdout_bytes = block->stderr_bytes = block->output = "";
    builder->blocks[builder->result.block_count++] = block;
    return block;
}

static const char *keep(result_builder *builder, const output *from, size_t *length)
{
    *length = output_length(from);
    if (*length == 0)
        return "";
    char *bytes = *length < SIZE_MAX ? arena_get(&builder->arena, *length + 1) : NULL;
    builder->arena.failed = false;
    if (bytes)
        output_read(from, bytes);
    return bytes;
}

bool result_set_outputs(result_builder *builder, code_executor_block_result *block,
                        const output *out, const output *err, const output *combined)
{
    size_t out_length;
    size_t err_length;
    size_t combined_length;
    const char *out_bytes = keep(builder, out, &out_length);
    const char *err_bytes = keep(builder, err, &err_length);
    const char *combined_bytes = combined ? keep(builder, combined, &combined_length) : out_bytes;
    if (!out_bytes || !err_bytes || !combined_bytes)
        return false;
    block->stdout_bytes = out_bytes;
    block->stdout_length = out_length;
    block->stderr_bytes = err_bytes;
    block->stderr_length = err_length;
    block->output = combined_bytes;
    block->output_length = combined ? combined_length : out_length;
    block->dropped_bytes = output_dropped(combined ? combined : out);
    return true;
}

const char *result_path(result_builder *builder, const char *folder, const char *name)
{
    size_t folder_length = strlen(folder);
    size_t name_length = strlen(name);
    while (folder_length && folder[folder_length - 1] == '/')
        folder_length--;
    char *path = arena_get(&builder->arena, folder_length + name_length + 2);
    builder->arena.failed = false;
    if (!path)
        return NULL;
    memcpy(path, folder, folder_length);
    path[folder_length] = '/';
    memcpy(path + folder_length + 1, name, name_length);
    return path;
}

/* The outputs of all blocks, one after the other; where only one has any, that is the whole. */
static bool join(result_builder *builder)
{
    code_executor_result *result = &builder->result;
    size_t last_length = 0;
    for (size_t i = 0; i < result->block_count; i++) {
        const code_executor_block_result *block = builder->blocks[i];
        if (block->output_length == 0)
            continue;
        if (block->output_length >= SIZE_MAX - result->output_length)
            return false;
        last_length = block->output_length;
        result->output = block->output;
        result->output_length += last_length;
    }
    if (result->output_length == last_length)
        return true;
    char *joined = arena_get(&builder->arena, result->output_length + 1);
    if (!joined)
        return false;
    result->output = joined;
    for (size_t i = 0; i < result->block_count; i++) {
        memcpy(joined, builder->blocks[i]->output, builder->blocks[i]->output_length);
        joined += builder->blocks[i]->output_length;
    }
    return true;
}

code_executor_result *result_end(result_builder *builder)
{
    code_executor_result *result = &builder->result;
    if (result->block_count == 0 || !join(builder)) {
        commandline_result_free(result);
        return NULL;
    }
    const code_executor_block_result *last = builder->blocks[result->block_count - 1];
    result->exit_code = last->exit_code;
    result->outcome = last->outcome;
    for (size_t i = 0; i < result->block_count && !result->code_file; i++)
        result->code_file = builder->blocks[i]->code_file;
    result->blocks = (const code_executor_block_result *const *)builder->blocks;
    return result;
}
