/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c: see memory.h. */
#include "memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static double read_status(pid_t process, const char *key)
{
    char path[64];
    char line[256];
    double kilobytes = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)process);
    FILE *status = fopen(path, "re");
    while (status != NULL && fgets(line, sizeof line, status) != NULL)
        if (strncmp(line, key, strlen(key)) == 0)
            kilobytes = strtod(line + strlen(key), NULL);
    if (status != NULL)
        fclose(status);
    return kilobytes / 1024;
}

double memory_resident(pid_t process)
{
    return read_status(process, "VmRSS:");
}

double memory_peak(pid_t process)
{
    return read_status(process, "VmHWM:");
}

void memory_reset_peak(pid_t process)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/clear_refs", (int)process);
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0 || write(file, "5", 1) != 1)
        fprintf(stderr, "bench: the peak of memory cannot be reset here\n");
    if (file >= 0)
        close(file);
}
