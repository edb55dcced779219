/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox.c: what a sandbox gives to the code in it, and what its configuration does. What it keeps away
 * is in sandbox_escape.c and sandbox_kernel.c.
 */
#include "sandbox_support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* Whether create with these members fails, with every one of WORDS (until NULL) in its message. */
static void assert_refused(const char *members, ...)
{
    code_executor_instance *instance = NULL;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    char *json = format_text("{%s}", members);
    assert_int_equal(sandbox_table()->create(NULL, json, &instance, &error), CODE_EXECUTOR_INVALID);
    assert_null(instance);
    va_list words;
    va_start(words, members);
    for (const char *word = va_arg(words, const char *); word; word = va_arg(words, const char *))
        if (!strstr(error.message, word))
            fail_msg("%s: no \"%s\" in: %s", json, word, error.message);
    va_end(words);
    free(json);
}

/* ------------------------------------------------------------------------------------------------
 * What is inside
 * --------------------------------------------------------------------------------------------- */

static void files_go_both_ways_through_the_workspace(void **state)
{
    (void)state;
    box *self = box_new("");
    char *given = format_text("%s/given", self->work_dir);
    char *made = format_text("%s/made", self->work_dir);
    write_text(given, "from the host");
    assert_string_equal(box_shell(self, "cat given; printf 'from inside' > made; pwd"),
                        "from the host/workspace");
    char *text = read_text(made);
    assert_string_equal(text, "from inside");
    free(text);
    free(made);
    free(given);
    box_free(self);
}

static void without_a_work_dir_the_workspace_is_private(void **state)
{
    (void)state;
    box *self = box_new("\"work_dir\": null");
    box_shell(self, "echo kept > file");
    char *work_dir = box_describe(self, "work_dir");
    struct stat status;
    assert_int_equal(stat(work_dir, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
    assert_int_equal(sandbox_table()->stop(self->instance, NULL), CODE_EXECUTOR_OK);
    assert_int_equal(stat(work_dir, &status), -1);
    free(work_dir);
    box_free(self);
}

static void it_has_a_name_a_home_and_a_loopback(void **state)
{
    (void)state;
    box *self = box_new("");
    assert_string_equal(box_shell(self, "id -un; hostname; echo $HOME; echo x > ~/x; cat ~/x"),
                        "sandbox\nsandbox\n/home/sandbox\nx");
    const outcome *ran = box_run(
        self, "python",
        "import socket\n"
        "s = socket.create_server(('127.0.0.1', 0))\n"
        "c = socket.create_connection(s.getsockname())\n"
        "print(socket.gethostbyname('localhost'), socket.gethostbyname(socket.gethostname()))\n");
    assert_string_equal(ran->output, "127.0.0.1 127.0.0.1\n");
    box_free(self);
}

static void what_programs_commonly_need_works(void **state)
{
    (void)state;
    box *self = box_new("");
    const outcome *ran = box_run(
        self, "python",
        "import multiprocessing, os, subprocess, tempfile, threading\n"
        "with multiprocessing.Pool(2) as pool: print(pool.map(abs, [-1, -2]))\n"
        "t = threading.Thread(target=print, args=('thread',)); t.start(); t.join()\n"
        "print(subprocess.run(['sh', '-c', 'echo child'], capture_output=True, text=True).stdout, "
        "end='')\n"
        "with tempfile.NamedTemporaryFile() as f: print(f.write(b'x'))\n"
        "m, s = os.openpty(); print(os.isatty(s))\n"
        "open('/dev/null', 'w').write('x'); print(len(open('/dev/urandom', 'rb').read(4)))\n");
    assert_string_equal(ran->output, "[1, 2]\nthread\nchild\n1\nTrue\n4\n");
    box_free(self);
}

static void what_is_kept_inside_ends_with(int32_t (*end)(code_executor_instance *instance,
                                                         code_executor_error *error))
{
    box *self = box_new("");
    box_shell(self, "touch /tmp/kept /dev/shm/kept ~/kept kept");
    assert_string_equal(box_shell(self, "ls /tmp /dev/shm ~ . | grep -c kept"), "4");
    assert_int_equal(end(self->instance, NULL), CODE_EXECUTOR_OK);
    assert_string_equal(box_shell(self, "ls /tmp /dev/shm ~ . | grep -c kept"), "1");
    box_free(self);
}

static void what_is_kept_inside_ends_with_a_stop(void **state)
{
    (void)state;
    what_is_kept_inside_ends_with(sandbox_table()->stop);
}

static void what_is_kept_inside_ends_with_a_restart(void **state)
{
    (void)state;
    what_is_kept_inside_ends_with(sandbox_table()->restart);
}

static void a_private_workspace_outlives_a_restart(void **state)
{
    (void)state;
    box *self = box_new("\"work_dir\": null");
    box_shell(self, "echo kept > file");
    assert_int_equal(sandbox_table()->restart(self->instance, NULL), CODE_EXECUTOR_OK);
    assert_string_equal(box_shell(self, "cat file"), "kept");
    box_free(self);
}

static void two_sandboxes_run_side_by_side(void **state)
{
    (void)state;
    box *one = box_new("");
    box *two = box_new("");
    box_shell(one,
              "(while :; do echo one | nc -l -p 8765 2>/dev/null || sleep 1; done) & sleep 0.1");
    assert_string_equal(box_shell(two, "echo two"), "two");
    box_free(one);
    assert_string_equal(box_shell(two, "echo still"), "still");
    box_free(two);
}

/* ------------------------------------------------------------------------------------------------
 * Options
 * --------------------------------------------------------------------------------------------- */

static void binds_show_files_and_folders(void **state)
{
    (void)state;
    const char *folder = new_folder();
    char *file = format_text("%s/file", folder);
    write_text(file, "shown");
    char *members =
        format_text("\"bind_ro\": [\"%s\", \"%s:/data/here\"], \"bind_rw\": [\"%s:/data/w\"]", file,
                    folder, folder);
    box *self = box_new(members);
    assert_string_equal(box_shell(self,
                                  "cat %s /data/here/file; echo new > /data/w/new; "
                                  "touch /data/here/x 2>/dev/null || echo read-only; "
                                  "(echo x > %s) 2>/dev/null || echo read-only",
                                  file, file),
                        "shownshownread-only\nread-only");
    char *made = format_text("%s/new", folder);
    assert_int_equal(access(made, F_OK), 0);
    box_free(self);
    free(made);
    free(members);
    free(file);
}

static void a_single_file_can_be_bound_writable(void **state)
{
    (void)state;
    char *file = format_text("%s/file", new_folder());
    write_text(file, "before");
    char *members = format_text("\"bind_rw\": [\"%s:/srv/file\"]", file);
    box *self = box_new(members);
    box_shell(self, "printf after > /srv/file");
    char *text = read_text(file);
    assert_string_equal(text, "after");
    free(text);
    box_free(self);
    free(members);
    free(file);
}

static void a_bind_that_is_not_there_is_named(void **state)
{
    (void)state;
    box *self = box_new("\"bind_ro\": [\"/there/is/nothing\"]");
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    assert_int_equal(sandbox_table()->start(self->instance, &error), CODE_EXECUTOR_INVALID);
    assert_non_null(strstr(error.message, "bind_ro"));
    assert_non_null(strstr(error.message, "/there/is/nothing"));
    box_free(self);
}

static void binds_do_not_hide_what_the_sandbox_needs(void **state)
{
    (void)state;
    assert_refused("\"bind_ro\": [\"/tmp\"]", "bind_ro", "/tmp", NULL);
    assert_refused("\"bind_rw\": [\"/opt:/workspace/x\"]", "bind_rw", "/workspace", NULL);
    assert_refused("\"bind_rw\": [\"/opt:/proc\"]", "bind_rw", "/proc", NULL);
    assert_refused("\"bind_ro\": [\"/opt:/x/../usr\"]", "bind_ro", "/usr", NULL);
    assert_refused("\"bind_ro\": [\"/opt:relative\"]", "bind_ro", "relative", NULL);
    assert_refused("\"bind_ro\": [\"/opt:/a\"], \"bind_rw\": [\"/srv:/a/\"]", "/a", "two things",
                   NULL);
}

static void env_reaches_the_code(void **state)
{
    (void)state;
    box *self = box_new("\"env\": {\"GREETING\": \"hello\", \"HOME\": \"/tmp\"}");
    assert_string_equal(box_shell(self, "echo $GREETING $HOME"), "hello /tmp");
    box_free(self);
}

static void the_network_of_the_host_is_there_when_asked_for(void **state)
{
    (void)state;
    box *none = box_new("");
    box *host = box_new("\"network\": \"host\"");
    char *inside = strdup(box_shell(none, "readlink /proc/self/ns/net"));
    char *outside = strdup(box_shell(host, "readlink /proc/self/ns/net"));
    char own[64] = "";
    assert_true(readlink("/proc/self/ns/net", own, sizeof own - 1) > 0);
    assert_string_equal(outside, own);
    assert_string_not_equal(inside, own);
    free(inside);
    free(outside);
    box_free(none);
    box_free(host);
}

static void sizes_are_checked(void **state)
{
    (void)state;
    assert_refused("\"memory\": \"much\"", "memory", "much", NULL);
    assert_refused("\"memory\": \"1k\"", "memory", "too small", NULL);
    assert_refused("\"memory\": \"99999999999999g\"", "memory", NULL);
    assert_refused("\"memory\": 4.5", "memory", NULL);
    assert_refused("\"tmpfs_size\": \"-1\"", "tmpfs_size", NULL);
    assert_refused("\"pids_limit\": 1", "pids_limit", NULL);
    assert_refused("\"cpus\": 0", "cpus", NULL);
}

static void unknown_keys_are_refused_with_the_nearest(void **state)
{
    (void)state;
    assert_refused("\"bind_or\": []", "bind_or", "bind_ro", NULL);
    assert_refused("\"network\": \"bridge\"", "network", NULL);
}

static void limits_are_described(void **state)
{
    (void)state;
    box *self = box_new("\"memory\": \"256m\", \"cpus\": 1.5, \"pids_limit\": 99");
    char *foreseen = box_describe(self, "limits.memory.by");
    box_shell(self, "true");
    char *imposed = box_describe(self, "limits.memory.by");
    char *memory = box_describe(self, "limits.memory.limit");
    char *pids = box_describe(self, "limits.pids.limit");
    assert_string_equal(foreseen, imposed);
    assert_string_equal(memory, "268435456");
    assert_string_equal(pids, "99");
    free(foreseen);
    free(imposed);
    free(memory);
    free(pids);
    box_free(self);
    box *free_box = box_new("\"pids_limit\": null");
    char *none = box_describe(free_box, "limits.pids");
    assert_string_equal(none, "null");
    free(none);
    box_free(free_box);
}

/* An ordinary user without a cgroup gets less than he asked for, and is told. */
static void a_limit_that_is_imposed_otherwise_is_warned_of(void **state)
{
    static const struct {
        const char *configuration, *limit, *means, *words;
    } cases[] = {
        {"\"memory\": \"256m\"", "limits.memory.by", "rlimit, for each process",
         "memory is limited for each process"},
        {"\"cpus\": 0.5", "limits.cpus.by", "processor affinity, rounded up", "cpus is rounded up"},
        {"\"pids_limit\": 99", "limits.pids.by", "not imposed: no cgroup may be made here",
         "pids_limit is not imposed"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        box *self = box_new(cases[i].configuration);
        box_shell(self, "true");
        char *means = box_describe(self, cases[i].limit);
        bool warned = strstr(self->warnings, cases[i].words) != NULL;
        assert_int_equal(warned, strcmp(means, cases[i].means) == 0);
        assert_true(warned || strncmp(means, "cgroup", 6) == 0 || strcmp(means, "rlimit") == 0);
        free(means);
        box_free(self);
    }
}

static void what_is_imposed_as_asked_is_not_warned_of(void **state)
{
    (void)state;
    box *self = box_new("\"cpus\": 1");
    box_shell(self, "true");
    assert_null(strstr(self->warnings, "cpus"));
    box_free(self);
}

/* Two loops that would keep two processors busy get the time of half a one, or one processor alone. */
static void processors_are_limited(void **state)
{
    (void)state;
    box *self = box_new("\"cpus\": 0.5");
    const outcome *ran = box_run(self, "python",
                                 "import os, time\n"
                                 "def used(): return sum(os.times()[:4])\n"
                                 "before = used()\n"
                                 "if os.fork() == 0:\n"
                                 "    end = time.time() + 2\n"
                                 "    while time.time() < end: pass\n"
                                 "    os._exit(0)\n"
                                 "end = time.time() + 2\n"
                                 "while time.time() < end: pass\n"
                                 "os.wait()\n"
                                 "print(used() - before < 2.6)\n");
    assert_string_equal(ran->output, "True\n");
    box_free(self);
}

int main(void)
{
    sandbox_require();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_go_both_ways_through_the_workspace),
        cmocka_unit_test(without_a_work_dir_the_workspace_is_private),
        cmocka_unit_test(it_has_a_name_a_home_and_a_loopback),
        cmocka_unit_test(what_programs_commonly_need_works),
        cmocka_unit_test(what_is_kept_inside_ends_with_a_stop),
        cmocka_unit_test(what_is_kept_inside_ends_with_a_restart),
        cmocka_unit_test(a_private_workspace_outlives_a_restart),
        cmocka_unit_test(two_sandboxes_run_side_by_side),
        cmocka_unit_test(binds_show_files_and_folders),
        cmocka_unit_test(a_single_file_can_be_bound_writable),
        cmocka_unit_test(a_bind_that_is_not_there_is_named),
        cmocka_unit_test(binds_do_not_hide_what_the_sandbox_needs),
        cmocka_unit_test(env_reaches_the_code),
        cmocka_unit_test(the_network_of_the_host_is_there_when_asked_for),
        cmocka_unit_test(sizes_are_checked),
        cmocka_unit_test(unknown_keys_are_refused_with_the_nearest),
        cmocka_unit_test(limits_are_described),
        cmocka_unit_test(a_limit_that_is_imposed_otherwise_is_warned_of),
        cmocka_unit_test(what_is_imposed_as_asked_is_not_warned_of),
        cmocka_unit_test(processors_are_limited),
    };
    return cmocka_run_group_tests_name("sandbox", tests, NULL, NULL);
}
