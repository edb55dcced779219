/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runner_choice.c: see runner_choice.h.
 */
#include "runner_choice.h"
#include "json.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What this was built for, as engines call it. */
#if defined(__x86_64__)
#define OURS "amd64"
#elif defined(__aarch64__)
#define OURS "arm64"
#elif defined(__i386__)
#define OURS "386"
#elif defined(__arm__)
#define OURS "arm"
#elif defined(__riscv) && __riscv_xlen == 64
#define OURS "riscv64"
#elif defined(__s390x__)
#define OURS "s390x"
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
#define OURS "ppc64le"
#else
#define OURS "" /* any engine's is taken for the same */
#endif

#define NAME_MAX_LENGTH 32

/* Empty: not known. It becomes a part of a path, and an engine is not trusted with one. */
static int32_t ask_architecture(struct engine *engine, char name[NAME_MAX_LENGTH],
                                code_executor_error *error)
{
    struct answer CLEANUP_ANSWER answer = {0};
    int32_t status = engine_call(engine, "GET", "/version", NULL, &answer, error);
    const char *told = status == CODE_EXECUTOR_OK ? json_string(answer.json, "Arch") : NULL;
    size_t length = told ? strlen(told) : 0;
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)told[i]))
            length = 0;
    snprintf(name, NAME_MAX_LENGTH, "%.*s", (int)length, told ? told : "");
    return status;
}

static int32_t choose_foreign(const char *path, const char *architecture, char **chosen,
                              code_executor_error *error)
{
    if (asprintf(chosen, "%s-%s", path, architecture) < 0) {
        *chosen = NULL;
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    }
    if (access(*chosen, R_OK) == 0)
        return CODE_EXECUTOR_OK;
    error_set(error, CODE_EXECUTOR_UNSUPPORTED,
              "the engine's machine is %s, and the runner that came with the plugin is made for "
              "%s: build one for that machine too (cmake -DCODE_EXECUTOR_FOREIGN_RUNNERS="
              "%s=COMPILER), which is to be at %s",
              architecture, OURS, architecture, *chosen);
    free(*chosen);
    *chosen = NULL;
    return CODE_EXECUTOR_UNSUPPORTED;
}

int32_t runner_choice(struct engine *engine, const char *path, char **chosen,
                      code_executor_error *error)
{
    char architecture[NAME_MAX_LENGTH] = "";
    int32_t status = CODE_EXECUTOR_OK;
    *chosen = NULL;
    if (engine->endpoint->kind != ENDPOINT_SOCKET)
        status = ask_architecture(engine, architecture, error);
    if (status != CODE_EXECUTOR_OK)
        return status;
    if (architecture[0] && sizeof OURS > 1 && strcmp(architecture, OURS) != 0)
        return choose_foreign(path, architecture, chosen, error);
    *chosen = strdup(path);
    return *chosen ? CODE_EXECUTOR_OK : error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
}
