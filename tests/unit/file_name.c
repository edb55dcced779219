/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_name.c: which first lines name a file, and what name that is.
 */
#include "file_name.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static language_table *table;

#define OUTSIDE "Filename is not in the workspace"

/* NAME NULL: none; OBJECTION NULL: none. */
static void expect_bytes(const char *word, const char *code, size_t length, const char *name,
                         const char *objection)
{
    /* In memory that ends where the code does, so that a sanitizer sees a look beyond. */
    char *bytes = malloc(length ? length : 1);
    memcpy(bytes, code, length);
    char *got;
    const char *why;
    assert_true(file_name_read(language_find(table, word), bytes, length, &got, &why));
    free(bytes);
    if ((got && name ? strcmp(got, name) != 0 : got != name) ||
        (why && objection ? strcmp(why, objection) != 0 : why != objection))
        fail_msg("%s: %.60s\n  gave %s (%s)\n  not  %s (%s)", word, code, got, why, name,
                 objection);
    free(got);
}

static void expect(const char *word, const char *code, const char *name)
{
    expect_bytes(word, code, strlen(code), name, NULL);
}

static void refused(const char *code, const char *objection)
{
    expect_bytes("python", code, strlen(code), NULL, objection);
}

static void a_directive_names_the_file_in_every_comment(void **state)
{
    (void)state;
    expect("python", "# filename: app.py\nprint()", "app.py");
    expect("js", "// filename: app.js\n", "app.js");
    expect("css", "/* filename: site.css */\nh1 {}", "site.css");
    expect("html", "<!-- filename: index.html -->\n<p>", "index.html");
    expect("html", "<!--filename:index.html--><p>", "index.html");
    expect("python", "// filename: app.py", "app.py");
    expect("lua", "-- filename: app.lua\nprint()", "app.lua");
    expect("sql", "-- schema.sql\nselect 1;", "schema.sql");
    expect("sql", "-- select the names of all\nselect 1;", NULL);
}

static void the_directive_is_read_in_any_case_and_spacing(void **state)
{
    (void)state;
    expect("python", "#filename:app.py", "app.py");
    expect("python", "#\tFILENAME: \t app.py \t\r\n", "app.py");
    expect("python", "  # Filename: app.py", "app.py");
    expect("python", "\xef\xbb\xbf# filename: app.py", "app.py");
}

static void a_directive_may_name_anything(void **state)
{
    (void)state;
    expect("python", "# filename: my app.txt", "my app.txt");
    expect("python", "# filename: \xe4\xb8\x96.py", "\xe4\xb8\x96.py");
    expect("python", "# filename: Makefile", "Makefile");
    expect("python", "# filename: -rf", "-rf");
    expect("python", "# filename: ...", "...");
    expect("python", "# filename: ..a/b..", "..a/b..");
}

static void one_pair_of_quotes_is_taken_off(void **state)
{
    (void)state;
    expect("python", "# filename: \"my app.py\"", "my app.py");
    expect("python", "# filename: `app.py`", "app.py");
    expect("python", "# filename: 'app.py'", "app.py");
    expect("python", "# filename: \"app.py", "\"app.py");
    expect("python", "# filename: \"", "\"");
    expect("python", "# filename: \"\"", NULL);
}

static void a_comment_that_is_not_closed_ends_with_its_line(void **state)
{
    (void)state;
    expect("css", "/* filename: site.css\n * more\n */", "site.css");
    expect("html", "<!-- filename: index.html\n-->", "index.html");
    expect("css", "/* filename: site.css */ a */", "site.css");
}

static void a_bare_name_counts_with_an_extension_of_the_language(void **state)
{
    (void)state;
    expect("python", "# test.py\nprint()", "test.py");
    expect("python", "# src/pkg-1/mod_a.PY", "src/pkg-1/mod_a.PY");
    expect("sh", "# run.sh", "run.sh");
    expect("bash", "# run.bash", "run.bash");
    expect("js", "// app.mjs", "app.mjs");
    expect("css", "/* site.css */", "site.css");
    expect("html", "<!-- index.htm -->", "index.htm");
}

static void prose_is_no_name(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "# Import necessary libraries",
        "# -*- coding: utf-8 -*-",
        "# v1.2",
        "# os.path",
        "# https://example.test/app.py",
        "# see test.py",
        "# test.py:",
        "# test.js",
        "# .py",
        "# src/.py",
        "# py",
        "#",
        "# ",
        "",
        "\n# test.py",
        "x = 1 # test.py",
        "#test.py",
        "#!/usr/bin/env python.py",
        "#!/bin/test.py",
        "\"\"\"test.py\"\"\"",
        "# filename:",
        "# filename:   \n",
        "# filename test.py",
        "# filenames: test.py",
        "/",
        "<",
        "<!-",
        "\xef\xbb",
        "// ",
        "; filename: test.py",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        expect("python", lines[i], NULL);
}

static void a_path_that_begins_a_command_is_no_name(void **state)
{
    (void)state;
    expect("sh", "//bin/run.sh", NULL);
    expect("sh", "#run.sh", NULL);
}

static void paths_are_made_plain(void **state)
{
    (void)state;
    expect("python", "# filename: ./app.py", "app.py");
    expect("python", "# filename: a//b/./c.py", "a/b/c.py");
    expect("python", "# filename: a/../b.py", "b.py");
    expect("python", "# filename: a/b/../../c/d.py", "c/d.py");
    expect("python", "# filename: a/b/../c.py", "a/c.py");
}

static void a_path_out_of_the_workspace_is_refused(void **state)
{
    (void)state;
    refused("# filename: ../evil.py", OUTSIDE);
    refused("# filename: a/../../evil.py", OUTSIDE);
    refused("# filename: /tmp/evil.py", OUTSIDE);
    refused("# filename: \"/tmp/evil.py\"", OUTSIDE);
    refused("# filename: ..", OUTSIDE);
    refused("# ../evil.py", OUTSIDE);
    refused("# /tmp/evil.py", OUTSIDE);
    refused("# filename: ./../evil.py", OUTSIDE);
}

static void a_name_with_a_nul_is_refused(void **state)
{
    (void)state;
    static const char code[] = "# filename: a\0b.py\n";
    expect_bytes("python", code, sizeof code - 1, NULL, OUTSIDE);
}

static void a_folder_is_no_file(void **state)
{
    (void)state;
    refused("# filename: src/", "Filename is that of a folder");
    refused("# filename: .", "Filename is that of a folder");
    refused("# filename: a/..", "Filename is that of a folder");
}

static void a_name_that_no_system_takes_is_refused(void **state)
{
    (void)state;
    char code[12000] = "# filename: ";
    size_t begin = strlen(code);
    memset(code + begin, 'x', 10000);
    refused(code, "Filename is too long");
    code[begin + 256] = '\0';
    refused(code, "Filename is too long");
    code[begin + 255] = '\0';
    expect("python", code, code + begin);
}

static void a_long_line_that_is_no_comment_is_not_read(void **state)
{
    (void)state;
    size_t length = 100000000;
    char *code = malloc(length);
    memset(code, 'x', length);
    char *name;
    const char *objection;
    for (int i = 0; i < 100000; i++)
        assert_true(file_name_read(language_find(table, "sh"), code, length, &name, &objection));
    assert_null(name);
    free(code);
}

static int set_up(void **state)
{
    (void)state;
    return language_table_create(NULL, NULL, &table, NULL);
}

static int tear_down(void **state)
{
    (void)state;
    language_table_free(table);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_directive_names_the_file_in_every_comment),
        cmocka_unit_test(the_directive_is_read_in_any_case_and_spacing),
        cmocka_unit_test(a_directive_may_name_anything),
        cmocka_unit_test(one_pair_of_quotes_is_taken_off),
        cmocka_unit_test(a_comment_that_is_not_closed_ends_with_its_line),
        cmocka_unit_test(a_bare_name_counts_with_an_extension_of_the_language),
        cmocka_unit_test(prose_is_no_name),
        cmocka_unit_test(a_path_that_begins_a_command_is_no_name),
        cmocka_unit_test(paths_are_made_plain),
        cmocka_unit_test(a_path_out_of_the_workspace_is_refused),
        cmocka_unit_test(a_name_with_a_nul_is_refused),
        cmocka_unit_test(a_folder_is_no_file),
        cmocka_unit_test(a_name_that_no_system_takes_is_refused),
        cmocka_unit_test(a_long_line_that_is_no_comment_is_not_read),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
