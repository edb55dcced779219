/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output.c: first and last halves of what was written, however it came.
 */
#include "output.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

/* What is there to read, NUL-terminated. */
static char *text_of(const output *self)
{
    size_t length = output_length(self);
    char *text = malloc(length + 1);
    assert_non_null(text);
    output_read(self, text);
    text[length] = '\0';
    return text;
}

static void expect(size_t limit, const char *const *pieces, const char *wanted, uint64_t dropped)
{
    output self;
    output_begin(&self, limit);
    for (; *pieces; pieces++)
        output_add(&self, *pieces, strlen(*pieces));
    char *text = text_of(&self);
    assert_string_equal(text, wanted);
    assert_true(output_dropped(&self) == dropped);
    free(text);
    output_end(&self);
}

#define EXPECT(limit, wanted, dropped, ...)                                                        \
    expect(limit, (const char *const[]){__VA_ARGS__, NULL}, wanted, dropped)

static void what_fits_is_kept_as_it_came(void **state)
{
    (void)state;
    EXPECT(10, "", 0, "");
    EXPECT(10, "abc", 0, "a", "bc");
    EXPECT(10, "0123456789", 0, "0123456789");
    EXPECT(10, "0123456789", 0, "01234", "", "56789");
}

static void the_halves_stay_with_a_line_between(void **state)
{
    (void)state;
    EXPECT(10, "01234\n[... 1 bytes dropped ...]\n6789a", 1, "0123456789a");
    EXPECT(10, "01234\n[... 1 bytes dropped ...]\n6789a", 1, "0123456789", "a");
    EXPECT(10, "01234\n[... 26 bytes dropped ...]\nvwxyz", 26,
           "0123456789abcdefghijklmnopqrstuvwxyz");
    EXPECT(10, "01234\n[... 26 bytes dropped ...]\nvwxyz", 26, "012", "3456789abcdefghijklm",
           "nopqrstuvwxy", "z");
    EXPECT(10, "0123\n[... 1 bytes dropped ...]\n6789a", 1, "0123\n", "5", "6789a", "");
}

static void limits_of_nothing_and_little_hold(void **state)
{
    (void)state;
    EXPECT(0, "", 0, "");
    EXPECT(0, "[... 3 bytes dropped ...]\n", 3, "a", "bc");
    EXPECT(1, "[... 2 bytes dropped ...]\nc", 2, "a", "bc");
    EXPECT(2, "a\n[... 1 bytes dropped ...]\nc", 1, "a", "bc");
    EXPECT(3, "a\n[... 2 bytes dropped ...]\nde", 2, "abcde");
}

static void characters_at_the_cut_are_whole(void **state)
{
    (void)state;
    /* The head would end in the first byte of a character, the tail begin in its last. */
    EXPECT(10, "abcd\n[... 7 bytes dropped ...]\nefg\xc3\xa9", 7, "abcd\xe4\xb8\x96XX\xc3\xa9",
           "efg\xc3\xa9");
    EXPECT(8, "abc\n[... 5 bytes dropped ...]\nd\xc3\xa9", 5, "abc\xc3\xa9x\xc3\xa9", "d\xc3\xa9");
}

static void bytes_that_are_no_characters_are_kept(void **state)
{
    (void)state;
    EXPECT(10, "\x80\x80\x80\x80\x80\n[... 5 bytes dropped ...]\n\x80\x80", 5,
           "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80");
}

/* Every way of cutting a text in three, against the plain definition. */
static void it_does_not_matter_how_it_comes(void **state)
{
    (void)state;
    static const char text[] = "abcdefghijklmnopqrstuvwxyz";
    size_t length = strlen(text);
    for (size_t limit = 0; limit <= length + 1; limit++) {
        char wanted[128];
        size_t head = limit / 2, tail = limit - head, dropped = length > limit ? length - limit : 0;
        if (dropped)
            snprintf(wanted, sizeof wanted, "%.*s%s[... %zu bytes dropped ...]\n%s", (int)head,
                     text, head ? "\n" : "", dropped, text + length - tail);
        else
            strcpy(wanted, text);
        for (size_t a = 0; a <= length; a++) {
            for (size_t b = a; b <= length; b++) {
                output self;
                output_begin(&self, limit);
                output_add(&self, text, a);
                output_add(&self, text + a, b - a);
                output_add(&self, text + b, length - b);
                char *got = text_of(&self);
                assert_string_equal(got, wanted);
                free(got);
                output_end(&self);
            }
        }
    }
}

static void a_copy_goes_on_alone(void **state)
{
    (void)state;
    for (size_t before = 0; before < 30; before++) {
        output self;
        output copy;
        output_begin(&self, 10);
        for (size_t i = 0; i < before; i++)
            output_add(&self, &"0123456789abcdefghijklmnopqrstuvwxyz"[i], 1);
        output_copy(&copy, &self);
        output_add(&self, "xyz", 3);
        output_add(&copy, "xyz", 3);
        char *a = text_of(&self);
        char *b = text_of(&copy);
        assert_string_equal(a, b);
        free(a);
        free(b);
        output_end(&self);
        output_end(&copy);
    }
}

static void memory_grows_with_what_came_and_not_beyond(void **state)
{
    (void)state;
    output self;
    output_begin(&self, (size_t)1 << 40);
    assert_null(self.bytes);
    output_add(&self, "x", 1);
    assert_true(self.capacity <= 4096);
    static char block[100000];
    for (int i = 0; i < 100; i++)
        output_add(&self, block, sizeof block);
    assert_true(self.capacity < 3 * self.total);
    output_end(&self);
}

static void a_limit_that_memory_cannot_hold_is_what_there_is(void **state)
{
    (void)state;
    output self;
    output_begin(&self, SIZE_MAX / 2);
    output_add(&self, "0123456789", 10);
    /* As if the next step of growth had failed. */
    self.limit = self.capacity;
    static char block[100000];
    memset(block, 'x', sizeof block);
    output_add(&self, block, sizeof block);
    char *text = text_of(&self);
    assert_memory_equal(text, "0123456789xxx", 13);
    assert_true(output_dropped(&self) == sizeof block + 10 - self.limit);
    free(text);
    output_end(&self);
}

/* Not timed against anything but the end of patience: it prints what it measured. */
static void a_flood_costs_what_copying_it_costs(void **state)
{
    (void)state;
    enum { BLOCK = 65536, COUNT = 30000 };
    static char block[BLOCK];
    output self;
    output_begin(&self, 10485760);
    struct timespec begin;
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < COUNT; i++)
        output_add(&self, block, BLOCK);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double seconds =
        (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
    print_message("%.1f GB/s\n", (double)BLOCK * COUNT / seconds / 1e9);
    assert_int_equal(self.capacity, 10485760);
    output_end(&self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits_is_kept_as_it_came),
        cmocka_unit_test(the_halves_stay_with_a_line_between),
        cmocka_unit_test(limits_of_nothing_and_little_hold),
        cmocka_unit_test(characters_at_the_cut_are_whole),
        cmocka_unit_test(bytes_that_are_no_characters_are_kept),
        cmocka_unit_test(it_does_not_matter_how_it_comes),
        cmocka_unit_test(a_copy_goes_on_alone),
        cmocka_unit_test(memory_grows_with_what_came_and_not_beyond),
        cmocka_unit_test(a_limit_that_memory_cannot_hold_is_what_there_is),
        cmocka_unit_test(a_flood_costs_what_copying_it_costs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
