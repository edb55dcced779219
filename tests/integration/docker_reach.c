/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_reach.c: the same engine over TCP and TLS, through port_relay.py, with certificates good and bad.
 *
 *     plugin ── TCP, TLS ── port_relay.py ── socket ── engine
 */
#include "docker_support.h"
#include "reach_support.h"
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- relays and certificates ------------------------------------------------------------------- */

static char certificates[300];

static void make_certificates(void)
{
    char command[1024];
    if (certificates[0])
        return;
    snprintf(certificates, sizeof certificates, "%s/certificates", workspace);
    snprintf(command, sizeof command, "%s %s", MAKE_CERTIFICATES, certificates);
    assert_int_equal(system(command), 0); /* NOLINT: a script of ours on a path of ours */
}

/* What the relay's command line says behind the socket. */
static struct port port_open(const char *const *options)
{
    const char *arguments[16] = {"python3", PORT_RELAY, engine->endpoint->socket_path};
    make_certificates();
    for (size_t i = 0; options[i]; i++)
        arguments[3 + i] = options[i];
    return port_start(arguments, certificates);
}
#define OPTIONS(...) ((const char *const[]){__VA_ARGS__, NULL})

static struct port secure_port(void)
{
    return port_open(OPTIONS("--tls", "server.pem", "server-key.pem", "ca.pem"));
}

/* An instance over TLS at PORT, by TLS, the members of that option. */
static code_executor_instance *secure_instance(const struct port *port, const char *tls)
{
    return make_instance("'docker_host': 'tcp://127.0.0.1:%d', 'tls': {%s}", port->number, tls);
}

/* The members of "tls" with files of the certificates' folder. */
static const char *files(const char *ca, const char *cert, const char *key)
{
    static char text[1200];
    snprintf(text, sizeof text, "'ca': '%s/%s'", certificates, ca);
    if (cert)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 ", 'cert': '%s/%s', 'key': '%s/%s'", certificates, cert, certificates, key);
    return text;
}

/* ---- conversations ----------------------------------------------------------------------------- */

static void an_engine_is_spoken_to_over_tcp(void **state)
{
    (void)state;
    struct port port = port_open(OPTIONS(NULL));
    converse(make_instance("'docker_host': 'tcp://127.0.0.1:%d'", port.number));
    port_close(&port);
}

static void an_engine_is_spoken_to_over_ipv6(void **state)
{
    (void)state;
    if (access("/proc/net/if_inet6", F_OK) != 0)
        skip();
    struct port port = port_open(OPTIONS("--address", "::1"));
    code_executor_instance *instance =
        make_instance("'docker_host': 'http://[::1]:%d'", port.number);
    expect_output(instance, "echo six", "six\n");
    docker->destroy(instance);
    port_close(&port);
}

static void an_engine_is_spoken_to_over_tls_with_certificates(void **state)
{
    (void)state;
    struct port port = secure_port();
    converse(secure_instance(&port, files("ca.pem", "cert.pem", "key.pem")));
    port_close(&port);
}

static void the_environment_is_followed_as_docker_follows_it(void **state)
{
    (void)state;
    struct port port = secure_port();
    char address[64], *before = strdup(getenv("DOCKER_HOST") ? getenv("DOCKER_HOST") : "");
    snprintf(address, sizeof address, "tcp://localhost:%d", port.number);
    setenv("DOCKER_HOST", address, 1);
    setenv("DOCKER_TLS_VERIFY", "1", 1);
    setenv("DOCKER_CERT_PATH", certificates, 1);
    code_executor_instance *instance = make_instance("%s", "");
    setenv("DOCKER_HOST", before, 1);
    unsetenv("DOCKER_TLS_VERIFY");
    unsetenv("DOCKER_CERT_PATH");
    free(before);
    expect_output(instance, "echo found", "found\n");
    docker->destroy(instance);
    port_close(&port);
}

/* What the command line of docker has written is read. */
static void a_context_that_docker_made_is_followed(void **state)
{
    (void)state;
    char command[2048], settings[400];
    struct port port = secure_port();
    snprintf(settings, sizeof settings, "%s/settings", workspace);
    setenv("DOCKER_CONFIG", settings, 1);
    snprintf(
        command, sizeof command,
        "docker context create test-reach --docker "
        "host=tcp://127.0.0.1:%d,ca=%s/ca.pem,cert=%s/cert.pem,key=%s/key.pem > /dev/null 2>&1",
        port.number, certificates, certificates, certificates);
    int made = system(command); /* NOLINT */
    code_executor_instance *instance =
        made == 0 ? make_instance("'docker_context': 'test-reach'") : NULL;
    unsetenv("DOCKER_CONFIG");
    assert_non_null(instance);
    expect_output(instance, "echo context", "context\n");
    docker->destroy(instance);
    port_close(&port);
}

struct worker {
    code_executor_instance *instance;
    pthread_t thread;
    int number;
    bool fine;
};

static void *work(void *argument)
{
    struct worker *worker = argument;
    char code[64], expected[64];
    worker->fine = true;
    for (int i = 0; i < 10; i++) {
        snprintf(code, sizeof code, "seq 20000 | tail -n 1; echo %d", 100 * worker->number + i);
        snprintf(expected, sizeof expected, "20000\n%d\n", 100 * worker->number + i);
        code_executor_result *result = NULL;
        struct shell shell = {.code = code, .id = (uint64_t)(1000 * (worker->number + 1) + i)};
        int32_t status = execute_shell(worker->instance, shell, &result, NULL);
        worker->fine = worker->fine && status == CODE_EXECUTOR_OK && result &&
                       strcmp(result->output, expected) == 0;
        docker->result_free(result);
    }
    return NULL;
}

static void blocks_of_many_threads_share_a_connection_over_tls(void **state)
{
    enum { THREADS = 8 };
    (void)state;
    struct port port = secure_port();
    struct worker workers[THREADS];
    code_executor_instance *instance =
        secure_instance(&port, files("ca.pem", "cert.pem", "key.pem"));
    start(instance);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.instance = instance, .number = i};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_true(workers[i].fine);
    }
    docker->destroy(instance);
    port_close(&port);
}

/* ---- refusals ---------------------------------------------------------------------------------- */

/* A server's certificate, what the client has, and what comes of it. */
static const struct {
    const char *server, *server_key;
    const char *ca, *cert, *key;
    int32_t status;
    const char *words[4];
} refusals[] = {
    {"expired.pem",
     "expired-key.pem",
     "ca.pem",
     "cert.pem",
     "key.pem",
     CODE_EXECUTOR_DENIED,
     {"has expired", "Renew it"}},
    {"wrong-name.pem",
     "wrong-name-key.pem",
     "ca.pem",
     "cert.pem",
     "key.pem",
     CODE_EXECUTOR_DENIED,
     {"another name", "subjectAltName"}},
    {"server.pem",
     "server-key.pem",
     "stranger-ca.pem",
     "cert.pem",
     "key.pem",
     CODE_EXECUTOR_DENIED,
     {"not vouched for", "stranger-ca.pem", "tls.ca"}},
    {"server.pem",
     "server-key.pem",
     "ca.pem",
     NULL,
     NULL,
     CODE_EXECUTOR_DENIED,
     {"asks for a client certificate", "tls.cert", "DOCKER_CERT_PATH"}},
    {"server.pem",
     "server-key.pem",
     "ca.pem",
     "stranger.pem",
     "stranger-key.pem",
     CODE_EXECUTOR_DENIED,
     {"does not accept the client certificate", "stranger.pem"}},
    {"server.pem",
     "server-key.pem",
     "ca.pem",
     "expired-client.pem",
     "expired-client-key.pem",
     CODE_EXECUTOR_DENIED,
     {"does not accept the client certificate", "expired-client.pem"}},
    {"server.pem",
     "server-key.pem",
     "ca.pem",
     "cert.pem",
     "server-key.pem",
     CODE_EXECUTOR_INVALID,
     {"cert.pem", "server-key.pem", "belong together"}},
    {"server.pem",
     "server-key.pem",
     "none.pem",
     "cert.pem",
     "key.pem",
     CODE_EXECUTOR_NOT_FOUND,
     {"none.pem", "No such file"}},
    {"server.pem",
     "server-key.pem",
     "ca.pem",
     "none.pem",
     "key.pem",
     CODE_EXECUTOR_NOT_FOUND,
     {"none.pem", "No such file"}},
    /* a read of these would never come to an end */
    {"server.pem",
     "server-key.pem",
     "fifo.pem",
     "cert.pem",
     "key.pem",
     CODE_EXECUTOR_INVALID,
     {"fifo.pem", "no certificates", "PEM"}},
    {"server.pem",
     "server-key.pem",
     "ca.pem",
     "fifo.pem",
     "key.pem",
     CODE_EXECUTOR_INVALID,
     {"fifo.pem", "PEM"}},
    {"server.pem",
     "server-key.pem",
     "ca.pem",
     "cert.pem",
     "fifo.pem",
     CODE_EXECUTOR_INVALID,
     {"fifo.pem", "PEM"}},
    {"server.pem",
     "server-key.pem",
     "key.pem",
     "cert.pem",
     "key.pem",
     CODE_EXECUTOR_INVALID,
     {"key.pem", "no certificates", "PEM"}},
};

static void each_bad_certificate_says_what_is_wrong_and_what_to_do(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        struct port port =
            port_open(OPTIONS("--tls", refusals[i].server, refusals[i].server_key, "ca.pem"));
        code_executor_instance *instance =
            secure_instance(&port, files(refusals[i].ca, refusals[i].cert, refusals[i].key));
        expect_start_fails(instance, refusals[i].status, refusals[i].words);
        port_close(&port);
    }
}

static void a_refusal_without_a_word_is_taken_for_one(void **state)
{
    (void)state;
    struct port port =
        port_open(OPTIONS("--abrupt", "--tls", "server.pem", "server-key.pem", "ca.pem"));
    expect_start_fails(secure_instance(&port, files("ca.pem", NULL, NULL)), CODE_EXECUTOR_DENIED,
                       WORDS("client certificate", "tls.cert"));
    port_close(&port);
}

static void without_verification_any_certificate_will_do(void **state)
{
    (void)state;
    struct port port = port_open(OPTIONS("--tls", "expired.pem", "expired-key.pem"));
    code_executor_instance *instance = secure_instance(&port, "'verify': false");
    expect_output(instance, "echo trusting", "trusting\n");
    docker->destroy(instance);
    port_close(&port);
}

static void tls_at_a_plain_port_says_so(void **state)
{
    (void)state;
    struct port port = port_open(OPTIONS(NULL));
    expect_start_fails(secure_instance(&port, files("ca.pem", NULL, NULL)), CODE_EXECUTOR_PROTOCOL,
                       WORDS("no TLS comes about", "without TLS", "http://"));
    port_close(&port);
}

static void no_tls_at_a_secure_port_says_so(void **state)
{
    (void)state;
    struct port port = secure_port();
    expect_start_fails(make_instance("'docker_host': 'tcp://127.0.0.1:%d'", port.number),
                       CODE_EXECUTOR_PROTOCOL,
                       WORDS("listens with TLS", "DOCKER_TLS_VERIFY", "docker_host"));
    port_close(&port);
}

static void nobody_at_the_port_says_so(void **state)
{
    (void)state;
    struct port port = port_open(OPTIONS(NULL));
    port_close(&port);
    expect_start_fails(make_instance("'docker_host': 'tcp://127.0.0.1:%d'", port.number),
                       CODE_EXECUTOR_UNAVAILABLE,
                       WORDS("nobody listens", "127.0.0.1", "docker_host", "2376"));
}

static void a_name_that_nobody_knows_says_so(void **state)
{
    (void)state;
    expect_start_fails(make_instance("'docker_host': 'tcp://engine.invalid:2375'"),
                       CODE_EXECUTOR_UNAVAILABLE, WORDS("engine.invalid", "resolve"));
}

/* ---- the engine goes away ---------------------------------------------------------------------- */

static void *kill_soon(void *argument)
{
    struct port *port = argument;
    pause_ms(700);
    kill(port->pid, SIGKILL);
    return NULL;
}

/* The code reads nothing, so that the host is still writing when the other side dies. */
static void expect_lost_while_writing(code_executor_instance *instance, struct port *port)
{
    enum { SIZE = 8000000 };
    code_executor_result *result = NULL;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    pthread_t killer;
    char *input = calloc(1, SIZE);
    assert_non_null(input);
    struct shell shell = {.code = "sleep 60", .input = input, .input_length = SIZE};
    start(instance);
    assert_int_equal(pthread_create(&killer, NULL, kill_soon, port), 0);
    int32_t status = execute_shell(instance, shell, &result, &error);
    if (status != CODE_EXECUTOR_LOST && status != CODE_EXECUTOR_UNAVAILABLE)
        fail_msg("status %d: %s", status, error.message);
    pthread_join(killer, NULL);
    docker->result_free(result);
    docker->destroy(instance);
    free(input);
}

/* SIGPIPE would kill this process: its disposition is the default one. */
static void an_engine_that_dies_takes_nobody_along(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_DFL);
    struct port plain = port_open(OPTIONS(NULL));
    expect_lost_while_writing(make_instance("'docker_host': 'tcp://127.0.0.1:%d'", plain.number),
                              &plain);
    port_close(&plain);
    struct port secure = secure_port();
    expect_lost_while_writing(secure_instance(&secure, files("ca.pem", "cert.pem", "key.pem")),
                              &secure);
    port_close(&secure);
    expect_container_count(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_engine_is_spoken_to_over_tcp),
        cmocka_unit_test(an_engine_is_spoken_to_over_ipv6),
        cmocka_unit_test(an_engine_is_spoken_to_over_tls_with_certificates),
        cmocka_unit_test(the_environment_is_followed_as_docker_follows_it),
        cmocka_unit_test(a_context_that_docker_made_is_followed),
        cmocka_unit_test(blocks_of_many_threads_share_a_connection_over_tls),
        cmocka_unit_test(each_bad_certificate_says_what_is_wrong_and_what_to_do),
        cmocka_unit_test(a_refusal_without_a_word_is_taken_for_one),
        cmocka_unit_test(without_verification_any_certificate_will_do),
        cmocka_unit_test(tls_at_a_plain_port_says_so),
        cmocka_unit_test(no_tls_at_a_secure_port_says_so),
        cmocka_unit_test(nobody_at_the_port_says_so),
        cmocka_unit_test(a_name_that_nobody_knows_says_so),
        cmocka_unit_test(an_engine_that_dies_takes_nobody_along),
    };
    return docker_test_main("docker_reach", tests, sizeof tests / sizeof tests[0]);
}
