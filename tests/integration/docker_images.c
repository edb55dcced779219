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

#define PACK "tar -c --numeric-owner --owner=0 --group=0 "

/* What the shell LINES print in a new folder of the workspace; free(). */
static char *print_from_folder(const char *lines, size_t *length)
{
    char command[4096];
    char *printed = malloc(ARCHIVE_MAX);
    assert_non_null(printed);
    snprintf(command, sizeof command,
             "set -e; folder=$(mktemp -d '%s/image-XXXXXX'); cd \"$folder\"; %s\n"
             "cd /; rm -rf \"$folder\"",
             workspace, lines);
    FILE *output = popen(command, "re"); /* NOLINT: scripts of the tests */
    assert_non_null(output);
    *length = fread(printed, 1, ARCHIVE_MAX, output);
    assert_int_equal(pclose(output), 0);
    return printed;
}

static void post(const char *path, const char *body, size_t length)
{
    struct answer CLEANUP_ANSWER answer = {0};
    http_transfer *transfer = NULL;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    http_request request = {.method = "POST",
                            .path = path,
                            .content_type = "application/x-tar",
                            .body = body,
                            .body_length = length};
    if (engine_begin(engine, request, &transfer, &error) != CODE_EXECUTOR_OK ||
        engine_finish(engine, transfer, LONG_WAIT_MS, &answer, &error) != CODE_EXECUTOR_OK)
        fail_msg("%s", error.message);
    const char *told = http_body(transfer, NULL);
    if (answer.status != 200 || strstr(told, "\"error\""))
        fail_msg("no image by %s: %s", path, told);
    http_end(transfer);
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

void image_make(const char *name, const char *script, const char *changes)
{
    char path[4096], lines[2048];
    size_t length = 0;
    snprintf(lines, sizeof lines, "%s\n" PACK ".", script);
    char *archive = print_from_folder(lines, &length);
    /* Podman does not listen to a tag that stands by itself. */
    snprintf(path, sizeof path, "/images/create?fromSrc=-&repo=%s", name);
    append_changes(path, sizeof path, changes);
    post(path, archive, length);
    free(archive);
}

/* In the form of docker save, as an import takes no other machine than the engine's. */
void image_make_foreign(const char *name, const char *script, const char *architecture)
{
    char lines[3072];
    size_t length = 0;
    snprintf(
        lines, sizeof lines,
        "mkdir root; (cd root; %s\n); " PACK "-C root -f layer.tar .; "
        "digest=$(sha256sum layer.tar | cut -d' ' -f1)\n"
        "echo '{\"architecture\":\"%s\",\"os\":\"linux\",\"config\":{\"Env\":[\"PATH=/bin\"]},"
        "\"rootfs\":{\"type\":\"layers\",\"diff_ids\":[\"sha256:'$digest'\"]}}' > config.json\n"
        "echo '[{\"Config\":\"config.json\",\"RepoTags\":[\"%s\"],\"Layers\":[\"layer.tar\"]}]' "
        "> manifest.json\n" PACK "layer.tar config.json manifest.json",
        script, architecture, name);
    char *archive = print_from_folder(lines, &length);
    post("/images/load?quiet=1", archive, length);
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
