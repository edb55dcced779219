/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_file.c: see block_file.h. Code is copied only where it changes.
 */
#include "block_file.h"
#include "file_name.h"
#include "shell_session.h"
#include "silence_pip.h"
#include <openssl/evp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGEST_BYTES 16

static void take(block_file *file, char *changed, size_t length)
{
    free(file->changed);
    file->changed = changed;
    file->bytes = changed;
    file->length = length;
}

static bool silence(const language *known, block_file *file)
{
    bool python = strcmp(known->name, "python") == 0;
    if (!known->shell && !python)
        return true;
    char *changed;
    size_t length;
    if (!silence_pip(python ? PIP_IN_PYTHON : PIP_IN_SHELL, file->bytes, file->length, &changed,
                     &length))
        return false;
    if (changed)
        take(file, changed, length);
    return true;
}

/* A carriage return before a line's end would become part of a shell's last word. */
static bool convert_line_ends(block_file *file)
{
    const char *at = file->bytes;
    size_t left = file->length;
    if (left == 0 || !memchr(at, '\r', left))
        return true;
    char *changed = malloc(left);
    if (!changed)
        return false;
    char *to = changed;
    const char *found;
    while (left && (found = memchr(at, '\r', left))) {
        size_t before = (size_t)(found - at);
        bool ends_line = before + 1 < left && found[1] == '\n';
        size_t kept = ends_line ? before : before + 1;
        to = mempcpy(to, at, kept);
        at = found + 1;
        left -= before + 1;
    }
    to = mempcpy(to, at, left);
    take(file, changed, (size_t)(to - changed));
    return true;
}

/* Before everything else: what is left is a script like any other. */
static bool strip_session(const language *known, block_file *file)
{
    char *changed;
    size_t length;
    bool begins = known->shell && shell_session_begins(file->bytes, file->length);
    if (!known->session && !begins)
        return true;
    if (!shell_session_strip(file->bytes, file->length, &changed, &length))
        return false;
    if (changed)
        take(file, changed, length);
    return true;
}

/* MD5, which only names the file; where the system's policy has none, as much of SHA-256. */
static bool digest(const block_file *file, unsigned char value[EVP_MAX_MD_SIZE])
{
    unsigned size;
    const char *bytes = file->bytes ? file->bytes : "";
    return EVP_Digest(bytes, file->length, value, &size, EVP_md5(), NULL) == 1 ||
           EVP_Digest(bytes, file->length, value, &size, EVP_sha256(), NULL) == 1;
}

static bool begins_with_word(const char *at, size_t left, const char *word, const char *behind)
{
    size_t length = strlen(word);
    return left > length && memcmp(at, word, length) == 0 && strchr(behind, at[length]);
}

/* Whether a line begins as it does in modules of JavaScript alone. */
static bool is_module(const block_file *file)
{
    const char *at = file->bytes;
    size_t left = file->length;
    while (left > 0) {
        if (begins_with_word(at, left, "import", " {\"'*") ||
            begins_with_word(at, left, "export", " {*") || begins_with_word(at, left, "await", " "))
            return true;
        const char *newline = memchr(at, '\n', left);
        size_t line = newline ? (size_t)(newline - at) + 1 : left;
        at += line;
        left -= line;
    }
    return false;
}

/* Node takes a file for a module by its name, and a file that is not called so for none. */
static const char *choose_extension(const language *known, const block_file *file)
{
    bool plain = known->runs && strcmp(known->extension, "javascript") == 0;
    return plain && is_module(file) ? "mjs" : known->extension;
}

static int32_t name_by_digest(const language *known, block_file *file, code_executor_error *error)
{
    unsigned char value[EVP_MAX_MD_SIZE];
    char hexadecimal[2 * DIGEST_BYTES + 1];
    if (!digest(file, value))
        return error_set(error, CODE_EXECUTOR_INTERNAL, "cannot compute the digest of a block");
    for (size_t i = 0; i < DIGEST_BYTES; i++)
        snprintf(hexadecimal + 2 * i, 3, "%02x", value[i]);
    if (asprintf(&file->name, "tmp_code_%s.%s", hexadecimal, choose_extension(known, file)) < 0) {
        file->name = NULL;
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory for a file name");
    }
    file->temporary = true;
    return CODE_EXECUTOR_OK;
}

int32_t block_file_begin(const language *known, const code_executor_block *block, block_file *file,
                         const char **objection, code_executor_error *error)
{
    *file = (block_file){.bytes = block->code, .length = block->code_length};
    *objection = NULL;
    if (!strip_session(known, file) || !silence(known, file) ||
        (known->shell && !convert_line_ends(file)) ||
        !file_name_read(known, file->bytes, file->length, &file->name, objection))
        return error_set(error, CODE_EXECUTOR_NO_MEMORY, "no memory for a copy of the code");
    if (file->name || *objection)
        return CODE_EXECUTOR_OK;
    return name_by_digest(known, file, error);
}

void block_file_end(block_file *file)
{
    free(file->changed);
    free(file->name);
    *file = (block_file){NULL, 0, NULL, NULL, false};
}
