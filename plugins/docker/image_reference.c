/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_reference.c: takes names of images and registries apart; see image_reference.h.
 */
#include "image_reference.h"
#include "ascii.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* A stretch of a longer text. */
struct part {
    const char *begin;
    size_t length;
};

static bool part_is(struct part part, const char *text)
{
    if (strlen(text) != part.length)
        return false;
    for (size_t i = 0; i < part.length; i++)
        if (ascii_lower(part.begin[i]) != ascii_lower(text[i]))
            return false;
    return true;
}

/* The host (with its port) of what may be an address. */
static struct part host_of(const char *registry)
{
    const char *scheme = strstr(registry, "://");
    const char *begin = scheme ? scheme + strlen("://") : registry;
    return (struct part){begin, strcspn(begin, "/")};
}

/* Docker Hub goes by the host of its key, and by the domain of that. */
static bool is_docker_hub(struct part host)
{
    char name[sizeof DOCKER_HUB_KEY];
    struct part hub = host_of(DOCKER_HUB_KEY);
    memcpy(name, hub.begin, hub.length);
    name[hub.length] = '\0';
    return part_is(host, name) || part_is(host, strchr(name, '.') + 1);
}

bool registry_is_same(const char *a, const char *b)
{
    struct part left = host_of(a), right = host_of(b);
    if (is_docker_hub(left) || is_docker_hub(right))
        return is_docker_hub(left) && is_docker_hub(right);
    if (left.length != right.length)
        return false;
    for (size_t i = 0; i < left.length; i++)
        if (ascii_lower(left.begin[i]) != ascii_lower(right.begin[i]))
            return false;
    return true;
}

static bool is_registry(struct part first)
{
    if (part_is(first, "localhost"))
        return true;
    for (size_t i = 0; i < first.length; i++)
        if (first.begin[i] == '.' || first.begin[i] == ':' ||
            isupper((unsigned char)first.begin[i]))
            return true;
    return false;
}

char *image_registry(const char *image)
{
    struct part first = {image, strcspn(image, "/")};
    bool given = image[first.length] == '/' && is_registry(first);
    return given && !is_docker_hub(first) ? strndup(first.begin, first.length)
                                          : strdup(DOCKER_HUB_KEY);
}

size_t image_name_length(const char *image, const char **version)
{
    const char *digest = strchr(image, '@');
    size_t length = digest ? (size_t)(digest - image) : strlen(image);
    *version = digest ? digest + 1 : "latest";
    for (size_t i = length; i > 0 && image[i - 1] != '/'; i--) {
        if (image[i - 1] == ':') {
            if (!digest)
                *version = image + i;
            return i - 1;
        }
    }
    return length;
}
