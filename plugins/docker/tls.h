/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls.h: what a connection over TLS is made with: whom to believe, and who we are.
 */
#ifndef CODE_EXECUTOR_DOCKER_TLS_H
#define CODE_EXECUTOR_DOCKER_TLS_H

#include "error.h"
#include <curl/curl.h>
#include <json-c/json.h>
#include <stdbool.h>

struct tls {
    bool wanted; /* false: nothing was said about TLS */
    bool verify; /* that the engine is who its certificate says, and that ca vouches for it */
    char *ca;    /* paths of PEM files; NULL: the authorities that the system trusts */
    char *cert;  /* NULL: no client certificate */
    char *key;
};

/* The value of the option "tls": an object that follows the schema, or NULL. */
int32_t tls_from_option(json_object *option, struct tls *tls, code_executor_error *error);

/* DOCKER_TLS_VERIFY, DOCKER_TLS and DOCKER_CERT_PATH, as docker reads them. */
int32_t tls_from_environment(struct tls *tls, code_executor_error *error);

/* What a docker context keeps: ca.pem, cert.pem and key.pem, as many as there are, in FOLDER. */
int32_t tls_from_folder(const char *folder, bool skip_verify, struct tls *tls,
                        code_executor_error *error);

void tls_clear(struct tls *tls);

/* Tells a handle. False: no memory. */
bool tls_apply(const struct tls *tls, CURL *easy);

/* Whether CODE, with libcurl's own WORDS, is a failure of TLS; then ERROR says what it means and what to
 * do, and *STATUS is it. PEER is the address. */
bool tls_explain(const struct tls *tls, CURL *easy, CURLcode code, const char *words,
                 const char *peer, int32_t *status, code_executor_error *error);

/* The engine ended its first connection without a word, or the word got lost. */
int32_t tls_explain_silence(const struct tls *tls, const char *peer, code_executor_error *error);

#endif /* CODE_EXECUTOR_DOCKER_TLS_H */
