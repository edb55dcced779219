/* SPDX-License-Identifier: Apache-2.0 */
/* main.c: finds the attempt, makes it and tells the answer. See attack.h. */
#include "attack.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *error_name(int number)
{
    static const struct {
        int number;
        const char *name;
    } names[] = {
        {EPERM, "EPERM"},
        {ENOENT, "ENOENT"},
        {ESRCH, "ESRCH"},
        {EACCES, "EACCES"},
        {EROFS, "EROFS"},
        {ENOSYS, "ENOSYS"},
        {ENOSPC, "ENOSPC"},
        {EINVAL, "EINVAL"},
        {EBADF, "EBADF"},
        {EFAULT, "EFAULT"},
        {ENOMEM, "ENOMEM"},
        {EAGAIN, "EAGAIN"},
        {ENXIO, "ENXIO"},
        {ENODEV, "ENODEV"},
        {EIO, "EIO"},
        {ENOTTY, "ENOTTY"},
        {EAFNOSUPPORT, "EAFNOSUPPORT"},
        {EPROTONOSUPPORT, "EPROTONOSUPPORT"},
        {ESOCKTNOSUPPORT, "ESOCKTNOSUPPORT"},
        {ENOKEY, "ENOKEY"},
        {ECONNREFUSED, "ECONNREFUSED"},
        {ENETUNREACH, "ENETUNREACH"},
        {ETXTBSY, "ETXTBSY"},
    };
    static char other[32];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].number == number)
            return names[i].name;
    snprintf(other, sizeof other, "error %d", number);
    return other;
}

long number(const char *text)
{
    return strtol(text, NULL, 0);
}

static const struct attack *const lists[] = {
    attacks_on_namespaces, attacks_on_processes, attacks_on_the_kernel,
    attacks_on_files,      attacks_on_resources,
};

static const struct attack *find(const char *name, int argument_count)
{
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        for (const struct attack *one = lists[i]; one->name; one++)
            if (strcmp(one->name, name) == 0 && argument_count >= one->argument_count)
                return one;
    return NULL;
}

int main(int count, char **arguments)
{
    const struct attack *found = count > 1 ? find(arguments[1], count - 2) : NULL;
    if (!found) {
        fprintf(stderr, "attack: no such attempt\n");
        return 2;
    }
    errno = 0;
    long result = found->attempt(arguments + 2);
    printf("%s\n", result == -1 ? error_name(errno) : "ok");
    return 0;
}
