/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_image_reference.c: names of images and registries, taken apart.
 */
#include "image_reference.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void registry_is_the_first_part_where_it_can_be_none_of_a_name(void **state)
{
    (void)state;
    static const char *const table[][2] = {
        {"python", DOCKER_HUB_KEY},
        {"python:3-slim", DOCKER_HUB_KEY},
        {"team/python:3", DOCKER_HUB_KEY},
        {"a/b/c", DOCKER_HUB_KEY},
        {"python@sha256:0123", DOCKER_HUB_KEY},
        {"localhost/python", "localhost"},
        {"localhost:5000/python:3", "localhost:5000"},
        {"host/python", DOCKER_HUB_KEY},
        {"Host/python", "Host"},
        {"host:80/python", "host:80"},
        {"registry.example/team/python@sha256:0123", "registry.example"},
        {"10.0.0.1:5000/x", "10.0.0.1:5000"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        char *registry = image_registry(table[i][0]);
        assert_string_equal(registry, table[i][1]);
        free(registry);
    }
}

/* It has a domain, and a host in it, the key's. */
static void docker_hub_goes_by_more_than_one_name(void **state)
{
    (void)state;
    char host[sizeof DOCKER_HUB_KEY], image[128];
    snprintf(host, sizeof host, "%s", strstr(DOCKER_HUB_KEY, "//") + 2);
    *strchr(host, '/') = '\0';
    const char *const names[] = {host, strchr(host, '.') + 1};
    for (size_t i = 0; i < 2; i++) {
        assert_true(registry_is_same(names[i], DOCKER_HUB_KEY));
        snprintf(image, sizeof image, "%s/library/python", names[i]);
        char *registry = image_registry(image);
        assert_string_equal(registry, DOCKER_HUB_KEY);
        free(registry);
    }
}

static void version_is_the_digest_the_tag_or_latest(void **state)
{
    (void)state;
    static const struct {
        const char *image;
        size_t name_length;
        const char *version;
    } table[] = {
        {"python", 6, "latest"},
        {"python:3-slim", 6, "3-slim"},
        {"localhost:5000/x", 16, "latest"},
        {"localhost:5000/x:y", 16, "y"},
        {"localhost:5000/x@sha256:0123", 16, "sha256:0123"},
        {"localhost:5000/x:y@sha256:0123", 16, "sha256:0123"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const char *version = NULL;
        assert_int_equal(image_name_length(table[i].image, &version), table[i].name_length);
        assert_string_equal(version, table[i].version);
    }
}

static void registries_are_compared_by_their_host(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        bool same;
    } table[] = {
        {"localhost:5000", "localhost:5000", true},
        {"localhost:5000", "http://localhost:5000/v2/", true},
        {"Registry.Example", "https://registry.example", true},
        {"registry.example", "registry.example:443", false},
        {"registry.example", "registry.example.org", false},
        {"https://index.example/v1/", DOCKER_HUB_KEY, false},
        {"", DOCKER_HUB_KEY, false},
        {"", "localhost", false},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        assert_int_equal(registry_is_same(table[i].a, table[i].b), table[i].same);
        assert_int_equal(registry_is_same(table[i].b, table[i].a), table[i].same);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registry_is_the_first_part_where_it_can_be_none_of_a_name),
        cmocka_unit_test(docker_hub_goes_by_more_than_one_name),
        cmocka_unit_test(version_is_the_digest_the_tag_or_latest),
        cmocka_unit_test(registries_are_compared_by_their_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
