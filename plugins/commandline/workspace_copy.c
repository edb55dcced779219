/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workspace_copy.c: see workspace_copy.h.
 *
 * What is the same on both sides is known by a file's status on this host when it was last copied, in
 * either direction: as long as that has not changed, neither have the bytes. What changed there is known
 * by the times there: each collect tells when it began, which the next one asks from, and, in words of its own,
 * which folders there were. Files that were
 * copied in since are among what it brings, and are known by their digest: they must not take the place of
 * what the host has made of them meanwhile.
 */
#include "workspace_copy.h"
#include "buffer.h"
#include "collected.h"
#include "runner/protocol.h"
#include "text.h"
#include "workspace.h"
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <json-c/linkhash.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WARNINGS_MAX = 10, COLLECT_LIMIT_MS = 600 * 1000, COLLECT_GRACE_MS = 1000 };

/* The runner gives up a collect of which nothing comes, unless code has stopped the runner as well. */
enum { COLLECT_SILENCE_MS = 60 * 1000 };

struct digest {
    unsigned length; /* 0: there is none */
    unsigned char bytes[EVP_MAX_MD_SIZE];
};

struct known {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec changed;
    struct digest digest; /* of the bytes, when they were copied */
    bool runs;            /* it can be executed */
};

struct workspace_copy {
    pthread_mutex_t lock; /* whose turn it is; held while the session is used */
    uint64_t max_bytes;
    bool filled;            /* everything has been copied in once */
    uint64_t since;         /* of the next collect */
    buffer folders;         /* for the next collect */
    struct lh_table *known; /* name beneath the workspace to struct known */
    char **removals;        /* names that the next collect removes */
    size_t removal_count;
};

/* ------------------------------------------------------------------------------------------------
 * What is known
 * --------------------------------------------------------------------------------------------- */

static void free_known(struct lh_entry *entry)
{
    free(lh_entry_k(entry));
    free((void *)(uintptr_t)lh_entry_v(entry));
}

workspace_copy *workspace_copy_new(uint64_t max_bytes)
{
    workspace_copy *copy = calloc(1, sizeof *copy);
    if (!copy)
        return NULL;
    pthread_mutex_init(&copy->lock, NULL);
    copy->max_bytes = max_bytes;
    copy->known = lh_kchar_table_new(64, free_known);
    if (!copy->known) {
        workspace_copy_free(copy);
        return NULL;
    }
    return copy;
}

static void forget_removals(workspace_copy *copy)
{
    for (size_t i = 0; i < copy->removal_count; i++)
        free(copy->removals[i]);
    free(copy->removals);
    copy->removals = NULL;
    copy->removal_count = 0;
}

void workspace_copy_free(workspace_copy *copy)
{
    if (!copy)
        return;
    forget_removals(copy);
    buffer_free(&copy->folders);
    if (copy->known)
        lh_table_free(copy->known);
    pthread_mutex_destroy(&copy->lock);
    free(copy);
}

static bool is_known(const workspace_copy *copy, const char *name, const struct stat *status)
{
    void *value;
    if (!lh_table_lookup_ex(copy->known, name, &value))
        return false;
    const struct known *known = value;
    return known->device == status->st_dev && known->inode == status->st_ino &&
           known->size == status->st_size &&
           memcmp(&known->changed, &status->st_ctim, sizeof known->changed) == 0;
}

/* Where memory runs out, the file is only copied once more. */
static void learn(workspace_copy *copy, const char *name, const struct stat *status,
                  const struct digest *digest)
{
    struct known *known = malloc(sizeof *known);
    char *key = strdup(name);
    if (known)
        *known = (struct known){status->st_dev,  status->st_ino, status->st_size,
                                status->st_ctim, *digest,        (status->st_mode & 0111) != 0};
    lh_table_delete(copy->known, name);
    if (!known || !key || lh_table_insert(copy->known, key, known) != 0) {
        free(known);
        free(key);
    }
}

static struct digest digest_of(const char *bytes, size_t length)
{
    struct digest digest = {0};
    if (EVP_Digest(bytes ? bytes : "", length, digest.bytes, &digest.length, EVP_sha256(), NULL) !=
        1)
        digest.length = 0;
    return digest;
}

static void learn_file(workspace_copy *copy, const char *work_dir, const char *name,
                       const struct digest *digest)
{
    struct stat status;
    char *path = NULL;
    if (asprintf(&path, "%s/%s", work_dir, name) < 0)
        return;
    if (lstat(path, &status) == 0)
        learn(copy, name, &status, digest);
    free(path);
}

static void warn(const workspace_copying *copying, size_t *warnings, const char *what,
                 const char *name, const char *why)
{
    char message[512], brief[256];
    if (!copying->log || ++*warnings > WARNINGS_MAX)
        return;
    text_shorten(name, brief, sizeof brief);
    if (*warnings == WARNINGS_MAX)
        snprintf(message, sizeof message, "%s: %s, and others", brief, what);
    else
        snprintf(message, sizeof message, "%s: %s: %s", brief, what, why);
    copying->log(copying->user_data, CODE_EXECUTOR_LOG_WARNING, message);
}

/* ------------------------------------------------------------------------------------------------
 * Out
 * --------------------------------------------------------------------------------------------- */

/* One collect. */
struct collecting {
    workspace_copy *copy;
    const workspace_copying *copying;
    collected collected;
    size_t warnings;
    EVP_MD_CTX *digesting; /* what has come of the file */
    struct digest digest;  /* of the last one that came whole */
    buffer folders;
    char words[256]; /* of standard error */
    int32_t status;
    code_executor_error error;
};

static void on_bytes(void *user_data, const char *bytes, size_t length)
{
    struct collecting *self = user_data;
    EVP_DigestUpdate(self->digesting, bytes, length);
}

/* Unless it is what was copied before, in whatever direction: that is no news. */
static bool is_wanted(void *user_data, const char *path)
{
    struct collecting *self = user_data;
    void *value;
    self->digest.length = 0;
    if (EVP_DigestFinal_ex(self->digesting, self->digest.bytes, &self->digest.length) != 1)
        self->digest.length = 0;
    EVP_DigestInit_ex(self->digesting, EVP_sha256(), NULL);
    if (self->digest.length == 0 || !lh_table_lookup_ex(self->copy->known, path, &value))
        return true;
    const struct known *known = value;
    return known->runs != ((self->collected.mode & 0111) != 0) ||
           known->digest.length != self->digest.length ||
           memcmp(known->digest.bytes, self->digest.bytes, self->digest.length) != 0;
}

static void on_folders(void *user_data, const char *bytes, size_t length)
{
    struct collecting *self = user_data;
    buffer_append(&self->folders, bytes, length);
}

static void on_file(void *user_data, const char *path, const char *skipped)
{
    struct collecting *self = user_data;
    if (skipped)
        warn(self->copying, &self->warnings, "is not copied out of the workspace", path, skipped);
    else
        learn_file(self->copy, self->copying->work_dir, path, &self->digest);
}

static bool on_output(void *user_data, int32_t stream, const char *bytes, size_t length)
{
    struct collecting *self = user_data;
    if (stream == CODE_EXECUTOR_STREAM_STDOUT && self->status == CODE_EXECUTOR_OK)
        self->status = collected_take(&self->collected, bytes, length, &self->error);
    else if (stream == CODE_EXECUTOR_STREAM_STDERR)
        snprintf(self->words, sizeof self->words, "%.*s", (int)length, bytes);
    return self->status == CODE_EXECUTOR_OK;
}

static int32_t judge_end(const struct collecting *self, const session_exit *exited,
                         code_executor_error *error)
{
    if (self->collected.state == COLLECTED_ENDED && exited->how == EXIT_EXITED &&
        exited->exit_code == 0)
        return CODE_EXECUTOR_OK;
    if (exited->how == EXIT_CANCELLED)
        return error_set(error, CODE_EXECUTOR_CANCELLED,
                         "cancelled while files were copied out of the workspace");
    return error_set(error, CODE_EXECUTOR_IO,
                     "the files that changed in the workspace could not be copied out of it: %s",
                     exited->detail[0]               ? exited->detail
                     : exited->how == EXIT_TIMED_OUT ? "it took too long"
                     : self->words[0]                ? self->words
                                                     : "what tells of them was ended");
}

static const char **collect_words(const workspace_copy *copy, const char *since, const char *limit)
{
    const char **words = calloc(copy->removal_count + 5, sizeof *words);
    if (!words)
        return NULL;
    words[0] = COLLECT_PROGRAM;
    words[1] = COLLECT_WORD;
    words[2] = since;
    words[3] = limit;
    for (size_t i = 0; i < copy->removal_count; i++)
        words[4 + i] = copy->removals[i];
    return words;
}

/* To the next collect. */
static void advance(struct collecting *self)
{
    workspace_copy *copy = self->copy;
    copy->since = self->collected.now;
    buffer_free(&copy->folders);
    if (self->folders.failed)
        return; /* they count as new */
    copy->folders = self->folders;
    self->folders = (buffer){0};
}

/* With the lock held. */
static int32_t collect(workspace_copy *copy, const workspace_copying *copying, uint64_t since,
                       code_executor_error *error)
{
    char since_text[24], limit_text[24];
    snprintf(since_text, sizeof since_text, "%" PRIu64, since);
    snprintf(limit_text, sizeof limit_text, "%" PRIu64, copy->max_bytes);
    struct collecting *self = calloc(1, sizeof *self);
    const char **words = collect_words(copy, since_text, limit_text);
    EVP_MD_CTX *digesting = EVP_MD_CTX_new();
    session_exit exited = {0};
    int32_t status;
    if (self && words && digesting && EVP_DigestInit_ex(digesting, EVP_sha256(), NULL) == 1) {
        *self = (struct collecting){
            .copy = copy, .copying = copying, .error = CODE_EXECUTOR_ERROR_INIT};
        self->collected.work_dir = copying->work_dir;
        self->collected.max_bytes = copy->max_bytes;
        self->collected.user_data = self;
        self->collected.on_file = on_file;
        self->collected.on_bytes = on_bytes;
        self->collected.is_wanted = is_wanted;
        self->collected.on_folders = on_folders;
        self->digesting = digesting;
        session_command command = {
            .folder = copying->folder,
            .candidates = (const char *const *const[]){(const char *const *)words},
            .candidate_count = 1,
            .timeout_ms = COLLECT_LIMIT_MS,
            .grace_ms = COLLECT_GRACE_MS,
            .silence_ms = COLLECT_SILENCE_MS,
            .stdin_bytes = (const char *)buffer_data(&copy->folders),
            .stdin_length = buffer_length(&copy->folders),
            .user_data = self,
            .on_output = on_output,
        };
        status = session_run(copying->session, &command, copying->canceller, &exited, error);
        collected_end(&self->collected);
        if (status == CODE_EXECUTOR_OK && self->status != CODE_EXECUTOR_OK)
            status = error_set(error, self->status, "%s", self->error.message);
        else if (status == CODE_EXECUTOR_OK)
            status = judge_end(self, &exited, error);
        if (status == CODE_EXECUTOR_OK) {
            /* What was too much this time comes again. */
            if (!self->collected.exceeded)
                advance(self);
            forget_removals(copy);
        }
    } else {
        status = error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory to copy the workspace");
    }
    if (self)
        buffer_free(&self->folders);
    EVP_MD_CTX_free(digesting);
    free(words);
    free(self);
    return status;
}

int32_t workspace_copy_out(workspace_copy *copy, const workspace_copying *copying,
                           code_executor_error *error)
{
    pthread_mutex_lock(&copy->lock);
    int32_t status = collect(copy, copying, copy->since, error);
    pthread_mutex_unlock(&copy->lock);
    return status;
}

void workspace_copy_remove(workspace_copy *copy, const char *name)
{
    pthread_mutex_lock(&copy->lock);
    char *kept = strdup(name);
    char **grown = reallocarray(copy->removals, copy->removal_count + 1, sizeof *grown);
    if (grown)
        copy->removals = grown;
    if (grown && kept)
        copy->removals[copy->removal_count++] = kept;
    else
        free(kept);
    pthread_mutex_unlock(&copy->lock);
}

/* ------------------------------------------------------------------------------------------------
 * In
 * --------------------------------------------------------------------------------------------- */

/* One copying in. */
struct filling {
    workspace_copy *copy;
    const workspace_copying *copying;
    char **names; /* of the files that changed */
    size_t count;
    size_t capacity;
    uint64_t total;
    uint64_t done;
    size_t warnings;
};

static bool add_name(struct filling *self, const char *name)
{
    if (self->count == self->capacity) {
        size_t capacity = 2 * self->capacity + 64;
        char **grown = reallocarray(self->names, capacity, sizeof *grown);
        if (!grown)
            return false;
        self->names = grown;
        self->capacity = capacity;
    }
    self->names[self->count] = strdup(name);
    return self->names[self->count++] != NULL;
}

static void warn_of_skipped(struct filling *self, const char *name, int problem)
{
    char words[128];
    const char *why = strerror_r(problem, words, sizeof words);
    if (name[0])
        warn(self->copying, &self->warnings, "is not copied into the workspace", name, why);
    else if (problem == ENOENT)
        warn(self->copying, &self->warnings, "the workspace is gone, and is made anew",
             self->copying->work_dir, "what code has of it stays as it is where the code runs");
    else
        warn(self->copying, &self->warnings, "the workspace cannot be read",
             self->copying->work_dir, why);
}

static bool visit(struct filling *self, const FTSENT *entry)
{
    const char *name = entry->fts_path + strlen(self->copying->work_dir);
    name += strspn(name, "/");
    switch (entry->fts_info) {
    case FTS_F:
        if (is_known(self->copy, name, entry->fts_statp))
            return true;
        self->total += (uint64_t)entry->fts_statp->st_size;
        return add_name(self, name);
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS:
        warn_of_skipped(self, name, entry->fts_errno);
        return true;
    default:
        return true;
    }
}

static int32_t find_changes(struct filling *self, code_executor_error *error)
{
    char *roots[] = {(char *)(uintptr_t)self->copying->work_dir, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    bool whole = tree != NULL;
    for (FTSENT *entry; whole && (entry = fts_read(tree));)
        whole = visit(self, entry);
    if (tree)
        fts_close(tree);
    if (!whole)
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory to copy the workspace");
    if (self->total > self->copy->max_bytes)
        return error_set(error, CODE_EXECUTOR_INVALID,
                         "%" PRIu64 " bytes have changed in %s, and workspace_max_bytes lets no "
                         "more than %" PRIu64 " be copied: raise it, or choose a work_dir that "
                         "holds only what the code needs",
                         self->total, self->copying->work_dir, self->copy->max_bytes);
    return CODE_EXECUTOR_OK;
}

/* Errno, or 0: then BYTES, free(), and STATUS. */
static int read_whole(const char *path, uint64_t limit, char **bytes, struct stat *status)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int problem = fd < 0 || fstat(fd, status) != 0 ? errno : 0;
    if (!problem && (!S_ISREG(status->st_mode) || (uint64_t)status->st_size > limit))
        problem = EFBIG;
    *bytes = problem ? NULL : malloc((size_t)status->st_size + 1);
    if (!problem && !*bytes)
        problem = ENOMEM;
    for (off_t at = 0; !problem && at < status->st_size;) {
        ssize_t count = read(fd, *bytes + at, (size_t)(status->st_size - at));
        if (count < 0 && errno != EINTR)
            problem = errno;
        if (count == 0)
            status->st_size = at; /* it has shrunk */
        at += count > 0 ? count : 0;
    }
    if (fd >= 0)
        close(fd);
    if (problem) {
        free(*bytes);
        *bytes = NULL;
    }
    return problem;
}

/* A file that one of the two sides does not let go or in is passed over. */
static int32_t send_file(struct filling *self, const char *name, code_executor_error *error)
{
    const workspace_copying *copying = self->copying;
    char *path = NULL, *bytes = NULL;
    struct stat status;
    if (asprintf(&path, "%s/%s", copying->work_dir, name) < 0)
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory to copy %s", name);
    int problem = read_whole(path, self->copy->max_bytes, &bytes, &status);
    free(path);
    if (problem) {
        if (problem != ENOENT)
            warn_of_skipped(self, name, problem);
        return CODE_EXECUTOR_OK;
    }
    int32_t sent = session_write_file(copying->session, name, status.st_mode & 0777, bytes,
                                      (size_t)status.st_size, error);
    struct digest digest = digest_of(bytes, (size_t)status.st_size);
    free(bytes);
    if (sent == CODE_EXECUTOR_IO || sent == CODE_EXECUTOR_DENIED) {
        warn(copying, &self->warnings, "is not copied into the workspace", name,
             error ? error->message : "refused");
        sent = error_clear(error);
    }
    if (sent == CODE_EXECUTOR_OK)
        learn(self->copy, name, &status, &digest);
    self->done += (uint64_t)status.st_size;
    return sent;
}

static int32_t send_changes(struct filling *self, code_executor_error *error)
{
    const workspace_copying *copying = self->copying;
    int32_t status = CODE_EXECUTOR_OK;
    for (size_t i = 0; i < self->count && status == CODE_EXECUTOR_OK; i++) {
        if (session_cancelled(copying->canceller))
            return error_set(error, CODE_EXECUTOR_CANCELLED,
                             "cancelled while files were copied into the workspace");
        status = send_file(self, self->names[i], error);
        if (copying->progress && self->total > 0 && status == CODE_EXECUTOR_OK)
            copying->progress(copying->user_data, "copying the workspace", self->done, self->total);
    }
    return status;
}

int32_t workspace_copy_in(workspace_copy *copy, const workspace_copying *copying,
                          code_executor_error *error)
{
    pthread_mutex_lock(&copy->lock);
    struct filling self = {.copy = copy, .copying = copying};
    int32_t status = find_changes(&self, error);
    if (status == CODE_EXECUTOR_OK)
        status = send_changes(&self, error);
    for (size_t i = 0; i < self.count; i++)
        free(self.names[i]);
    free(self.names);
    /* What has just been copied there is no news from there. */
    if (status == CODE_EXECUTOR_OK && !copy->filled)
        status = collect(copy, copying, COLLECT_NOTHING, error);
    copy->filled = copy->filled || status == CODE_EXECUTOR_OK;
    pthread_mutex_unlock(&copy->lock);
    return status;
}

int32_t workspace_copy_file(workspace_copy *copy, const workspace_copying *copying,
                            const char *name, const char *bytes, size_t length, char *objection,
                            code_executor_error *error)
{
    objection[0] = '\0';
    pthread_mutex_lock(&copy->lock);
    for (size_t i = 0; i < copy->removal_count; i++)
        if (strcmp(copy->removals[i], name) == 0) {
            free(copy->removals[i]);
            copy->removals[i--] = copy->removals[--copy->removal_count];
        }
    code_executor_error why = CODE_EXECUTOR_ERROR_INIT;
    struct digest digest = digest_of(bytes, length);
    int32_t status = session_write_file(copying->session, name, 0644, bytes, length, &why);
    if (status == CODE_EXECUTOR_OK)
        learn_file(copy, copying->work_dir, name, &digest);
    pthread_mutex_unlock(&copy->lock);
    if (status == CODE_EXECUTOR_IO || status == CODE_EXECUTOR_DENIED) {
        text_shorten(why.message, objection, WORKSPACE_OBJECTION_SIZE);
        return error_clear(error);
    }
    return status == CODE_EXECUTOR_OK ? status : error_set(error, status, "%s", why.message);
}
