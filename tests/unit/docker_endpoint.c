/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_endpoint.c: which engine is chosen, by what is configured, in the environment and in docker's own
 * settings; and what becomes of every form of address.
 */
#include "config.h"
#include "endpoint.h"
#include "schema.h"
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* SHA-256 of "far" and of "secure": so contexts are filed. */
#define FAR    "512eea46ceb3921dff4363c7069d89d4964d1d9fccaa0f411851a7aa60a5c868"
#define SECURE "6a934b45144e3758911efa29ed68fb2d420fa7bd568739cdcda9251fa9609b1e"

static char folder[64];

static const char *const variables[] = {"DOCKER_HOST",    "DOCKER_CONTEXT",   "DOCKER_TLS_VERIFY",
                                        "DOCKER_TLS",     "DOCKER_CERT_PATH", "DOCKER_CONFIG",
                                        "XDG_RUNTIME_DIR"};

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
}

/* Nothing in the environment, and an empty home. */
static int set_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        unsetenv(variables[i]);
    snprintf(folder, sizeof folder, "/tmp/code_executor-endpoint-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    return setenv("HOME", folder, 1);
}

static int tear_down(void **state)
{
    (void)state;
    return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Makes the folders above it too. */
static void write_file(const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int32_t choose(const char *members, struct endpoint *chosen, code_executor_error *error)
{
    char text[1024];
    json_object *config = NULL;
    snprintf(text, sizeof text, "{%s}", members);
    for (char *at = text; *at; at++)
        *at = *at == '\'' ? '"' : *at;
    assert_int_equal(config_read(DOCKER_SCHEMA, text, &config, error), CODE_EXECUTOR_OK);
    int32_t status = endpoint_choose(config, chosen, error);
    json_object_put(config);
    return status;
}

static void expect_address(const char *members, const char *address, const char *origin)
{
    struct endpoint chosen;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    if (choose(members, &chosen, &error) != CODE_EXECUTOR_OK)
        fail_msg("%s: %s", members, error.message);
    assert_string_equal(chosen.address, address);
    assert_non_null(strstr(chosen.origin, origin));
    endpoint_clear(&chosen);
}

static void expect_refused(const char *members, int32_t status, const char *const *words)
{
    struct endpoint chosen;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    assert_int_equal(choose(members, &chosen, &error), status);
    for (; *words; words++)
        if (!strstr(error.message, *words))
            fail_msg("%s: \"%s\" is not in: %s", members, *words, error.message);
    endpoint_clear(&chosen);
}
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* ---- addresses --------------------------------------------------------------------------------- */

static const struct {
    const char *address;
    const char *base_url;
    const char *host_header;
    const char *socket; /* or NULL */
} taken[] = {
    {"unix:///run/docker.sock", "http://docker", "docker", "/run/docker.sock"},
    {"UNIX:///run/docker.sock", "http://docker", "docker", "/run/docker.sock"},
    {"/run/docker.sock", "http://docker", "docker", "/run/docker.sock"},
    {"unix://", "http://docker", "docker", "/var/run/docker.sock"},
    {"tcp://127.0.0.1:4243", "http://127.0.0.1:4243", "127.0.0.1:4243", NULL},
    {"tcp://127.0.0.1:4243/", "http://127.0.0.1:4243", "127.0.0.1:4243", NULL},
    {"tcp://127.0.0.1", "http://127.0.0.1:2375", "127.0.0.1:2375", NULL},
    {"tcp://[::1]:4243", "http://[::1]:4243", "[::1]:4243", NULL},
    {"tcp://[::1]", "http://[::1]:2375", "[::1]:2375", NULL},
    {"tcp://engine.test:4243/behind/proxy/", "http://engine.test:4243/behind/proxy",
     "engine.test:4243", NULL},
    {"localhost:4243", "http://localhost:4243", "localhost:4243", NULL},
    {"http://engine.test", "http://engine.test", "engine.test", NULL},
    {"http://engine.test:4243", "http://engine.test:4243", "engine.test:4243", NULL},
    {"https://engine.test", "https://engine.test", "engine.test", NULL},
    {"https://[::1]:4243", "https://[::1]:4243", "[::1]:4243", NULL},
};

static void every_form_of_address_is_taken(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++) {
        struct endpoint chosen;
        code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
        setenv("DOCKER_HOST", taken[i].address, 1);
        if (choose("", &chosen, &error) != CODE_EXECUTOR_OK)
            fail_msg("%s: %s", taken[i].address, error.message);
        assert_string_equal(chosen.base_url, taken[i].base_url);
        assert_string_equal(chosen.host_header, taken[i].host_header);
        assert_int_equal(chosen.socket_path != NULL, taken[i].socket != NULL);
        if (taken[i].socket)
            assert_string_equal(chosen.socket_path, taken[i].socket);
        endpoint_clear(&chosen);
    }
}

static const char *const garbage[] = {
    "garbage",        "nonsense://x",  "tcp://",        "tcp://:2375",
    "tcp://a b:1",    "tcp://a:b",     "tcp://a:99999", "tcp://[::1:2375",
    "tcp://u@a:2375", "tcp://a:1?x=y", "tcp://a:1#x",   "unix://relative",
    "http://",        "https://",      "ssh://",        "ssh://-oX=y",
    "ssh://-u@a",     "ssh://u@-a",    "ssh://a/x y",   "ssh://a/$(x)",
    "ssh://a/x;y",    "ssh://u%20v@a", "ssh://u%24x@a", "npipe:////./pipe/docker_engine",
    "fd://",          "tcp://a\n:1",   "://",           ":2375",
    "tcp://a:1://b",
};

static void garbage_is_refused_by_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof garbage / sizeof garbage[0]; i++) {
        struct endpoint chosen;
        code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
        setenv("DOCKER_HOST", garbage[i], 1);
        int32_t status = choose("", &chosen, &error);
        if (status != CODE_EXECUTOR_INVALID && status != CODE_EXECUTOR_UNSUPPORTED)
            fail_msg("%s: status %d", garbage[i], status);
        assert_non_null(strstr(error.message, "DOCKER_HOST"));
        assert_non_null(strstr(error.message, garbage[i]));
        endpoint_clear(&chosen);
    }
}

static void named_pipes_are_refused_with_words(void **state)
{
    (void)state;
    expect_refused("'docker_host': 'npipe:////./pipe/docker_engine'", CODE_EXECUTOR_UNSUPPORTED,
                   WORDS("docker_host", "Windows", "unix://"));
}

static void a_path_that_is_too_long_says_how_long_it_may_be(void **state)
{
    (void)state;
    char address[300];
    snprintf(address, sizeof address, "unix:///%0200d", 0);
    setenv("DOCKER_HOST", address, 1);
    expect_refused("", CODE_EXECUTOR_INVALID, WORDS("DOCKER_HOST", "at most 107 bytes"));
}

static void a_password_is_refused_and_not_repeated(void **state)
{
    (void)state;
    struct endpoint chosen;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    assert_int_equal(choose("'docker_host': 'ssh://u:secret@host'", &chosen, &error),
                     CODE_EXECUTOR_INVALID);
    assert_non_null(strstr(error.message, "password"));
    assert_null(strstr(error.message, "secret"));
    endpoint_clear(&chosen);
}

static void an_address_of_ssh_is_taken_apart(void **state)
{
    (void)state;
    struct endpoint chosen;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    setenv("DOCKER_HOST", "ssh://me@engine.test:2222/run/user/1000/podman.sock", 1);
    assert_int_equal(choose("", &chosen, &error), CODE_EXECUTOR_OK);
    assert_int_equal(chosen.kind, ENDPOINT_SSH);
    assert_string_equal(chosen.ssh_user, "me");
    assert_string_equal(chosen.ssh_host, "engine.test");
    assert_string_equal(chosen.ssh_port, "2222");
    assert_string_equal(chosen.ssh_socket, "/run/user/1000/podman.sock");
    endpoint_clear(&chosen);
    setenv("DOCKER_HOST", "ssh://[::1]", 1);
    assert_int_equal(choose("", &chosen, &error), CODE_EXECUTOR_OK);
    assert_string_equal(chosen.ssh_host, "::1");
    assert_null(chosen.ssh_user);
    assert_null(chosen.ssh_port);
    assert_null(chosen.ssh_socket);
    endpoint_clear(&chosen);
}

/* ---- precedence -------------------------------------------------------------------------------- */

static void make_contexts(void)
{
    write_file(".docker/contexts/meta/" FAR "/meta.json",
               "{\"Name\":\"far\",\"Metadata\":{},\"Endpoints\":{\"docker\":{"
               "\"Host\":\"tcp://far.test:4243\",\"SkipTLSVerify\":false}}}");
    write_file(".docker/contexts/meta/" SECURE "/meta.json",
               "{\"Name\":\"secure\",\"Metadata\":{},\"Endpoints\":{\"docker\":{"
               "\"Host\":\"tcp://secure.test\",\"SkipTLSVerify\":false}}}");
    write_file(".docker/contexts/tls/" SECURE "/docker/ca.pem", "ca");
    write_file(".docker/contexts/tls/" SECURE "/docker/cert.pem", "cert");
    write_file(".docker/contexts/tls/" SECURE "/docker/key.pem", "key");
}

static void nothing_given_means_the_default_socket(void **state)
{
    (void)state;
    struct endpoint chosen;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    assert_int_equal(choose("", &chosen, &error), CODE_EXECUTOR_OK);
    assert_string_equal(chosen.address, "unix:///var/run/docker.sock");
    assert_true(chosen.by_default);
    assert_null(chosen.warning);
    endpoint_clear(&chosen);
}

/* Each line is set beside those below it, and counts before them. */
static void what_is_nearer_counts_before_what_is_farther(void **state)
{
    (void)state;
    make_contexts();
    write_file(".docker/config.json", "{\"currentContext\": \"far\"}");
    expect_address("", "tcp://far.test:4243", "config.json");
    setenv("DOCKER_CONTEXT", "secure", 1);
    expect_address("", "tcp://secure.test", "DOCKER_CONTEXT");
    setenv("DOCKER_HOST", "tcp://host.test:1", 1);
    expect_address("", "tcp://host.test:1", "DOCKER_HOST");
    expect_address("'docker_context': 'far'", "tcp://far.test:4243", "docker_context");
    expect_address("'docker_host': 'tcp://option.test:1'", "tcp://option.test:1", "docker_host");
}

static void empty_variables_count_as_unset(void **state)
{
    (void)state;
    make_contexts();
    write_file(".docker/config.json", "{\"currentContext\": \"far\"}");
    setenv("DOCKER_HOST", "", 1);
    setenv("DOCKER_CONTEXT", "", 1);
    expect_address("", "tcp://far.test:4243", "config.json");
}

static void the_context_default_stands_for_what_is_without_contexts(void **state)
{
    (void)state;
    make_contexts();
    write_file(".docker/config.json", "{\"currentContext\": \"far\"}");
    expect_address("'docker_context': 'default'", "unix:///var/run/docker.sock", "default");
    setenv("DOCKER_CONTEXT", "default", 1);
    expect_address("", "unix:///var/run/docker.sock", "default");
    setenv("DOCKER_HOST", "tcp://host.test:1", 1);
    expect_address("'docker_context': 'default'", "tcp://host.test:1", "DOCKER_HOST");
}

static void two_engines_at_once_are_refused(void **state)
{
    (void)state;
    expect_refused("'docker_host': 'tcp://a:1', 'docker_context': 'far'", CODE_EXECUTOR_INVALID,
                   WORDS("docker_host", "docker_context"));
}

static void the_folder_of_settings_may_be_elsewhere(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/elsewhere", folder);
    setenv("DOCKER_CONFIG", path, 1);
    write_file("elsewhere/contexts/meta/" FAR "/meta.json",
               "{\"Endpoints\":{\"docker\":{\"Host\":\"tcp://elsewhere.test:1\"}}}");
    write_file("elsewhere/config.json", "{\"currentContext\": \"far\"}");
    expect_address("", "tcp://elsewhere.test:1", "elsewhere/config.json");
}

static void a_context_that_is_not_there_says_where_it_was_looked_for(void **state)
{
    (void)state;
    expect_refused("'docker_context': 'far'", CODE_EXECUTOR_NOT_FOUND,
                   WORDS("\"far\"", "docker_context", FAR, "docker context ls"));
}

static void a_broken_context_is_named(void **state)
{
    (void)state;
    write_file(".docker/contexts/meta/" FAR "/meta.json", "{");
    expect_refused("'docker_context': 'far'", CODE_EXECUTOR_INVALID, WORDS("\"far\"", FAR, "JSON"));
    write_file(".docker/contexts/meta/" FAR "/meta.json", "{}");
    expect_refused("'docker_context': 'far'", CODE_EXECUTOR_INVALID,
                   WORDS("\"far\"", "Endpoints.docker"));
    write_file(".docker/contexts/meta/" FAR "/meta.json",
               "{\"Endpoints\":{\"docker\":{\"Host\":\"what\"}}}");
    expect_refused("'docker_context': 'far'", CODE_EXECUTOR_UNSUPPORTED,
                   WORDS("\"what\"", "context far"));
}

static void broken_settings_are_left_out_with_a_warning(void **state)
{
    (void)state;
    struct endpoint chosen;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    write_file(".docker/config.json", "{\"currentContext\": ");
    assert_int_equal(choose("", &chosen, &error), CODE_EXECUTOR_OK);
    assert_string_equal(chosen.address, "unix:///var/run/docker.sock");
    assert_non_null(chosen.warning);
    assert_non_null(strstr(chosen.warning, ".docker/config.json"));
    endpoint_clear(&chosen);
}

static void settings_of_other_types_are_none(void **state)
{
    (void)state;
    static const char *const texts[] = {"[]", "{\"currentContext\": 7}", "null",
                                        "{\"currentContext\": \"\"}"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        write_file(".docker/config.json", texts[i]);
        expect_address("", "unix:///var/run/docker.sock", "default");
    }
}

static void a_fifo_in_place_of_settings_holds_nobody_up(void **state)
{
    (void)state;
    char path[128];
    write_file(".docker/other", "");
    snprintf(path, sizeof path, "%s/.docker/config.json", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_address("", "unix:///var/run/docker.sock", "default");
}

/* ---- TLS --------------------------------------------------------------------------------------- */

static void expect_tls(const char *members, const char *base_url, bool verify, const char *ca,
                       const char *cert)
{
    struct endpoint chosen;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    if (choose(members, &chosen, &error) != CODE_EXECUTOR_OK)
        fail_msg("%s: %s", members, error.message);
    assert_string_equal(chosen.base_url, base_url);
    assert_true(chosen.tls.wanted);
    assert_int_equal(chosen.tls.verify, verify);
    assert_int_equal(chosen.tls.ca != NULL, ca != NULL);
    assert_int_equal(chosen.tls.cert != NULL, cert != NULL);
    assert_int_equal(chosen.tls.key != NULL, cert != NULL);
    if (ca)
        assert_non_null(strstr(chosen.tls.ca, ca));
    if (cert)
        assert_non_null(strstr(chosen.tls.cert, cert));
    endpoint_clear(&chosen);
}

static void a_context_brings_its_own_certificates(void **state)
{
    (void)state;
    make_contexts();
    expect_tls("'docker_context': 'secure'", "https://secure.test:2376", true,
               "contexts/tls/" SECURE "/docker/ca.pem", "docker/cert.pem");
}

static void a_context_may_skip_verification(void **state)
{
    (void)state;
    write_file(".docker/contexts/meta/" FAR "/meta.json",
               "{\"Endpoints\":{\"docker\":{\"Host\":\"tcp://far.test:4243\","
               "\"SkipTLSVerify\":true}}}");
    expect_tls("'docker_context': 'far'", "https://far.test:4243", false, NULL, NULL);
}

static void the_environment_asks_for_tls(void **state)
{
    (void)state;
    char path[128];
    setenv("DOCKER_HOST", "tcp://host.test", 1);
    setenv("DOCKER_TLS_VERIFY", "1", 1);
    write_file(".docker/ca.pem", "ca");
    expect_tls("", "https://host.test:2376", true, ".docker/ca.pem", NULL);
    write_file(".docker/cert.pem", "cert");
    write_file(".docker/key.pem", "key");
    expect_tls("", "https://host.test:2376", true, ".docker/ca.pem", ".docker/cert.pem");
    write_file("certs/ca.pem", "ca");
    snprintf(path, sizeof path, "%s/certs", folder);
    setenv("DOCKER_CERT_PATH", path, 1);
    expect_tls("", "https://host.test:2376", true, "certs/ca.pem", NULL);
    unsetenv("DOCKER_TLS_VERIFY");
    setenv("DOCKER_TLS", "1", 1);
    expect_tls("", "https://host.test:2376", false, "certs/ca.pem", NULL);
}

static void tls_without_a_host_is_the_local_port(void **state)
{
    (void)state;
    setenv("DOCKER_TLS_VERIFY", "1", 1);
    write_file(".docker/ca.pem", "ca");
    expect_tls("", "https://localhost:2376", true, ".docker/ca.pem", NULL);
}

static void a_missing_authority_is_told_in_create(void **state)
{
    (void)state;
    setenv("DOCKER_HOST", "tcp://host.test", 1);
    setenv("DOCKER_TLS_VERIFY", "1", 1);
    expect_refused("", CODE_EXECUTOR_NOT_FOUND,
                   WORDS("DOCKER_TLS_VERIFY", "ca.pem", folder, "DOCKER_CERT_PATH"));
}

static void the_option_replaces_what_the_environment_says(void **state)
{
    (void)state;
    setenv("DOCKER_HOST", "tcp://host.test", 1);
    setenv("DOCKER_TLS", "1", 1);
    expect_tls("'tls': {'ca': '/own/ca', 'cert': '/own/cert', 'key': '/own/key'}",
               "https://host.test:2376", true, "/own/ca", "/own/cert");
    expect_tls("'tls': {'verify': false}", "https://host.test:2376", false, NULL, NULL);
    expect_tls("'tls': {}", "https://host.test:2376", true, NULL, NULL);
}

static void https_is_tls_without_further_words(void **state)
{
    (void)state;
    expect_tls("'docker_host': 'https://host.test'", "https://host.test", true, NULL, NULL);
}

static void relative_files_count_from_the_current_folder(void **state)
{
    (void)state;
    char current[512], expected[600];
    assert_non_null(getcwd(current, sizeof current));
    snprintf(expected, sizeof expected, "%s/certs/ca", current);
    expect_tls("'docker_host': 'tcp://a:1', 'tls': {'ca': 'certs/ca'}", "https://a:1", true,
               expected, NULL);
}

static void certificate_and_key_go_together(void **state)
{
    (void)state;
    expect_refused("'docker_host': 'tcp://a:1', 'tls': {'cert': '/c'}", CODE_EXECUTOR_INVALID,
                   WORDS("tls.cert", "tls.key"));
    expect_refused("'docker_host': 'tcp://a:1', 'tls': {'key': '/k'}", CODE_EXECUTOR_INVALID,
                   WORDS("tls.cert", "tls.key"));
}

static void tls_where_there_is_none_is_a_mistake(void **state)
{
    (void)state;
    static const char *const hosts[] = {"unix:///run/docker.sock", "ssh://host", "http://host",
                                        "/run/docker.sock"};
    char members[128];
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        snprintf(members, sizeof members, "'docker_host': '%s', 'tls': {}", hosts[i]);
        expect_refused(members, CODE_EXECUTOR_INVALID, WORDS("tls", hosts[i], "tcp://"));
    }
}

static void a_socket_has_no_tls_whatever_the_environment_says(void **state)
{
    (void)state;
    struct endpoint chosen;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    setenv("DOCKER_TLS_VERIFY", "1", 1);
    write_file(".docker/ca.pem", "ca");
    assert_int_equal(choose("'docker_host': 'unix:///run/docker.sock'", &chosen, &error),
                     CODE_EXECUTOR_OK);
    assert_false(chosen.tls.wanted);
    endpoint_clear(&chosen);
}

/* ---- one and the same -------------------------------------------------------------------------- */

static char *identity_now(void)
{
    struct endpoint chosen;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    if (choose("'docker_host': 'tcp://engine.test:2376'", &chosen, &error) != CODE_EXECUTOR_OK)
        fail_msg("%s", error.message);
    char *identity = endpoint_identity(&chosen);
    assert_non_null(identity);
    endpoint_clear(&chosen);
    return identity;
}

/* Who shares what an endpoint leads to (a pool) must have got there by the same right. */
static void another_way_of_tls_makes_another_endpoint(void **state)
{
    (void)state;
    char paths[2][128];
    char *identities[5];
    for (size_t i = 0; i < 2; i++) {
        char name[32];
        snprintf(name, sizeof name, "certs-%zu/ca.pem", i);
        write_file(name, "");
        snprintf(paths[i], sizeof paths[i], "%s/certs-%zu", folder, i);
    }
    identities[0] = identity_now();
    setenv("DOCKER_TLS_VERIFY", "1", 1);
    setenv("DOCKER_CERT_PATH", paths[0], 1);
    identities[1] = identity_now();
    setenv("DOCKER_CERT_PATH", paths[1], 1);
    identities[2] = identity_now();
    unsetenv("DOCKER_TLS_VERIFY");
    setenv("DOCKER_TLS", "1", 1);
    identities[3] = identity_now();
    identities[4] = identity_now();
    for (size_t i = 0; i < 4; i++)
        for (size_t k = i + 1; k < 4; k++)
            assert_string_not_equal(identities[i], identities[k]);
    assert_string_equal(identities[3], identities[4]);
    for (size_t i = 0; i < 5; i++)
        free(identities[i]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_form_of_address_is_taken),
        TEST(garbage_is_refused_by_name),
        TEST(named_pipes_are_refused_with_words),
        TEST(a_path_that_is_too_long_says_how_long_it_may_be),
        TEST(a_password_is_refused_and_not_repeated),
        TEST(an_address_of_ssh_is_taken_apart),
        TEST(nothing_given_means_the_default_socket),
        TEST(what_is_nearer_counts_before_what_is_farther),
        TEST(empty_variables_count_as_unset),
        TEST(the_context_default_stands_for_what_is_without_contexts),
        TEST(two_engines_at_once_are_refused),
        TEST(the_folder_of_settings_may_be_elsewhere),
        TEST(a_context_that_is_not_there_says_where_it_was_looked_for),
        TEST(a_broken_context_is_named),
        TEST(broken_settings_are_left_out_with_a_warning),
        TEST(settings_of_other_types_are_none),
        TEST(a_fifo_in_place_of_settings_holds_nobody_up),
        TEST(a_context_brings_its_own_certificates),
        TEST(a_context_may_skip_verification),
        TEST(the_environment_asks_for_tls),
        TEST(tls_without_a_host_is_the_local_port),
        TEST(a_missing_authority_is_told_in_create),
        TEST(the_option_replaces_what_the_environment_says),
        TEST(https_is_tls_without_further_words),
        TEST(relative_files_count_from_the_current_folder),
        TEST(certificate_and_key_go_together),
        TEST(tls_where_there_is_none_is_a_mistake),
        TEST(a_socket_has_no_tls_whatever_the_environment_says),
        TEST(another_way_of_tls_makes_another_endpoint),
    };
    return cmocka_run_group_tests_name("docker_endpoint", tests, NULL, NULL);
}
