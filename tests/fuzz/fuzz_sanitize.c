/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_sanitize.c: the local executor's reader of shell scripts, on any bytes. It must come to an end
 * within them, and a script's finding does not depend on what lies behind it in memory.
 */
#include "sanitize.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t length);

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t length)
{
    const char *found = sanitize_find((const char *)bytes, length);
    if (found && found[0] == '\0')
        abort();
    return 0;
}
