/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins.c: plugins are found by name in the folders of the search path, and each reason not to load
 * one has its own words. The sample plugins (plugins_sample.c) lie in SAMPLES.
 */
#include <code_executor_host.h>
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define PLUGIN_PATH "CODE_EXECUTOR_PLUGIN_PATH"

/* A folder of the test's own, which is the first of the search path. */
static char folder[] = "/tmp/code_executor_plugins.XXXXXX";

static int set_up(void **state)
{
    (void)state;
    strcpy(strrchr(folder, '.'), ".XXXXXX");
    return mkdtemp(folder) == NULL || setenv(PLUGIN_PATH, folder, 1) != 0 || chdir("/") != 0;
}

static int tear_down(void **state)
{
    (void)state;
    DIR *directory = opendir(folder);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        unlinkat(dirfd(directory), entry->d_name, entry->d_type == DT_DIR ? AT_REMOVEDIR : 0);
    closedir(directory);
    return rmdir(folder);
}

static const char *in_folder(const char *name)
{
    static char path[512];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const char *bytes, size_t length)
{
    FILE *file = fopen(in_folder(name), "wbe");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

/* The first LENGTH bytes of sample NAME (all of them for 0) under another name in the folder. */
static void copy_sample(const char *name, const char *copy, size_t length)
{
    static char bytes[1 << 20];
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s.so", SAMPLES, name);
    FILE *file = fopen(path, "rbe");
    assert_non_null(file);
    size_t whole = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    write_file(copy, bytes, length == 0 || length > whole ? whole : length);
}

static void check_load(const char *name)
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    code_executor_plugin *plugin = NULL;
    if (code_executor_plugin_load(name, &plugin, &error) != CODE_EXECUTOR_OK)
        fail_msg("%s", error.message);
    assert_string_equal(code_executor_plugin_table(plugin)->name, "sample");
    assert_int_equal(code_executor_plugin_path(plugin)[0], '/');
    code_executor_plugin_unload(plugin);
}

/* That loading NAME fails with STATUS and words in which each of WORDS (up to a NULL) stands. */
static void check_refusal(const char *name, int32_t status, const char *const words[])
{
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    code_executor_plugin *plugin = (code_executor_plugin *)&error;
    assert_int_equal(code_executor_plugin_load(name, &plugin, &error), status);
    assert_int_equal(error.status, status);
    assert_null(plugin);
    for (size_t i = 0; words[i] != NULL; i++)
        if (strstr(error.message, words[i]) == NULL)
            fail_msg("not in the message: %s\n%s", words[i], error.message);
    assert_int_equal(code_executor_plugin_load(name, &plugin, NULL), status);
}
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* That sample NAME, which has a fault, is refused. */
static void check_sample(const char *name, int32_t status, const char *const words[])
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s.so", SAMPLES, name);
    check_refusal(path, status, words);
}

/* ------------------------------------------------------------------------------------------------ */

static void test_a_plugin_is_loaded_by_name(void **state)
{
    (void)state;
    copy_sample("good", "sample.so", 0);
    check_load("sample");
}

static void test_a_name_with_a_slash_is_a_path(void **state)
{
    (void)state;
    copy_sample("good", "any file name", 0);
    check_load(in_folder("any file name"));
    assert_int_equal(chdir(folder), 0);
    check_load("./any file name");
    check_refusal("any file name", CODE_EXECUTOR_NOT_FOUND, WORDS("any file name"));
}

static void test_a_file_may_be_renamed(void **state)
{
    (void)state;
    copy_sample("good", "other.so", 0);
    check_load("other");
}

static void test_the_first_folder_decides(void **state)
{
    (void)state;
    char path[8192];
    snprintf(path, sizeof(path), "%s:%s", folder, SAMPLES);
    setenv(PLUGIN_PATH, path, 1);
    write_file("good.so", "broken", 6);
    check_refusal("good", CODE_EXECUTOR_INVALID, WORDS(folder, "not a shared object"));
    assert_int_equal(unlink(in_folder("good.so")), 0);
    check_load("good");
}

static void test_empty_entries_of_the_path_are_skipped(void **state)
{
    (void)state;
    copy_sample("good", "here.so", 0);
    assert_int_equal(chdir(folder), 0);
    setenv(PLUGIN_PATH, "::", 1);
    check_refusal("here", CODE_EXECUTOR_NOT_FOUND, WORDS("here"));
    char path[8192];
    snprintf(path, sizeof(path), ":/does/not/exist::%s:", folder);
    setenv(PLUGIN_PATH, path, 1);
    check_load("here");
}

static void test_not_found_names_folders_and_plugins(void **state)
{
    (void)state;
    copy_sample("good", "docker.so", 0);
    copy_sample("good", "local.so", 0);
    copy_sample("good", ".hidden.so", 0);
    write_file("runner", "x", 1);
    char path[8192];
    snprintf(path, sizeof(path), "%s:/does/not/exist", folder);
    setenv(PLUGIN_PATH, path, 1);
    check_refusal("dcoker", CODE_EXECUTOR_NOT_FOUND,
                  WORDS("no plugin \"dcoker\"; did you mean \"docker\"?", "docker, local",
                        "/does/not/exist (is not there)", folder));
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    code_executor_plugin *plugin = NULL;
    code_executor_plugin_load("kubernetes", &plugin, &error);
    assert_null(strstr(error.message, "did you mean"));
    assert_null(strstr(error.message, "hidden"));
    assert_null(strstr(error.message, "runner"));
}

static void test_names_that_are_none(void **state)
{
    (void)state;
    check_refusal("", CODE_EXECUTOR_INVALID, WORDS("empty"));
    check_refusal(".", CODE_EXECUTOR_NOT_FOUND, WORDS("\".\""));
    check_refusal("..", CODE_EXECUTOR_NOT_FOUND, WORDS("\"..\""));
    check_refusal("../x", CODE_EXECUTOR_NOT_FOUND, WORDS("\"../x\"", "is a path"));
    check_refusal("/", CODE_EXECUTOR_INVALID, WORDS("directory"));
    check_refusal("a\nb\x1b[0m", CODE_EXECUTOR_NOT_FOUND, WORDS("\"a?b?[0m\""));
    code_executor_plugin *plugin = NULL;
    assert_int_equal(code_executor_plugin_load(NULL, &plugin, NULL), CODE_EXECUTOR_INVALID);
    assert_int_equal(code_executor_plugin_load("x", NULL, NULL), CODE_EXECUTOR_INVALID);
}

static void test_a_name_of_10_kb_is_cut_in_the_message(void **state)
{
    (void)state;
    char name[10001];
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    check_refusal(name, CODE_EXECUTOR_NOT_FOUND, WORDS("xxx...\"", "Folders searched"));
    name[5000] = '/';
    check_refusal(name, CODE_EXECUTOR_NOT_FOUND, WORDS("xxx...\""));
}

static void test_a_text_file_is_no_plugin(void **state)
{
    (void)state;
    write_file("x.so", "#!/bin/sh\n", 10);
    check_refusal("x", CODE_EXECUTOR_INVALID, WORDS(in_folder("x.so"), "no ELF header"));
    write_file("x.so", "", 0);
    check_refusal("x", CODE_EXECUTOR_INVALID, WORDS("no ELF header"));
}

static void test_an_object_file_is_no_plugin(void **state)
{
    (void)state;
    copy_sample("good", "object.so", 0);
    int file = open(in_folder("object.so"), O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(file, "\x01", 1, 16), 1); /* e_type: relocatable */
    close(file);
    check_refusal("object", CODE_EXECUTOR_INVALID, WORDS("but not a shared object"));
}

static void test_a_file_cut_short_is_refused(void **state)
{
    (void)state;
    static const size_t lengths[] = {20, 64, 100, 700, 4096, 5000, 8192, 12000};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        copy_sample("good", "cut.so", lengths[i]);
        check_refusal("cut", CODE_EXECUTOR_INVALID, WORDS("cut short"));
    }
}

static void test_a_plugin_of_another_machine_is_refused(void **state)
{
    (void)state;
    copy_sample("good", "foreign.so", 0);
    int file = open(in_folder("foreign.so"), O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(file, "\x12\x34", 2, 18), 2); /* e_machine */
    close(file);
    check_refusal("foreign", CODE_EXECUTOR_INVALID, WORDS("another kind of machine"));
}

static void test_what_is_no_file_is_refused(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in_folder("folder.so"), 0700), 0);
    check_refusal("folder", CODE_EXECUTOR_INVALID, WORDS("is a directory"));
    assert_int_equal(mkfifo(in_folder("pipe.so"), 0600), 0);
    check_refusal("pipe", CODE_EXECUTOR_INVALID, WORDS("not a regular file"));
    check_refusal("/dev/zero", CODE_EXECUTOR_INVALID, WORDS("not a regular file"));
}

static void test_a_link_to_nothing_is_not_there(void **state)
{
    (void)state;
    assert_int_equal(symlink("/does/not/exist", in_folder("link.so")), 0);
    check_refusal("link", CODE_EXECUTOR_NOT_FOUND, WORDS("link"));
}

/* Root may read everything: then the test is somebody else for a moment. */
static void become(uid_t user)
{
    if (getuid() == 0)
        assert_int_equal(seteuid(user), 0);
}

static void test_a_file_that_may_not_be_read_is_denied(void **state)
{
    (void)state;
    enum { SOMEBODY = 65534 };
    copy_sample("good", "secret.so", 0);
    assert_int_equal(chmod(in_folder("secret.so"), 0), 0);
    assert_int_equal(chmod(folder, 0755), 0);
    become(SOMEBODY);
    check_refusal("secret", CODE_EXECUTOR_DENIED, WORDS("secret.so", "Permission denied"));
    become(0);
    assert_int_equal(chmod(folder, 0), 0);
    become(SOMEBODY);
    check_refusal("secret", CODE_EXECUTOR_NOT_FOUND, WORDS("(may not be read)"));
    check_refusal(in_folder("secret.so"), CODE_EXECUTOR_DENIED, WORDS("Permission denied"));
    become(0);
    assert_int_equal(chmod(folder, 0700), 0);
}

static void test_a_library_without_the_entry_is_refused(void **state)
{
    (void)state;
    check_sample("no_entry", CODE_EXECUTOR_INVALID,
                 WORDS("no_entry.so", "no symbol code_executor_plugin_v1"));
}

static void test_a_later_abi_is_named(void **state)
{
    (void)state;
    check_sample("other_entry", CODE_EXECUTOR_UNSUPPORTED,
                 WORDS("speaks ABI version 2", "version 1 is understood"));
    check_sample("other_version", CODE_EXECUTOR_UNSUPPORTED,
                 WORDS("ABI version 7", "version 1 is understood"));
}

static void test_a_plugin_that_gives_no_table_is_refused(void **state)
{
    (void)state;
    check_sample("null_table", CODE_EXECUTOR_INVALID, WORDS("returned no table"));
}

static void test_a_table_that_is_too_small_is_refused(void **state)
{
    (void)state;
    char sizes[128];
    snprintf(sizes, sizeof(sizes), "struct_size is %zu, version 1 has at least %zu",
             offsetof(code_executor_v1, get_extension), sizeof(code_executor_v1));
    check_sample("small_table", CODE_EXECUTOR_INVALID, WORDS(sizes));
}

static void test_a_missing_member_is_named(void **state)
{
    (void)state;
    check_sample("no_execute", CODE_EXECUTOR_INVALID, WORDS("lacks execute"));
    check_sample("no_name", CODE_EXECUTOR_INVALID, WORDS("lacks name"));
}

static void test_what_the_loader_refuses_has_its_words(void **state)
{
    (void)state;
    check_sample("missing_symbol", CODE_EXECUTOR_UNAVAILABLE,
                 WORDS("cannot be loaded", "a_function_that_is_nowhere"));
}

/* ------------------------------------------------------------------------------------------------
 * The list
 * --------------------------------------------------------------------------------------------- */

static const code_executor_plugin_entry *find_entry(const code_executor_plugin_list *list,
                                                    const char *name, const char *in)
{
    for (size_t i = 0; i < list->entry_count; i++) {
        const code_executor_plugin_entry *entry = list->entries[i];
        if (strcmp(entry->name, name) == 0 && strncmp(entry->path, in, strlen(in)) == 0)
            return entry;
    }
    fail_msg("%s is not listed", name);
    return NULL;
}

static void test_the_list_has_words_or_problems(void **state)
{
    (void)state;
    copy_sample("good", "b.so", 0);
    copy_sample("null_table", "c.so", 0);
    write_file("a.so", "text", 4);
    code_executor_plugin_list *list = NULL;
    assert_int_equal(code_executor_plugin_list_make(&list, NULL), CODE_EXECUTOR_OK);
    assert_true(list->entry_count >= 3);
    assert_string_equal(list->folders[0], folder);
    assert_string_equal(list->entries[0]->name, "a");
    assert_string_equal(list->entries[1]->name, "b");
    const code_executor_plugin_entry *good = find_entry(list, "b", folder);
    assert_string_equal(good->version, "1.2.3");
    assert_string_equal(good->description, "Does nothing");
    assert_null(good->problem);
    assert_null(good->shadowed_by);
    const code_executor_plugin_entry *bad = find_entry(list, "c", folder);
    assert_null(bad->version);
    assert_null(bad->description);
    assert_non_null(strstr(bad->problem, "returned no table"));
    assert_non_null(strstr(find_entry(list, "a", folder)->problem, "no ELF header"));
    code_executor_plugin_list_free(list);
}

static void test_the_list_says_what_is_shadowed(void **state)
{
    (void)state;
    char path[8192];
    snprintf(path, sizeof(path), "%s:%s:%s", folder, SAMPLES, folder);
    setenv(PLUGIN_PATH, path, 1);
    copy_sample("good", "good.so", 0);
    code_executor_plugin_list *list = NULL;
    assert_int_equal(code_executor_plugin_list_make(&list, NULL), CODE_EXECUTOR_OK);
    assert_string_equal(list->folders[1], SAMPLES);
    assert_string_not_equal(list->folders[2], folder); /* each folder once */
    assert_null(find_entry(list, "good", folder)->shadowed_by);
    assert_string_equal(find_entry(list, "good", SAMPLES)->shadowed_by, in_folder("good.so"));
    code_executor_plugin_list_free(list);
}

static void test_a_thousand_plugins_fit_a_message(void **state)
{
    (void)state;
    for (int i = 0; i < 1000; i++) {
        char name[32];
        snprintf(name, sizeof(name), "plugin_number_%d.so", i);
        write_file(name, "x", 1);
    }
    check_refusal(
        "nothing", CODE_EXECUTOR_NOT_FOUND,
        WORDS("no plugin \"nothing\"", "plugin_number_0, ", "Folders searched: ", folder));
    code_executor_plugin_list *list = NULL;
    assert_int_equal(code_executor_plugin_list_make(&list, NULL), CODE_EXECUTOR_OK);
    assert_true(list->entry_count >= 1000);
    code_executor_plugin_list_free(list);
}

/* ------------------------------------------------------------------------------------------------ */

static size_t count_entries(const char *path)
{
    size_t count = 0;
    DIR *directory = opendir(path);
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

/* Lines of /proc/self/maps that have NAME. */
static size_t count_mappings(const char *name)
{
    size_t count = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    for (char line[8192]; fgets(line, sizeof(line), maps) != NULL;)
        count += strstr(line, name) != NULL;
    fclose(maps);
    return count;
}

static void test_loading_100_times_leaves_nothing_behind(void **state)
{
    (void)state;
    copy_sample("good", "sample.so", 0);
    check_load("sample");
    size_t descriptors = count_entries("/proc/self/fd");
    size_t threads = count_entries("/proc/self/task");
    for (int i = 0; i < 100; i++) {
        check_load("sample");
        check_refusal("none", CODE_EXECUTOR_NOT_FOUND, WORDS("none"));
    }
    assert_int_equal(count_entries("/proc/self/fd"), descriptors);
    assert_int_equal(count_entries("/proc/self/task"), threads);
    assert_int_equal(count_mappings("sample.so"), 0);
}

static void test_a_plugin_loaded_twice_is_unloaded_twice(void **state)
{
    (void)state;
    copy_sample("good", "sample.so", 0);
    code_executor_plugin *first = NULL;
    code_executor_plugin *second = NULL;
    assert_int_equal(code_executor_plugin_load("sample", &first, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(code_executor_plugin_load("sample", &second, NULL), CODE_EXECUTOR_OK);
    code_executor_plugin_unload(first);
    assert_string_equal(code_executor_plugin_table(second)->name, "sample");
    code_executor_plugin_unload(second);
    assert_int_equal(count_mappings("sample.so"), 0);
    code_executor_plugin_unload(NULL);
}

#define PLUGIN_TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLUGIN_TEST(test_a_plugin_is_loaded_by_name),
        PLUGIN_TEST(test_a_name_with_a_slash_is_a_path),
        PLUGIN_TEST(test_a_file_may_be_renamed),
        PLUGIN_TEST(test_the_first_folder_decides),
        PLUGIN_TEST(test_empty_entries_of_the_path_are_skipped),
        PLUGIN_TEST(test_not_found_names_folders_and_plugins),
        PLUGIN_TEST(test_names_that_are_none),
        PLUGIN_TEST(test_a_name_of_10_kb_is_cut_in_the_message),
        PLUGIN_TEST(test_a_text_file_is_no_plugin),
        PLUGIN_TEST(test_an_object_file_is_no_plugin),
        PLUGIN_TEST(test_a_file_cut_short_is_refused),
        PLUGIN_TEST(test_a_plugin_of_another_machine_is_refused),
        PLUGIN_TEST(test_what_is_no_file_is_refused),
        PLUGIN_TEST(test_a_link_to_nothing_is_not_there),
        PLUGIN_TEST(test_a_file_that_may_not_be_read_is_denied),
        PLUGIN_TEST(test_a_library_without_the_entry_is_refused),
        PLUGIN_TEST(test_a_later_abi_is_named),
        PLUGIN_TEST(test_a_plugin_that_gives_no_table_is_refused),
        PLUGIN_TEST(test_a_table_that_is_too_small_is_refused),
        PLUGIN_TEST(test_a_missing_member_is_named),
        PLUGIN_TEST(test_what_the_loader_refuses_has_its_words),
        PLUGIN_TEST(test_the_list_has_words_or_problems),
        PLUGIN_TEST(test_the_list_says_what_is_shadowed),
        PLUGIN_TEST(test_a_thousand_plugins_fit_a_message),
        PLUGIN_TEST(test_loading_100_times_leaves_nothing_behind),
        PLUGIN_TEST(test_a_plugin_loaded_twice_is_unloaded_twice),
    };
    return cmocka_run_group_tests_name("plugins", tests, NULL, NULL);
}
