/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox_escape.c: code that tries to get out of a sandbox, and does not. One way out a test. What the
 * kernel answers to single system calls is in sandbox_kernel.c; what happens when a host dies, in
 * tests/faults/sandbox.c.
 */
#include "sandbox_support.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fcntl.h>

#include <cmocka.h>

static int new_box(void **state)
{
    *state = box_new("");
    return 0;
}

static int free_box(void **state)
{
    box_free(*state);
    return 0;
}

/* ------------------------------------------------------------------------------------------------
 * Files
 * --------------------------------------------------------------------------------------------- */

static void the_shadow_file_is_not_there(void **state)
{
    assert_string_equal(box_shell(*state, "cat /etc/shadow /etc/gshadow 2>&1 | grep -c 'No such'"),
                        "2");
}

static void files_of_the_host_are_not_there(void **state)
{
    const char *folder = new_folder();
    char *secret = format_text("%s/secret", folder);
    write_text(secret, "secret");
    assert_string_equal(box_shell(*state,
                                  "cat %s 2>/dev/null; ls -d %s /root /home/* /var/log /srv "
                                  "2>/dev/null; true",
                                  secret, folder),
                        "/home/sandbox");
    free(secret);
}

static void of_the_settings_only_known_ones_are_there(void **state)
{
    const char *found =
        box_shell(*state, "ls -d /etc/ssh /etc/sudoers /etc/ssl/private /etc/docker "
                          "/etc/environment /etc/machine-id 2>/dev/null || true");
    assert_string_equal(found, "");
}

static void users_of_the_host_are_not_told(void **state)
{
    assert_string_equal(box_shell(*state, "cut -d: -f1 /etc/passwd | tr '\\n' ' '"),
                        "root sandbox nobody ");
}

static void the_environment_of_the_host_is_not_told(void **state)
{
    (void)state;
    setenv("SANDBOX_TEST_KEY", "secret", 1);
    box *self = box_new("");
    assert_string_equal(
        box_shell(self, "env | grep -c secret; "
                        "cat /proc/*/environ 2>/dev/null | grep -c SANDBOX_TEST_KEY; true"),
        "0\n0");
    unsetenv("SANDBOX_TEST_KEY");
    box_free(self);
}

static void open_descriptors_of_the_host_do_not_come_along(void **state)
{
    (void)state;
    int root = open("/", O_RDONLY | O_DIRECTORY); /* not close-on-exec, as a careless host has it */
    assert_true(root >= 0);
    box *self = box_new("");
    assert_string_equal(box_shell(self, "ls /proc/self/fd | tr '\\n' ' '"), "0 1 2 3 ");
    assert_string_equal(box_shell(self, "readlink /proc/self/fd/3 | grep -c '^/proc/' || true"),
                        "0");
    close(root);
    box_free(self);
}

static void writes_outside_of_the_workspace_stay_inside(void **state)
{
    char *mark = format_text("/tmp/%s", unique_word());
    box_shell(*state, "echo x > %s && cat %s", mark, mark);
    assert_int_equal(access(mark, F_OK), -1);
    free(mark);
}

static void the_root_and_the_system_are_read_only(void **state)
{
    assert_string_equal(box_shell(*state,
                                  "for d in / /usr /usr/bin /usr/lib /etc /etc/ssl /dev /run /home "
                                  "/run/code_executor /proc/self; do "
                                  "touch $d/x 2>/dev/null && echo $d; done; true"),
                        "");
}

static void a_workspace_of_another_sandbox_is_not_there(void **state)
{
    box *other = box_new("");
    box_shell(other, "echo secret > kept; echo secret > /tmp/kept; echo secret > ~/kept");
    assert_string_equal(box_shell(*state,
                                  "cat %s/kept /tmp/kept ~/kept 2>/dev/null; "
                                  "ls /workspace /tmp ~ | grep -c kept; true",
                                  other->work_dir),
                        "0");
    box_free(other);
}

/* The host writes the next block's file; a link in its place must not lead it out. */
static void a_planted_link_does_not_lead_the_host_out(void **state)
{
    box *self = *state;
    char *target = format_text("%s/target", new_folder());
    write_text(target, "whole");
    box_shell(self, "ln -s %s next.sh", target);
    const outcome *ran = box_run(self, "sh", "# filename: next.sh\necho owned\n");
    assert_false(ran->exit_code == 0 && strcmp(ran->output, "owned\n") != 0);
    char *text = read_text(target);
    assert_string_equal(text, "whole");
    free(text);
    free(target);
}

static void a_planted_folder_link_does_not_lead_the_host_out(void **state)
{
    box *self = *state;
    const char *folder = new_folder();
    box_shell(self, "ln -s %s out", folder);
    box_run(self, "sh", "# filename: out/next.sh\necho owned\n");
    char *written = format_text("%s/next.sh", folder);
    assert_int_equal(access(written, F_OK), -1);
    free(written);
}

static void files_it_makes_belong_to_the_host_and_lend_no_rights(void **state)
{
    box *self = *state;
    box_shell(self,
              "cp /bin/sh shell; chmod 4755 shell 2>/dev/null; chmod g+s shell 2>/dev/null; true");
    char *path = format_text("%s/shell", self->work_dir);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_uid, geteuid());
    assert_int_equal(status.st_mode & (S_ISUID | S_ISGID), 0);
    free(path);
}

/* ------------------------------------------------------------------------------------------------
 * Processes
 * --------------------------------------------------------------------------------------------- */

static void processes_of_the_host_are_not_seen(void **state)
{
    const char *seen =
        box_shell(*state, "ls -d /proc/[0-9]* | wc -l; cat /proc/[0-9]*/comm | sort -u | "
                          "grep -cvE '^(runner|sh|ls|wc|cat|sort|grep)$'; true");
    long count = strtol(seen, NULL, 10);
    assert_in_range(count, 2, 12);
    assert_string_equal(strchr(seen, '\n'), "\n0");
}

static void processes_of_the_host_cannot_be_signalled(void **state)
{
    pid_t bystander = fork();
    assert_true(bystander >= 0);
    if (bystander == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    box_attack(*state, "kill %d 9", (int)bystander);
    (void)box_run(*state, "sh", "./attack kill -1 9"); /* ends itself, and what watches over it */
    char *all = format_text("for i in $(seq $((%d - 100)) $((%d + 100))); do kill -9 $i; done",
                            (int)bystander, (int)bystander);
    (void)box_run(*state, "sh", all); /* the same: one of the numbers may be its own, inside */
    free(all);
    assert_int_equal(kill(bystander, 0), 0);
    assert_int_equal(waitpid(bystander, NULL, WNOHANG), 0);
    kill(bystander, SIGKILL);
    waitpid(bystander, NULL, 0);
}

static void the_runner_cannot_be_killed(void **state)
{
    box_shell(*state, "for s in HUP INT TERM KILL STOP SEGV; do kill -$s 1; done; true");
    assert_string_equal(box_shell(*state, "echo alive"), "alive");
}

/* With a frame of its own making on the runner's connection code could report what never happened. */
static void a_result_cannot_be_forged(void **state)
{
    const outcome *ran = box_run(*state, "sh",
                                 "for p in /proc/[0-9]*; do for f in $p/fd/*; do\n"
                                 "  case $p in /proc/$$|/proc/self) continue;; esac\n"
                                 "  printf '\\034\\0\\0\\0\\102\\0\\0\\0\\1\\0\\0\\0' > $f\n"
                                 "done; done 2>/dev/null\nexit 7");
    assert_int_equal(ran->status, CODE_EXECUTOR_OK);
    assert_int_equal(ran->exit_code, 7);
    assert_string_equal(box_shell(*state, "echo alive"), "alive");
}

static void nothing_is_left_after_stop(void **state)
{
    box *self = *state;
    char *word = strdup(unique_word());
    box_attack(self, "hide %s > /dev/null 2>&1", word);
    assert_true(process_becomes(word, true, 20));
    assert_int_equal(sandbox_table()->stop(self->instance, NULL), CODE_EXECUTOR_OK);
    assert_true(process_becomes(word, false, 0) || process_becomes(word, false, 1));
    free(word);
}

static void nothing_is_left_after_restart(void **state)
{
    box *self = *state;
    char *word = strdup(unique_word());
    box_attack(self, "hide %s > /dev/null 2>&1", word);
    assert_true(process_becomes(word, true, 20));
    assert_int_equal(sandbox_table()->restart(self->instance, NULL), CODE_EXECUTOR_OK);
    assert_true(process_becomes(word, false, 1));
    assert_string_equal(box_shell(self, "echo fresh"), "fresh");
    free(word);
}

/* ------------------------------------------------------------------------------------------------
 * Rights
 * --------------------------------------------------------------------------------------------- */

static void it_has_no_capability_and_gets_none(void **state)
{
    assert_string_equal(
        box_shell(*state, "grep -E '^(Cap(Prm|Eff|Bnd|Amb)|NoNewPrivs)' /proc/self/status | "
                          "tr -d '\\t' | tr '\\n' ' '"),
        "CapPrm:0000000000000000 CapEff:0000000000000000 CapBnd:0000000000000000 "
        "CapAmb:0000000000000000 NoNewPrivs:1 ");
}

/* A copy of a program that the host's root owns, with the bit, if this test may make one. */
static void a_set_user_id_program_lends_nothing(void **state)
{
    box *self = *state;
    box_shell(self, "cp /bin/cat reader");
    char *path = format_text("%s/reader", self->work_dir);
    assert_int_equal(chmod(path, 04755), 0);
    free(path);
    assert_string_equal(
        box_shell(self, "./reader /proc/self/status | grep -E '^Cap(Prm|Eff)|^Uid' | "
                        "tr '\\t' ' ' | tr '\\n' ';'"),
        "Uid: 1000 1000 1000 1000;CapPrm: 0000000000000000;CapEff: 0000000000000000;");
}

static void su_and_the_like_do_not_work(void **state)
{
    box_shell(*state,
              "for p in su sudo pkexec; do "
              "command -v $p >/dev/null && timeout 5 $p -c 'cat /etc/shadow' root </dev/null && "
              "exit 1; done 2>/dev/null; true");
}

/* ------------------------------------------------------------------------------------------------
 * Network
 * --------------------------------------------------------------------------------------------- */

/* Listens where the host alone should reach it; the port. */
static int listen_on_loopback(int *port)
{
    int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    assert_int_equal(bind(file, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(file, 16), 0);
    assert_int_equal(getsockname(file, (struct sockaddr *)&address, &size), 0);
    *port = ntohs(address.sin_port);
    return file;
}

static int listen_abstractly(const char *name)
{
    int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path + 1, name, strlen(name));
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
    assert_int_equal(bind(file, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(file, 16), 0);
    return file;
}

static void loopback_services_of_the_host_are_out_of_reach(void **state)
{
    int port;
    int service = listen_on_loopback(&port);
    assert_string_equal(box_attack(*state, "tcp %d", port), "ECONNREFUSED");
    close(service);
}

static void abstract_sockets_of_the_host_are_out_of_reach(void **state)
{
    const char *name = unique_word();
    int service = listen_abstractly(name);
    assert_string_equal(box_attack(*state, "abstract %s", name), "ECONNREFUSED");
    close(service);
}

/* The one wall between a sandbox with the host's network and, say, a desktop's message bus. */
static void abstract_sockets_are_out_of_reach_with_the_network_of_the_host(void **state)
{
    (void)state;
    box *self = box_new("\"network\": \"host\"");
    int port;
    int tcp = listen_on_loopback(&port);
    assert_string_equal(box_attack(self, "tcp %d", port), "ok");
    const char *name = unique_word();
    int service = listen_abstractly(name);
    const char *answer = box_attack(self, "abstract %s", name);
    char *landlock = box_describe(self, "engine.landlock");
    assert_string_equal(answer, atoi(landlock) >= 6 ? "EPERM" : "ok");
    free(landlock);
    close(service);
    close(tcp);
    box_free(self);
}

static void there_is_no_network_but_loopback(void **state)
{
    assert_string_equal(box_shell(*state,
                                  "ls /proc/self/net >/dev/null; tail -n +3 /proc/net/dev | "
                                  "cut -d: -f1 | tr -d ' '"),
                        "lo");
}

static void the_socket_of_docker_is_not_there(void **state)
{
    assert_string_equal(box_attack(*state, "unix /var/run/docker.sock"), "ENOENT");
    assert_string_equal(box_attack(*state, "unix /run/docker.sock"), "ENOENT");
    assert_string_equal(box_shell(*state, "find / -xdev -type s 2>/dev/null; true"), "");
}

/* ------------------------------------------------------------------------------------------------
 * Exhaustion
 * --------------------------------------------------------------------------------------------- */

static bool is_imposed(box *self, const char *limit)
{
    char *path = format_text("limits.%s.by", limit);
    box_shell(self, "true");
    char *means = box_describe(self, path);
    bool imposed = strncmp(means, "not imposed", 11) != 0;
    if (!imposed)
        print_message("%s: %s\n", path, means);
    free(means);
    free(path);
    return imposed;
}

static void processes_run_out_inside_alone(void **state)
{
    (void)state;
    box *self = box_new("\"pids_limit\": 64");
    if (is_imposed(self, "pids")) {
        const char *answer = box_attack(self, "fork-all 2000");
        assert_in_range(strtol(answer, NULL, 10), 16, 64);
        assert_non_null(strstr(answer, "EAGAIN"));
        assert_string_equal(box_shell(self, "echo alive"), "alive");
    }
    box_free(self);
}

static void a_fork_bomb_ends_with_its_time(void **state)
{
    (void)state;
    box *self = box_new("\"pids_limit\": 64, \"timeout\": 2");
    if (is_imposed(self, "pids")) {
        const outcome *ran =
            box_run(self, "sh", "bomb() { bomb | bomb & }; bomb 2>/dev/null; sleep 60");
        assert_int_equal(ran->status, CODE_EXECUTOR_OK);
        assert_string_equal(box_shell(self, "echo alive"), "alive");
    }
    box_free(self);
}

static void memory_runs_out_inside_alone(void **state)
{
    (void)state;
    box *self = box_new("\"memory\": \"64m\"");
    char *copied = strdup(box_attack(self, "eat-memory 1"));
    assert_string_equal(copied, "ok");
    const outcome *ran = box_run(self, "sh", "./attack eat-memory 400");
    char *means = box_describe(self, "limits.memory.by");
    assert_int_equal(ran->status, CODE_EXECUTOR_OK);
    if (strncmp(means, "cgroup", 6) == 0)
        assert_int_equal(ran->exit_code, 137);
    else
        assert_string_equal(ran->output, "ENOMEM\n");
    assert_string_equal(box_shell(self, "echo alive"), "alive");
    free(means);
    free(copied);
    box_free(self);
}

/* Files in memory outlive those who wrote them: whatever the kernel kills does not help, until the sandbox itself is
 * ended and made anew. */
static void memory_full_of_files_ends_at_most_the_sandbox(void **state)
{
    (void)state;
    box *self = box_new("\"memory\": \"64m\"");
    box_shell(self, "true");
    char *means = box_describe(self, "limits.memory.by");
    if (strncmp(means, "cgroup", 6) == 0) {
        box_attack(self, "eat-memory 1");
        const outcome *ran = box_run(self, "sh", "./attack fill /tmp/file 200");
        assert_int_equal(ran->outcome, CODE_EXECUTOR_OUTCOME_OUT_OF_MEMORY);
        /* The files stay, so that what comes next may run or not; a restart clears them away. */
        assert_int_equal(sandbox_table()->restart(self->instance, NULL), CODE_EXECUTOR_OK);
        assert_string_equal(box_shell(self, "echo alive"), "alive");
    }
    free(means);
    box_free(self);
}

static void folders_in_memory_run_full(void **state)
{
    (void)state;
    box *self = box_new("\"tmpfs_size\": \"4m\"");
    static const char *const folders[] = {"/tmp", "/dev/shm", "/home/sandbox"};
    for (size_t i = 0; i < 3; i++) {
        const char *answer = box_attack(self, "fill %s/file 64", folders[i]);
        assert_in_range(strtol(answer, NULL, 10), 2, 4);
        assert_non_null(strstr(answer, "ENOSPC"));
    }
    box_free(self);
}

static void its_cgroup_cannot_be_changed(void **state)
{
    (void)state;
    box *self = box_new("\"memory\": \"64m\"");
    assert_string_equal(box_shell(self, "for f in $(find /sys -type f 2>/dev/null); do "
                                        "(echo 1 > $f) 2>/dev/null && echo $f; done; true"),
                        "");
    box_free(self);
}

/* ------------------------------------------------------------------------------------------------
 * One wall alone
 * --------------------------------------------------------------------------------------------- */

static void without_seccomp_the_other_walls_hold(void **state)
{
    (void)state;
    box *self = box_new("\"seccomp\": false");
    static const char *const refused[] = {"mount",    "mount-proc",         "umount /proc",
                                          "attach 1", "steal-descriptor 1", "read-memory 1",
                                          "device",   "handle /usr",        "hostname"};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        assert_string_equal(box_attack(self, "%s", refused[i]), "EPERM");
    assert_string_equal(box_attack(self, "open-descriptors 1"), "EACCES");
    box_free(self);
}

/* In a user namespace of its own it has all capabilities, and still cannot mount. */
static void without_seccomp_a_new_namespace_gains_no_mount(void **state)
{
    (void)state;
    box *self = box_new("\"seccomp\": false");
    char *landlock = strdup("0");
    box_shell(self, "true");
    free(landlock);
    landlock = box_describe(self, "engine.landlock");
    if (atoi(landlock) > 0)
        box_shell(self, "! unshare -Urmpf sh -c 'mount -t proc proc /tmp' 2>/dev/null");
    free(landlock);
    box_free(self);
}

static void a_crash_leaves_no_core(void **state)
{
    const outcome *ran = box_run(*state, "sh", "ulimit -c unlimited 2>/dev/null; kill -SEGV $$");
    assert_int_equal(ran->exit_code, 139);
    assert_string_equal(box_shell(*state, "ls | grep -c core; true"), "0");
}

#define INSIDE(test) cmocka_unit_test_setup_teardown(test, new_box, free_box)

int main(void)
{
    sandbox_require();
    const struct CMUnitTest tests[] = {
        INSIDE(the_shadow_file_is_not_there),
        INSIDE(files_of_the_host_are_not_there),
        INSIDE(of_the_settings_only_known_ones_are_there),
        INSIDE(users_of_the_host_are_not_told),
        cmocka_unit_test(the_environment_of_the_host_is_not_told),
        cmocka_unit_test(open_descriptors_of_the_host_do_not_come_along),
        INSIDE(writes_outside_of_the_workspace_stay_inside),
        INSIDE(the_root_and_the_system_are_read_only),
        INSIDE(a_workspace_of_another_sandbox_is_not_there),
        INSIDE(a_planted_link_does_not_lead_the_host_out),
        INSIDE(a_planted_folder_link_does_not_lead_the_host_out),
        INSIDE(files_it_makes_belong_to_the_host_and_lend_no_rights),
        INSIDE(processes_of_the_host_are_not_seen),
        INSIDE(processes_of_the_host_cannot_be_signalled),
        INSIDE(the_runner_cannot_be_killed),
        INSIDE(a_result_cannot_be_forged),
        INSIDE(nothing_is_left_after_stop),
        INSIDE(nothing_is_left_after_restart),
        INSIDE(it_has_no_capability_and_gets_none),
        INSIDE(a_set_user_id_program_lends_nothing),
        INSIDE(su_and_the_like_do_not_work),
        INSIDE(loopback_services_of_the_host_are_out_of_reach),
        INSIDE(abstract_sockets_of_the_host_are_out_of_reach),
        cmocka_unit_test(abstract_sockets_are_out_of_reach_with_the_network_of_the_host),
        INSIDE(there_is_no_network_but_loopback),
        INSIDE(the_socket_of_docker_is_not_there),
        cmocka_unit_test(processes_run_out_inside_alone),
        cmocka_unit_test(a_fork_bomb_ends_with_its_time),
        cmocka_unit_test(memory_runs_out_inside_alone),
        cmocka_unit_test(memory_full_of_files_ends_at_most_the_sandbox),
        cmocka_unit_test(folders_in_memory_run_full),
        cmocka_unit_test(its_cgroup_cannot_be_changed),
        cmocka_unit_test(without_seccomp_the_other_walls_hold),
        cmocka_unit_test(without_seccomp_a_new_namespace_gains_no_mount),
        INSIDE(a_crash_leaves_no_core),
    };
    return cmocka_run_group_tests_name("sandbox_escape", tests, NULL, NULL);
}
