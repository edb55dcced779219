/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_config.c: finds and reads the file; see docker_config.h.
 */
#include "docker_config.h"
#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX (1024 * 1024)

char *docker_config_folder(void)
{
    const char *given = getenv("DOCKER_CONFIG");
    const char *home = getenv("HOME");
    char *folder = NULL, buffer[4096];
    struct passwd entry, *found = NULL;
    if (given && given[0])
        return strdup(given);
    if ((!home || !home[0]) && getpwuid_r(geteuid(), &entry, buffer, sizeof buffer, &found) == 0)
        home = found ? found->pw_dir : NULL;
    if (!home || !home[0] || asprintf(&folder, "%s/.docker", home) < 0)
        return NULL;
    return folder;
}

/* It holds secrets: the buffer is overwritten behind the last use. */
static int32_t parse(char *text, size_t length, const char *path, json_object **config,
                     code_executor_error *error)
{
    struct json_tokener *tokener = json_tokener_new();
    if (!tokener)
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    *config = json_tokener_parse_ex(tokener, text, (int)length + 1);
    enum json_tokener_error outcome = json_tokener_get_error(tokener);
    json_tokener_free(tokener);
    if (outcome == json_tokener_success && json_object_is_type(*config, json_type_object))
        return CODE_EXECUTOR_OK;
    json_object_put(*config);
    *config = NULL;
    return error_set(error, CODE_EXECUTOR_INVALID, "%s is not a JSON object (%s)", path,
                     outcome == json_tokener_success ? "but another value"
                                                     : json_tokener_error_desc(outcome));
}

static int32_t read_descriptor(int descriptor, const char *path, json_object **config,
                               code_executor_error *error)
{
    struct stat status;
    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size > FILE_MAX)
        return error_set(error, CODE_EXECUTOR_IO, "%s is not a file of at most %d bytes", path,
                         FILE_MAX);
    char *text = calloc(1, FILE_MAX + 1);
    if (!text)
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    size_t length = 0;
    ssize_t count;
    do {
        count = read(descriptor, text + length, FILE_MAX - length);
        length += count > 0 ? (size_t)count : 0;
    } while (count > 0 || (count < 0 && errno == EINTR));
    int32_t result = count < 0
                         ? error_set_errno(error, CODE_EXECUTOR_IO, errno, "cannot read %s", path)
                         : parse(text, length, path, config, error);
    OPENSSL_cleanse(text, FILE_MAX);
    free(text);
    return result;
}

int32_t docker_config_read_file(const char *name, char **path, json_object **config,
                                code_executor_error *error)
{
    char *folder = docker_config_folder();
    *config = NULL;
    *path = NULL;
    if (!folder)
        return CODE_EXECUTOR_OK;
    if (asprintf(path, "%s/%s", folder, name) < 0)
        *path = NULL;
    free(folder);
    if (!*path)
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    int descriptor = open(*path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0 && (errno == ENOENT || errno == ENOTDIR))
        return CODE_EXECUTOR_OK;
    if (descriptor < 0)
        return error_set_errno(error, errno == EACCES ? CODE_EXECUTOR_DENIED : CODE_EXECUTOR_IO,
                               errno, "cannot read %s", *path);
    int32_t status = read_descriptor(descriptor, *path, config, error);
    close(descriptor);
    return status;
}

int32_t docker_config_read(char **path, json_object **config, code_executor_error *error)
{
    return docker_config_read_file("config.json", path, config, error);
}
