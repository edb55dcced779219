/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runner_archive.c: reads the runner and packs it; see runner_archive.h.
 */
#include "runner_archive.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RUNNER_SIZE_MAX (64 * 1024 * 1024)
#define TAR_BLOCK       512

void runner_archive_clear(struct runner_archive *archive)
{
    free(archive->bytes);
    *archive = (struct runner_archive){0};
}

static int32_t read_all(int descriptor, const char *path, struct runner_archive *file,
                        code_executor_error *error)
{
    struct stat status;
    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0 ||
        status.st_size > RUNNER_SIZE_MAX)
        return error_set(error, CODE_EXECUTOR_IO, "the runner program at %s is no program", path);
    file->bytes = malloc((size_t)status.st_size);
    if (!file->bytes)
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    while (file->size < (size_t)status.st_size) {
        ssize_t count =
            read(descriptor, file->bytes + file->size, (size_t)status.st_size - file->size);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return error_set_errno(error, CODE_EXECUTOR_IO, count < 0 ? errno : EIO,
                                   "cannot read the runner program at %s", path);
        file->size += (size_t)count;
    }
    return CODE_EXECUTOR_OK;
}

int32_t runner_archive_read(const char *path, struct runner_archive *file,
                            code_executor_error *error)
{
    *file = (struct runner_archive){0};
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return error_set_errno(error, errno == ENOENT ? CODE_EXECUTOR_NOT_FOUND : CODE_EXECUTOR_IO,
                               errno,
                               "cannot read the runner program at %s, which is installed beside "
                               "the plugin",
                               path);
    int32_t status = read_all(descriptor, path, file, error);
    close(descriptor);
    return status;
}

/* A header of the ustar format. */
static void tar_header(char *block, const char *name, char type, unsigned mode, const char *link,
                       size_t size)
{
    memset(block, 0, TAR_BLOCK);
    snprintf(block, 100, "%s", name);
    snprintf(block + 100, 8, "%07o", mode);
    snprintf(block + 108, 8, "%07o", 0);       /* owner */
    snprintf(block + 116, 8, "%07o", 0);       /* group */
    snprintf(block + 124, 12, "%011zo", size); /* size */
    snprintf(block + 136, 12, "%011o", 0);     /* time */
    memset(block + 148, ' ', 8);               /* check sum, counted as blanks */
    block[156] = type;
    snprintf(block + 157, 100, "%s", link);
    memcpy(block + 257, "ustar\00000", 8);
    unsigned sum = 0;
    for (size_t i = 0; i < TAR_BLOCK; i++)
        sum += (unsigned char)block[i];
    snprintf(block + 148, 8, "%06o", sum);
}

int32_t runner_archive_make(const char *path, const char *name, const char *link,
                            struct runner_archive *archive, code_executor_error *error)
{
    struct runner_archive CLEANUP_ARCHIVE file;
    *archive = (struct runner_archive){0};
    int32_t status = runner_archive_read(path, &file, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    size_t padded = (file.size + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
    archive->size = TAR_BLOCK + padded + (link ? TAR_BLOCK : 0) + 2 * TAR_BLOCK;
    archive->bytes = calloc(1, archive->size);
    if (!archive->bytes)
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    tar_header(archive->bytes, name, '0', 0555, "", file.size);
    memcpy(archive->bytes + TAR_BLOCK, file.bytes, file.size);
    if (link)
        tar_header(archive->bytes + TAR_BLOCK + padded, link, '1', 0555, name, 0);
    return CODE_EXECUTOR_OK;
}

int32_t runner_archive_add_folder(struct runner_archive *archive, const char *name,
                                  code_executor_error *error)
{
    char *grown = realloc(archive->bytes, archive->size + TAR_BLOCK);
    if (!grown)
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    tar_header(grown + archive->size - 2 * TAR_BLOCK, name, '5', 0777, "", 0);
    memset(grown + archive->size - TAR_BLOCK, 0, 2 * TAR_BLOCK);
    archive->bytes = grown;
    archive->size += TAR_BLOCK;
    return CODE_EXECUTOR_OK;
}

int32_t runner_archive_put(const struct runner_archive *archive, struct engine *engine,
                           const char *container, const char *folder, struct answer *answer,
                           code_executor_error *error)
{
    http_transfer *transfer = NULL;
    char *path = NULL;
    char *escaped = engine_escape(folder);
    *answer = (struct answer){0};
    if (!escaped || asprintf(&path, "/containers/%s/archive?path=%s", container, escaped) < 0)
        path = NULL;
    free(escaped);
    if (!path)
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    http_request request = {.method = "PUT",
                            .path = path,
                            .content_type = "application/x-tar",
                            .body = archive->bytes,
                            .body_length = archive->size};
    int32_t status = engine_begin(engine, request, &transfer, error);
    if (status == CODE_EXECUTOR_OK)
        status = engine_finish(engine, transfer, engine->limit_ms, answer, error);
    http_end(transfer);
    free(path);
    return status;
}
