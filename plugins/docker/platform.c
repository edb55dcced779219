/* SPDX-License-Identifier: Apache-2.0 */
/*
 * platform.c: see platform.h.
 */
#include "platform.h"
#include "json.h"
#include "runner/protocol.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define TRY_LIMIT_MS 30000

bool platform_may_be_foreign(const struct container *container, const char *platform)
{
    bool warns = strncmp(container->engine->server, "Libpod", strlen("Libpod")) != 0;
    return platform || !warns ||
           strstr(container->warning, "does not match the detected host platform");
}

/* "linux/arm64" from the engine's answer at PATH, or other words. */
static void name_platform(struct engine *engine, const char *path, const char *member, char *name,
                          size_t size)
{
    struct answer CLEANUP_ANSWER answer = {0};
    const char *system = NULL, *machine = NULL;
    if (engine_call(engine, "GET", path, NULL, &answer, NULL) == CODE_EXECUTOR_OK) {
        system = json_string(answer.json, "Os");
        machine = json_string(answer.json, member);
    }
    if (system && machine)
        snprintf(name, size, "%s/%s", system, machine);
    else
        snprintf(name, size, "another platform");
}

static int32_t refuse(struct engine *engine, const char *image, code_executor_error *error)
{
    char path[512], of_image[64], of_engine[64];
    snprintf(path, sizeof path, "/images/%.400s/json", image);
    name_platform(engine, path, "Architecture", of_image, sizeof of_image);
    name_platform(engine, "/version", "Arch", of_engine, sizeof of_engine);
    return error_set(error, CODE_EXECUTOR_UNSUPPORTED,
                     "the image %s is made for %s, and the engine's machine is %s: programs of the "
                     "one cannot run on the other. Name an image for %s, set platform to it where "
                     "the image is made for several, or install an emulator on the engine's "
                     "machine (qemu-user-static, binfmt_misc)",
                     image, of_image, of_engine, of_engine);
}

int32_t platform_try(struct engine *engine, const char *image, session *over, const char *folder,
                     session_canceller *canceller, code_executor_error *error)
{
    static const char *const shell[] = {"sh", "-c", ":", NULL};
    static const char *const python[] = {"python3", "-c", "", NULL};
    static const char *const *const candidates[] = {shell, python};
    const session_command command = {
        .folder = folder,
        .candidates = candidates,
        .candidate_count = sizeof candidates / sizeof candidates[0],
        .timeout_ms = TRY_LIMIT_MS,
    };
    session_exit exited = {0};
    int32_t status = session_run(over, &command, canceller, &exited, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    if (exited.how == EXIT_CANCELLED)
        return error_set(error, CODE_EXECUTOR_CANCELLED, "cancelled");
    return exited.how == EXIT_NOT_STARTED && exited.errnum == ENOEXEC ? refuse(engine, image, error)
                                                                      : CODE_EXECUTOR_OK;
}
