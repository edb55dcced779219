/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_strict.c: the profile "strict", attacked from inside.
 *
 * Each attack comes with what shows that it is one: where it can be had, the same code succeeds in a
 * container that leaves the defence out.
 */
#include "docker_support.h"
#include "json.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define STRICT "'profile': 'strict'"

static void expect_python(code_executor_instance *instance, const char *code, const char *output)
{
    code_executor_result *result = run(instance, "python", code);
    if (result->exit_code != 0 || strcmp(result->output, output) != 0)
        fail_msg("exit code %d, output %s, of %s", result->exit_code, result->output, code);
    docker->result_free(result);
}

/* Shell, and what it prints where the attack fails. */
static const struct {
    const char *attack;
    const char *output;
} in_shell[] = {
    /* write outside of the workspace */
    {"for folder in / /bin /usr/bin /etc /root /home /var /var/tmp /opt /srv /run /dev /proc /sys "
     "/.code_executor; do (: > $folder/x) 2> /dev/null && echo $folder; done; echo tried",
     "tried\n"},
    {"(echo 1 > /proc/sys/kernel/panic) 2> /dev/null && echo done; "
     "(echo b > /proc/sysrq-trigger) 2> /dev/null && echo done; "
     "(echo 0 > /proc/1/oom_score_adj) 2> /dev/null && echo done; echo tried",
     "tried\n"},
    /* leave the limits */
    {"find /sys/fs/cgroup -type d 2> /dev/null | while read -r folder; do "
     "(mkdir $folder/x) 2> /dev/null && echo made; "
     "(echo max > $folder/memory.max) 2> /dev/null && echo raised; done; echo tried",
     "tried\n"},
    {"mount -t tmpfs tmpfs /mnt 2> /dev/null && echo mounted; "
     "mount -o remount,rw / 2> /dev/null && echo remounted; echo tried",
     "tried\n"},
    {"unshare --user --map-root-user true 2> /dev/null && echo root; echo tried", "tried\n"},
    {"unshare --net true 2> /dev/null && echo unshared; chroot / true 2> /dev/null && echo in; "
     "mknod /tmp/disk b 8 0 2> /dev/null && echo made; echo tried",
     "tried\n"},
    /* see others */
    {"ls /sys/class/net", "lo\n"},
    {"cat /proc/1/comm; ls /proc/1/fd /proc/1/root/ 2> /dev/null; "
     "(cat /proc/1/environ) 2> /dev/null; echo tried",
     "runner\ntried\n"},
    /* end the one that watches */
    {"kill -KILL 1 2> /dev/null; kill -STOP 1 2> /dev/null; echo tried", "tried\n"},
    {"cat /proc/self/status | grep -E '^Cap|^NoNewPrivs|^Seccomp:' | tr -d '\\t'",
     "CapInh:0000000000000000\nCapPrm:0000000000000000\nCapEff:0000000000000000\n"
     "CapBnd:0000000000000000\nCapAmb:0000000000000000\nNoNewPrivs:1\nSeccomp:2\n"},
    {"df -k /tmp | tail -1 | awk '{print $2}'", "65536\n"},
};

/* Python, as above, below a line that says whether user NAMESPACES are to be tried; call(number, …) is a system call, and prints nothing where it is refused. */
static const char calls[] =
    "import ctypes, os, socket\n"
    "libc = ctypes.CDLL(None, use_errno=True)\n"
    "def attempt(name, call):\n"
    "    try:\n"
    "        if call() != -1:\n"
    "            print(name)\n"
    "    except OSError:\n"
    "        pass\n"
    "def numbered(name, call):\n"
    "    if os.uname().machine == 'x86_64':\n"
    "        attempt(name, call)\n"
    "if not podman:\n"
    "    attempt('user namespace', lambda: libc.unshare(0x10000000))\n"
    "    numbered('keyctl', lambda: libc.syscall(250, 0, -3, 1))\n"
    "attempt('ptrace', lambda: libc.ptrace(16, 1, 0, 0))\n"
    "attempt('setuid', lambda: libc.setuid(0))\n"
    "attempt('setgroups', lambda: libc.setgroups(0, None))\n"
    "numbered('bpf', lambda: libc.syscall(321, 0, 0, 0))\n"
    "numbered('perf', lambda: libc.syscall(298, 0, 0, -1, -1, 0))\n"
    "numbered('userfaultfd', lambda: libc.syscall(323, 0))\n"
    "numbered('kernel module', lambda: libc.syscall(175, 0, 0, 0))\n"
    "attempt('reboot', lambda: libc.reboot(0x1234567))\n"
    "attempt('memory', lambda: os.open('/proc/1/mem', os.O_RDWR))\n"
    "attempt('raw', lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3).fileno())\n"
    "attempt('icmp', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).fileno())\n"
    "for address in ('10.0.0.1', '172.17.0.1', '169.254.169.254', '192.0.2.1'):\n"
    "    attempt(address, lambda: socket.create_connection((address, 80), 3).fileno())\n"
    "    attempt(address, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', "
    "(address, 53)))\n"
    "attempt('name', lambda: len(socket.getaddrinfo('registry.example', 80)))\n"
    "print('tried')\n";

/* Where the root is read-only, Podman puts a file system in memory at /var/tmp; and its filter of system calls
 * lets keys be kept, in a ring of the container's own, and user namespaces be made. */
static const char *output_of(const char *attack, const char *output)
{
    if (podman_differs(attack, (const char *const[]){"/var/tmp", NULL}))
        return "/var/tmp\ntried\n";
    return podman_differs(attack, (const char *const[]){"unshare --user", NULL}) ? "root\ntried\n"
                                                                                 : output;
}

static void attacks_fail(void **state)
{
    (void)state;
    code_executor_instance *instance = make_instance(STRICT);
    for (size_t i = 0; i < sizeof in_shell / sizeof in_shell[0]; i++)
        expect_output(instance, in_shell[i].attack,
                      output_of(in_shell[i].attack, in_shell[i].output));
    char code[sizeof calls + 32];
    snprintf(code, sizeof code, "podman = %s\n%s", engine->is_podman ? "True" : "False", calls);
    expect_python(instance, code, "tried\n");
    expect_output(instance, "echo still there", "still there\n");
    docker->destroy(instance);
}

static void nobody_is_root(void **state)
{
    (void)state;
    char ids[64];
    unsigned uid = geteuid() == 0 ? 65534 : geteuid(), gid = geteuid() == 0 ? 65534 : getegid();
    snprintf(ids, sizeof ids, "%u:%u:%u\n", uid, gid, gid);
    code_executor_instance *instance = make_instance(STRICT);
    expect_output(instance, "echo $(id -u):$(id -g):$(id -G)", ids);
    docker->destroy(instance);
}

static void workspace_is_writable_and_what_is_there_readable(void **state)
{
    (void)state;
    char path[300], text[32] = "";
    struct stat status;
    snprintf(path, sizeof path, "%s/from_the_host", workspace);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("read\n", file);
    fclose(file);
    code_executor_instance *instance = make_instance(STRICT);
    expect_output(instance,
                  "cat from_the_host; echo written > from_inside; mkdir -p deep/er; "
                  "echo x > deep/er/file; touch $HOME/home; cat deep/er/file",
                  "read\nx\n");
    docker->destroy(instance);
    snprintf(path, sizeof path, "%s/from_inside", workspace);
    file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    assert_string_equal(text, "written\n");
    assert_int_equal(stat(workspace, &status), 0);
    assert_int_equal(status.st_uid, geteuid());
    assert_int_equal(status.st_mode & 07, 0);
}

/* A project of somebody else, on which root works: files there stay his. */
static void code_runs_as_the_owner_of_the_workspace(void **state)
{
    (void)state;
    char path[300];
    struct stat status;
    if (geteuid() != 0)
        skip();
    assert_int_equal(chown(workspace, 4321, 4322), 0);
    code_executor_instance *instance = make_instance(STRICT);
    expect_output(instance, "echo $(id -u):$(id -g); touch owned", "4321:4322\n");
    docker->destroy(instance);
    snprintf(path, sizeof path, "%s/owned", workspace);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_uid, 4321);
    assert_int_equal(chown(workspace, 0, 0), 0);
}

static void group_that_may_write_already_is_used(void **state)
{
    (void)state;
    struct stat status;
    if (geteuid() != 0)
        skip();
    assert_int_equal(chown(workspace, 0, 4322), 0);
    assert_int_equal(chmod(workspace, 0770), 0);
    code_executor_instance *instance = make_instance(STRICT);
    expect_output(instance, "echo $(id -u):$(id -g); touch shared", "65534:4322\n");
    docker->destroy(instance);
    assert_int_equal(stat(workspace, &status), 0);
    assert_int_equal(status.st_gid, 4322);
    assert_int_equal(chown(workspace, 0, 0), 0);
    assert_int_equal(chmod(workspace, 0700), 0);
}

/* An image with a copy of id that belongs to root and runs as root. */
static void make_image_with_setuid_program(const char *name)
{
    char id[256], path[512];
    code_executor_instance *instance = make_instance("'auto_remove': false");
    expect_output(instance, "cp /usr/bin/id /usr/bin/root-id && chmod 4755 /usr/bin/root-id", "");
    described(instance, "container", "id", id, sizeof id);
    docker->destroy(instance);
    snprintf(path, sizeof path, "/commit?container=%s&repo=%s", id, name);
    assert_int_equal(ask("POST", path, "{}", NULL), 201);
    snprintf(path, sizeof path, "/containers/%s?force=1", id);
    assert_int_equal(ask("DELETE", path, NULL, NULL), 204);
}

static void setuid_program_gains_nothing(void **state)
{
    (void)state;
    static const char name[] = "code-executor-test-setuid", attack[] = "root-id | grep -c euid=0";
    char path[128];
    make_image_with_setuid_program(name);
    code_executor_instance *instance = make_instance(
        "'image': '%s', 'user': 'unprivileged', 'security_opt': ['no-new-privileges:false']", name);
    expect_output(instance, attack, "1\n"); /* so it would be */
    docker->destroy(instance);
    instance = make_instance(STRICT ", 'image': '%s'", name);
    expect_output(instance, "root-id | grep -c euid || true", "0\n");
    docker->destroy(instance);
    instance = make_instance("'image': '%s', 'user': 'unprivileged'", name);
    expect_output(instance, "root-id | grep -c euid || true", "0\n");
    docker->destroy(instance);
    snprintf(path, sizeof path, "/images/%s?force=1", name);
    assert_int_equal(ask("DELETE", path, NULL, NULL), 200);
}

static void fork_bomb_is_bounded(void **state)
{
    (void)state;
    code_executor_instance *instance = make_instance(STRICT);
    expect_python(instance,
                  "import os, time\n"
                  "count = 0\n"
                  "try:\n"
                  "    while count < 5000:\n"
                  "        if os.fork() == 0:\n"
                  "            time.sleep(1000)\n"
                  "        count += 1\n"
                  "except OSError:\n"
                  "    pass\n"
                  "print(100 < count < 256)\n",
                  "True\n");
    assert_int_equal(docker->restart(instance, NULL), CODE_EXECUTOR_OK);
    expect_output(instance, "echo still there", "still there\n");
    docker->destroy(instance);
}

static void memory_is_bounded(void **state)
{
    (void)state;
    code_executor_instance *instance = make_instance(STRICT);
    code_executor_result *result =
        run(instance, "python", "held = []\nwhile True:\n    held.append(bytearray(1 << 24))\n");
    assert_int_equal(result->outcome, CODE_EXECUTOR_OUTCOME_OUT_OF_MEMORY);
    docker->result_free(result);
    expect_output(instance, "echo still there", "still there\n");
    docker->destroy(instance);
}

static void full_tmp_harms_nobody(void **state)
{
    (void)state;
    code_executor_instance *instance = make_instance(STRICT);
    expect_output(instance,
                  "head -c 100000000 /dev/zero 2> /dev/null > /tmp/full || echo full; rm /tmp/full",
                  "full\n");
    expect_output(instance, "echo still there > /tmp/x; cat /tmp/x", "still there\n");
    docker->destroy(instance);
}

static void options_beside_it_count(void **state)
{
    (void)state;
    code_executor_instance *instance =
        make_instance(STRICT ", 'user': '0:0', 'read_only': false, 'cap_add': ['CHOWN']");
    expect_output(instance,
                  "id -u; touch /root/x && echo written; grep CapBnd /proc/self/status | tr -d "
                  "'\\t'; ls /sys/class/net",
                  "0\nwritten\nCapBnd:0000000000000001\nlo\n");
    docker->destroy(instance);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attacks_fail),
        cmocka_unit_test(nobody_is_root),
        cmocka_unit_test(workspace_is_writable_and_what_is_there_readable),
        cmocka_unit_test(code_runs_as_the_owner_of_the_workspace),
        cmocka_unit_test(group_that_may_write_already_is_used),
        cmocka_unit_test(setuid_program_gains_nothing),
        cmocka_unit_test(fork_bomb_is_bounded),
        cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(full_tmp_harms_nobody),
        cmocka_unit_test(options_beside_it_count),
    };
    return docker_test_main("docker_strict", tests, sizeof tests / sizeof tests[0]);
}
