/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_images.c: see docker_images.h.
 */
#include "docker_images.h"
#include "docker_support.h"
#include "json.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define ARCHIVE_MAX  (32 * 1024 * 1024)
#define LONG_WAIT_MS 120000

/* Runs SCRIPT and packs what it made; free(). */
static char *pack(const char *script, size_t *length)
{
    char command[4096];
    char *archive = malloc(ARCHIVE_MAX);
    assert_non_null(archive);
    snprintf(command, sizeof command,
             "set -e; folder=$(mktemp -d '%s/rootfs-XXXXXX'); cd \"$folder\"; %s\n"
             "tar -c --numeric-owner --owner=0 --group=0 .; cd /; rm -rf \"$folder\"",
             workspace, script);
    FILE *output = popen(command, "re"); /* NOLINT: scripts of the tests */
    assert_non_null(output);
    *length = fread(archive, 1, ARCHIVE_MAX, output);
    assert_int_equal(pclose(output), 0);
    return archive;
}

/* "&changes=LINE" for each line. */
static void append_changes(char *path, size_t size, const char *changes)
{
    while (*changes) {
        size_t length = strcspn(changes, "\n");
        char *line = strndup(changes, length);
        char *escaped = engine_escape(line);
        snprintf(path + strlen(path), size - strlen(path), "&changes=%s", escaped);
        free(line);
        free(escaped);
        changes += length + (changes[length] == '\n');
    }
}

void image_make(const char *name, const char *script, const char *changes, const char *architecture)
{
    char path[4096];
    size_t length = 0;
    char *archive = pack(script, &length);
    const char *tag = strrchr(name, ':');
    struct answer CLEANUP_ANSWER answer = {0};
    http_transfer *transfer = NULL;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    snprintf(path, sizeof path, "/images/create?fromSrc=-&repo=%.*s&tag=%s%s%s", (int)(tag - name),
             name, tag + 1, architecture ? "&platform=linux/" : "",
             architecture ? architecture : "");
    append_changes(path, sizeof path, changes);
    http_request request = {.method = "POST",
                            .path = path,
                            .content_type = "application/x-tar",
                            .body = archive,
                            .body_length = length};
    if (engine_begin(engine, request, &transfer, &error) != CODE_EXECUTOR_OK ||
        engine_finish(engine, transfer, LONG_WAIT_MS, &answer, &error) != CODE_EXECUTOR_OK)
        fail_msg("%s", error.message);
    const char *body = http_body(transfer, NULL);
    if (answer.status != 200 || strstr(body, "\"error\""))
        fail_msg("no image %s: %s", name, body);
    http_end(transfer);
    free(archive);
}

void image_remove(const char *name)
{
    char path[256];
    struct answer CLEANUP_ANSWER answer = {0};
    snprintf(path, sizeof path, "/images/%s/json", name);
    if (ask("GET", path, NULL, &answer) != 200)
        return;
    snprintf(path, sizeof path, "/images/%s?force=1", json_string(answer.json, "Id"));
    ask("DELETE", path, NULL, NULL);
}
