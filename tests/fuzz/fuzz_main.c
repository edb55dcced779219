/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_main.c: runs a fuzzing harness without a fuzzer: over each file of the folders and files that are
 * named, over each beginning of it, with each byte of it changed, and with a fixed series of random
 * changes. Finds what a change to the code breaks; finding what nobody thought of is the fuzzer's part.
 */
#include <dirent.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t length);

#define INPUT_SIZE_MAX (64u * 1024u)
/* Longer ones are not changed at every place. */
#define PLACES_MAX     512u
#define RANDOM_CHANGES 2000u

static size_t runs;

/* On a copy of just its size, so that reading beyond it shows under a sanitizer. */
static void run(const unsigned char *bytes, size_t length)
{
    unsigned char *copy = malloc(length > 0 ? length : 1);
    if (!copy)
        exit(1);
    memcpy(copy, bytes, length);
    (void)LLVMFuzzerTestOneInput(copy, length);
    free(copy);
    runs++;
}

static uint32_t next_random(void)
{
    static uint32_t state = 2463534242u;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

static void run_changed(const unsigned char *original, size_t length)
{
    static const unsigned char changes[] = {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff};
    static unsigned char bytes[INPUT_SIZE_MAX];
    size_t places = length < PLACES_MAX ? length : PLACES_MAX;
    for (size_t place = 0; place < places; place++) {
        run(original, place);
        memcpy(bytes, original, length);
        for (size_t i = 0; i < sizeof changes; i++) {
            bytes[place] = original[place] ^ changes[i];
            run(bytes, length);
        }
    }
    for (size_t i = 0; length > 0 && i < RANDOM_CHANGES; i++) {
        memcpy(bytes, original, length);
        for (uint32_t count = 1 + next_random() % 4; count > 0; count--)
            bytes[next_random() % length] = (unsigned char)next_random();
        run(bytes, length - next_random() % 4 % length);
    }
}

static void run_file(const char *path)
{
    static unsigned char bytes[INPUT_SIZE_MAX];
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(1);
    }
    size_t length = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    run(bytes, length);
    run_changed(bytes, length);
}

static void run_path(const char *path)
{
    DIR *folder = opendir(path);
    if (!folder) {
        run_file(path);
        return;
    }
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        char name[PATH_MAX];
        int length = snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.' && length > 0 && (size_t)length < sizeof name)
            run_file(name);
    }
    closedir(folder);
}

int main(int count, char **arguments)
{
    for (int i = 1; i < count; i++)
        run_path(arguments[i]);
    printf("%zu inputs\n", runs);
    return runs > 0 ? 0 : 1;
}
