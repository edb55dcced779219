/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_reference.h: the parts of an image's name.
 *
 *     [registry/]name[:tag][@digest]
 *
 * The first part is a registry when it could not be a part of a name on Docker Hub: it holds a dot or a
 * colon, or is localhost, or has capital letters. Without one the image is from Docker Hub.
 */
#ifndef CODE_EXECUTOR_DOCKER_IMAGE_REFERENCE_H
#define CODE_EXECUTOR_DOCKER_IMAGE_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>

/* The registry as the configuration of docker clients files its credentials: "localhost:5000", or for
 * Docker Hub this key. */
#define DOCKER_HUB_KEY "https://index.docker.io/v1/"

/* NULL: no memory; free(). */
char *image_registry(const char *image);

/* Whether two names of registries, as they stand in configuration files (perhaps with a scheme, perhaps
 * with a path), mean the same one. */
bool registry_is_same(const char *a, const char *b);

/* How long the name is, registry included, and what to pull of it: the digest, the tag, or "latest", as
 * without one an engine pulls every tag there is. */
size_t image_name_length(const char *image, const char **version);

#endif /* CODE_EXECUTOR_DOCKER_IMAGE_REFERENCE_H */
