/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls.c: see tls.h.
 *
 * Where a file of authorities is given, it alone is believed: what the system trusts is not added, or any
 * authority in the world could vouch for the engine.
 */
#include "tls.h"
#include "absolute_path.h"
#include "docker_config.h"
#include <errno.h>
#include <openssl/x509_vfy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int32_t no_memory(code_executor_error *error)
{
    return error_set(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
}

/* ---- where it comes from ----------------------------------------------------------------------- */

static int32_t take_path(json_object *option, const char *key, char **path,
                         code_executor_error *error)
{
    char name[32];
    json_object *given = NULL;
    json_object_object_get_ex(option, key, &given);
    snprintf(name, sizeof name, "tls.%s", key);
    if (!given)
        return CODE_EXECUTOR_OK;
    return absolute_path(name, json_object_get_string(given), path, error);
}

int32_t tls_from_option(json_object *option, struct tls *tls, code_executor_error *error)
{
    json_object *verify = NULL;
    *tls = (struct tls){0};
    if (!option)
        return CODE_EXECUTOR_OK;
    json_object_object_get_ex(option, "verify", &verify);
    tls->wanted = true;
    tls->verify = json_object_get_boolean(verify);
    int32_t status = take_path(option, "ca", &tls->ca, error);
    if (status == CODE_EXECUTOR_OK)
        status = take_path(option, "cert", &tls->cert, error);
    if (status == CODE_EXECUTOR_OK)
        status = take_path(option, "key", &tls->key, error);
    if (status == CODE_EXECUTOR_OK && !tls->cert != !tls->key)
        status = error_set(error, CODE_EXECUTOR_INVALID,
                           "tls.%s is given without tls.%s: a client certificate and its key go "
                           "together",
                           tls->cert ? "cert" : "key", tls->cert ? "key" : "cert");
    return status;
}

/* *PATH stays NULL where there is no such file. */
static bool take_file(const char *folder, const char *name, char **path)
{
    if (asprintf(path, "%s/%s", folder, name) < 0) {
        *path = NULL;
        return false;
    }
    if (access(*path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)) {
        free(*path);
        *path = NULL;
    }
    return true;
}

static int32_t take_folder(const char *folder, struct tls *tls, code_executor_error *error)
{
    bool whole = take_file(folder, "ca.pem", &tls->ca) &&
                 take_file(folder, "cert.pem", &tls->cert) &&
                 take_file(folder, "key.pem", &tls->key);
    if (!whole)
        return no_memory(error);
    if (!tls->cert != !tls->key)
        return error_set(error, CODE_EXECUTOR_INVALID,
                         "%s has %s.pem and no %s.pem: a client certificate and its key go "
                         "together",
                         folder, tls->cert ? "cert" : "key", tls->cert ? "key" : "cert");
    return CODE_EXECUTOR_OK;
}

int32_t tls_from_folder(const char *folder, bool skip_verify, struct tls *tls,
                        code_executor_error *error)
{
    *tls = (struct tls){0};
    int32_t status = take_folder(folder, tls, error);
    tls->wanted = skip_verify || tls->ca || tls->cert;
    tls->verify = !skip_verify;
    return status;
}

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);
    return value && value[0];
}

/* As for docker, any value of the two variables counts as yes. */
int32_t tls_from_environment(struct tls *tls, code_executor_error *error)
{
    *tls = (struct tls){0};
    if (!is_set("DOCKER_TLS_VERIFY") && !is_set("DOCKER_TLS"))
        return CODE_EXECUTOR_OK;
    tls->wanted = true;
    tls->verify = is_set("DOCKER_TLS_VERIFY");
    char *folder = NULL;
    int32_t status = CODE_EXECUTOR_OK;
    if (is_set("DOCKER_CERT_PATH"))
        status = absolute_path("DOCKER_CERT_PATH", getenv("DOCKER_CERT_PATH"), &folder, error);
    else
        folder = docker_config_folder();
    if (status == CODE_EXECUTOR_OK && !folder)
        status = no_memory(error);
    if (status == CODE_EXECUTOR_OK)
        status = take_folder(folder, tls, error);
    if (status == CODE_EXECUTOR_OK && tls->verify && !tls->ca)
        status = error_set(error, CODE_EXECUTOR_NOT_FOUND,
                           "DOCKER_TLS_VERIFY is set, and there is no ca.pem in %s: put it there, "
                           "or name the folder in DOCKER_CERT_PATH",
                           folder);
    free(folder);
    return status;
}

void tls_clear(struct tls *tls)
{
    free(tls->ca);
    free(tls->cert);
    free(tls->key);
    *tls = (struct tls){0};
}

/* ---- libcurl ----------------------------------------------------------------------------------- */

/* OpenSSL opens what it is given and reads to the end, which with a fifo never comes, whoever wants to cancel. A
 * file that is none holds nothing. */
static const char *only_file(const char *path)
{
    struct stat status;
    bool other = stat(path, &status) == 0 && !S_ISREG(status.st_mode);
    return other ? "/dev/null" : path;
}

bool tls_apply(const struct tls *tls, CURL *easy)
{
    curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, tls->verify ? 1L : 0L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, tls->verify ? 2L : 0L);
    if (tls->ca && (curl_easy_setopt(easy, CURLOPT_CAPATH, NULL) != CURLE_OK ||
                    curl_easy_setopt(easy, CURLOPT_CAINFO, only_file(tls->ca)) != CURLE_OK))
        return false;
    return !tls->cert ||
           (curl_easy_setopt(easy, CURLOPT_SSLCERT, only_file(tls->cert)) == CURLE_OK &&
            curl_easy_setopt(easy, CURLOPT_SSLKEY, only_file(tls->key)) == CURLE_OK);
}

/* ---- what went wrong --------------------------------------------------------------------------- */

/* The first of our own files that cannot be read; errno says why. */
static const char *unreadable(const struct tls *tls)
{
    const char *const files[] = {tls->ca, tls->cert, tls->key};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (files[i] && access(files[i], R_OK) != 0)
            return files[i];
    return NULL;
}

static int32_t explain_file(const struct tls *tls, CURLcode code, const char *words,
                            const char *peer, code_executor_error *error)
{
    const char *file = unreadable(tls);
    if (file)
        return error_set_errno(
            error, errno == EACCES ? CODE_EXECUTOR_DENIED : CODE_EXECUTOR_NOT_FOUND, errno,
            "cannot read %s, which is needed for TLS with %s", file, peer);
    if (code == CURLE_SSL_CACERT_BADFILE)
        return error_set(error, CODE_EXECUTOR_INVALID,
                         "%s holds no certificates in PEM form (for TLS with %s)",
                         tls->ca ? tls->ca : "the system's file of authorities", peer);
    return error_set(error, CODE_EXECUTOR_INVALID,
                     "the client certificate %s and its key %s cannot be used for TLS with %s: "
                     "both are PEM files without a password, and belong together (%s)",
                     tls->cert ? tls->cert : "(none)", tls->key ? tls->key : "(none)", peer, words);
}

/* The engine's certificate, as OpenSSL judges it. */
static const struct {
    long result;
    const char *meaning;
    const char *advice;
} judgements[] = {
    {X509_V_ERR_CERT_HAS_EXPIRED, "has expired", "Renew it on the engine's machine"},
    {X509_V_ERR_CERT_NOT_YET_VALID, "is not valid yet",
     "Is the clock of this machine, or of the one that made it, wrong?"},
    {X509_V_ERR_HOSTNAME_MISMATCH, "is for another name", ""},
    {X509_V_ERR_IP_ADDRESS_MISMATCH, "is for another address", ""},
    {X509_V_ERR_CERT_REVOKED, "was revoked", "Renew it on the engine's machine"},
    {X509_V_ERR_INVALID_PURPOSE, "is not made for servers",
     "Its extendedKeyUsage must have serverAuth in it"},
};

static int32_t explain_judgement(const struct tls *tls, CURL *easy, const char *words,
                                 const char *peer, code_executor_error *error)
{
    long result = X509_V_OK;
    curl_easy_getinfo(easy, CURLINFO_SSL_VERIFYRESULT, &result);
    for (size_t i = 0; i < sizeof judgements / sizeof judgements[0]; i++)
        if (judgements[i].result == result && judgements[i].advice[0])
            return error_set(error, CODE_EXECUTOR_DENIED,
                             "the certificate of the Docker engine at %s %s. %s", peer,
                             judgements[i].meaning, judgements[i].advice);
    if (result == X509_V_OK || strstr(words, "subject name") || strstr(words, "name mismatch"))
        return error_set(error, CODE_EXECUTOR_DENIED,
                         "the certificate of the Docker engine at %s is made for another name or "
                         "address. Name the engine as its certificate does, or make one that has "
                         "this name in subjectAltName (%s)",
                         peer, words);
    return error_set(error, CODE_EXECUTOR_DENIED,
                     "the certificate of the Docker engine at %s is not vouched for by %s. Name "
                     "the file of the authority that signed it in tls.ca, or as ca.pem in "
                     "DOCKER_CERT_PATH (%s)",
                     peer, tls->ca ? tls->ca : "any authority that this system trusts", words);
}

/* Ours is what the engine does not like. */
static int32_t explain_refusal(const struct tls *tls, const char *peer, const char *words,
                               code_executor_error *error)
{
    if (tls->cert)
        return error_set(error, CODE_EXECUTOR_DENIED,
                         "the Docker engine at %s does not accept the client certificate %s: it "
                         "must be signed by the engine's own authority (its --tlscacert), and be "
                         "valid now (%s)",
                         peer, tls->cert, words);
    return error_set(error, CODE_EXECUTOR_DENIED,
                     "the Docker engine at %s asks for a client certificate: name it and its key "
                     "in tls.cert and tls.key, or put cert.pem and key.pem into DOCKER_CERT_PATH "
                     "(%s)",
                     peer, words);
}

/* What the engine says of our certificate. In TLS 1.3 it says so after the handshake, as an answer to the
 * first request. */
static bool explain_alert(const struct tls *tls, const char *words, const char *peer,
                          code_executor_error *error)
{
    static const char *const alerts[] = {
        "certificate required", "bad certificate",     "unknown ca",    "certificate unknown",
        "certificate expired",  "certificate revoked", "access denied", "unsupported certificate"};
    if (!strstr(words, "alert"))
        return false;
    for (size_t i = 0; i < sizeof alerts / sizeof alerts[0]; i++) {
        if (!strstr(words, alerts[i]))
            continue;
        explain_refusal(tls, peer, words, error);
        return true;
    }
    return false;
}

bool tls_explain(const struct tls *tls, CURL *easy, CURLcode code, const char *words,
                 const char *peer, int32_t *status, code_executor_error *error)
{
    *status = CODE_EXECUTOR_DENIED;
    switch (code) {
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
        *status = explain_file(tls, code, words, peer, error);
        return true;
    case CURLE_PEER_FAILED_VERIFICATION:
        *status = explain_judgement(tls, easy, words, peer, error);
        return true;
    case CURLE_SSL_CONNECT_ERROR:
        if (explain_alert(tls, words, peer, error))
            return true;
        *status = error_set(error, CODE_EXECUTOR_PROTOCOL,
                            "no TLS comes about with the Docker engine at %s (%s). Does it listen "
                            "there without TLS? Then say http:// or leave out tls",
                            peer, words);
        return true;
    default:
        return tls->wanted && explain_alert(tls, words, peer, error);
    }
}

/* An alert is overtaken by the reset of the connection when the engine has not read our request. */
int32_t tls_explain_silence(const struct tls *tls, const char *peer, code_executor_error *error)
{
    return explain_refusal(tls, peer, "so it seems: it broke off the connection over TLS", error);
}
