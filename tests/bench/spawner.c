/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spawner.c: a peer of the benchmark that runs inside the container: static, since the container's
 * libraries are not ours. It reads lines "spawn COUNT COMMAND ARGUMENT..." (words without blanks) and
 * answers each with "ok NANOSECONDS" or "error".
 */
#include "spawn.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
    char line[4096];
    while (fgets(line, sizeof line, stdin) != NULL) {
        char *words[64] = {NULL};
        size_t count = 0;
        char *rest = line;
        char *word;
        while (count < 63 && (word = strtok_r(rest, " \n", &rest)) != NULL)
            words[count++] = word;
        int64_t took = -1;
        if (count >= 3 && strcmp(words[0], "spawn") == 0)
            took = spawn_ns(words + 2, atoi(words[1]));
        if (took < 0)
            puts("error the command failed");
        else
            printf("ok %" PRId64 "\n", took);
        fflush(stdout);
    }
    return 0;
}
