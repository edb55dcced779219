/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_memory_names.h: included before each source of the host library when it is built for the tests
 * of an end of memory; see host_memory.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The C library may have macros of these names. */
#undef strdup
#undef strndup
#undef realpath
#undef asprintf
#define malloc   host_malloc
#define calloc   host_calloc
#define realloc  host_realloc
#define strdup   host_strdup
#define strndup  host_strndup
#define realpath host_realpath
#define asprintf host_asprintf

void *host_malloc(size_t size);
void *host_calloc(size_t count, size_t size);
void *host_realloc(void *block, size_t size);
char *host_strdup(const char *text);
char *host_strndup(const char *text, size_t length);
char *host_realpath(const char *path, char *resolved);
int host_asprintf(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));
