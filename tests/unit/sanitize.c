/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sanitize.c: which shell commands the local executor refuses, and which it only seems that it should.
 */
#include "sanitize.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct refused {
    const char *script;
    const char *found; /* a part of what is said */
} refused[] = {
    {"rm -rf /", "rm -rf"},
    {"rm -fr build", "rm -rf"},
    {"rm -r -f build", "rm -rf"},
    {"rm --recursive --force build", "rm -rf"},
    {"rm -Rfv build", "rm -rf"},
    {"/bin/rm -rf build", "rm -rf"},
    {"\\rm -rf build", "rm -rf"},
    {"r'm' -\"rf\" build", "rm -rf"},
    {"rm \\\n  -rf build", "rm -rf"},
    {"echo hi; rm -rf build", "rm -rf"},
    {"echo hi && rm -rf build", "rm -rf"},
    {"echo hi || rm -rf build", "rm -rf"},
    {"echo hi | rm -rf build", "rm -rf"},
    {"echo hi\r\nrm -rf build\r\n", "rm -rf"},
    {"if true; then rm -rf build; fi", "rm -rf"},
    {"for f in a b; do rm -rf $f; done", "rm -rf"},
    {"! rm -rf build", "rm -rf"},
    {"{ rm -rf build; }", "rm -rf"},
    {"(cd /tmp; rm -rf build)", "rm -rf"},
    {"X=1 Y=2 rm -rf build", "rm -rf"},
    {"echo $(rm -rf build)", "rm -rf"},
    {"echo \"$(rm -rf build)\"", "rm -rf"},
    {"echo `rm -rf build`", "rm -rf"},
    {"echo \"`rm -rf build`\"", "rm -rf"},
    {"diff <(rm -rf build) x", "rm -rf"},
    {"echo $(echo $(rm -rf build))", "rm -rf"},
    {"clean() { rm -rf build; }", "rm -rf"},
    {"case $x in a) rm -rf build;; esac", "rm -rf"},
    {"sudo rm -rf build", "rm -rf"},
    {"sudo -u root rm -rf build", "rm -rf"},
    {"sudo -n env A=b nice -n 5 rm -rf build", "rm -rf"},
    {"timeout 5 rm -rf build", "rm -rf"},
    {"find . -name x -exec rm -rf {} +", "rm -rf"},
    {"ls | xargs rm -rf", "rm -rf"},
    {"ls | xargs -0 -n 1 rm -rf", "rm -rf"},
    {"bash -c 'rm -rf build'", "rm -rf"},
    {"bash -lc \"sh -c 'rm -rf build'\"", "rm -rf"},
    {"eval 'rm -rf build'", "rm -rf"},
    {"cat <<EOF\ntext\nEOF\nrm -rf build", "rm -rf"},
    {"cat <<-EOF\n\ttext\n\tEOF\nrm -rf build", "rm -rf"},
    {"cat <<A <<'B'\nrm\nA\nrm\nB\nrm -rf build", "rm -rf"},
    {"rm -rf build # gone", "rm -rf"},
    {"dd if=/dev/zero of=x", "dd"},
    {"sudo dd if=a of=b bs=1M", "dd"},
    {"cat x | dd of=y", "dd"},
    {"mkfs /dev/sdb1", "mkfs"},
    {"mkfs.ext4 -F /dev/sdb1", "mkfs"},
    {"/sbin/mkfs.xfs /dev/nvme0n1", "mkfs"},
    {"mke2fs x", "mke2fs"},
    {"wipefs -a /dev/sda", "wipefs"},
    {"echo x > /dev/sda", "disk"},
    {"echo x >/dev/nvme0n1", "disk"},
    {"echo x >> /dev/vda1", "disk"},
    {"echo x >| /dev/mmcblk0", "disk"},
    {"echo x &> /dev/sda", "disk"},
    {"echo x 1<> /dev/mapper/root", "disk"},
    {"> /dev/sda", "disk"},
    {"cat image | tee /dev/sdb", "disk"},
    {"cp image /dev/sdb", "disk"},
    {"shred /dev/sda", "disk"},
    {"mv data /dev/null", "/dev/null"},
    {"mv -f a b /dev/null", "/dev/null"},
    {"mv -t /dev/null a", "/dev/null"},
    {":(){ :|:& };:", "fork bomb"},
    {":(){:|:&};:", "fork bomb"},
    {": () { : | : & }; :", "fork bomb"},
    {"bomb() { bomb | bomb & }; bomb", "fork bomb"},
    {"bomb()\n{\n  bomb | bomb &\n}\nbomb", "fork bomb"},
    {"function bomb() { bomb | bomb & }; bomb", "fork bomb"},
    {"function bomb { bomb | bomb & }; bomb", "fork bomb"},
};

static const char *const allowed[] = {
    "",
    "rm file",
    "rm -f file",
    "rm -r build",
    "rm -i -- -rf",
    "rm -- -rf",
    "echo rm -rf /",
    "echo 'rm -rf /'",
    "echo \"never run rm -rf /\"",
    "# rm -rf /\necho fine",
    "echo fine # rm -rf /",
    "grep -n 'rm -rf' script.sh",
    "git commit -m \"rm -rf the old code; dd is gone\"",
    "git rm -rf old",
    "docker rm -f name",
    "npm run rm -rf",
    "cat <<EOF\nrm -rf /\ndd if=a of=b\nEOF\necho fine",
    "cat <<'EOF' > notes\nrm -rf /\nEOF",
    "cat <<-EOF\n\trm -rf /\n\tEOF\n",
    "python3 - <<EOF\nprint('rm -rf /')\nEOF",
    "add 1 2",
    "echo dd",
    "ls dd",
    "cat dd.txt",
    "date +%dd",
    "dd=5; echo $dd",
    "dd=5",
    "mkdir -p dd/dd",
    "./dd.sh",
    "ddrescue --version",
    "make dd",
    "mv a b",
    "mv a b 2>/dev/null",
    "mv a b > /dev/null 2>&1",
    "mv /dev/null.txt b",
    "command > /dev/null",
    "echo x > /dev/stdout",
    "echo x > /dev/stderr",
    "cat /dev/sda | head -c 0",
    "tee log < /dev/null",
    "cp a b",
    "echo mkfs.ext4",
    "man mkfs",
    "x | y &",
    "f() { g | g & }; f",
    "f() { f2; }; f | f &",
    "echo $((1 + 2)) $(( (1) ))",
    "echo ${x:-dd} ${#y}",
    "case dd in dd) echo dd;; esac",
    "echo 'unfinished",
    "echo \"unfinished $(",
    "((",
    "))",
    "`",
    "cat <<",
    "<",
    ">",
    "\\",
    "$",
};

static void dangerous_commands_are_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        const char *found = sanitize_find(refused[i].script, strlen(refused[i].script));
        if (!found || !strstr(found, refused[i].found))
            fail_msg("%s: found %s", refused[i].script, found ? found : "nothing");
    }
}

static void harmless_ones_are_not(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++) {
        const char *found = sanitize_find(allowed[i], strlen(allowed[i]));
        if (found)
            fail_msg("%s: found %s", allowed[i], found);
    }
}

static void every_beginning_of_a_script_can_be_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        size_t length = strlen(refused[i].script);
        for (size_t cut = 0; cut <= length; cut++) {
            char *exact = malloc(cut ? cut : 1); /* so that a sanitizer sees one byte too much */
            assert_non_null(exact);
            memcpy(exact, refused[i].script, cut);
            (void)sanitize_find(exact, cut);
            free(exact);
        }
    }
}

static void nesting_is_bounded(void **state)
{
    (void)state;
    static const char *const openings[] = {"$(", "(", "`", "\"$(", "<(", "x $("};
    enum { REPEATS = 200000 };
    for (size_t i = 0; i < sizeof openings / sizeof openings[0]; i++) {
        size_t width = strlen(openings[i]);
        char *script = malloc(width * REPEATS);
        assert_non_null(script);
        for (size_t at = 0; at < REPEATS; at++)
            memcpy(script + at * width, openings[i], width);
        (void)sanitize_find(script, width * REPEATS);
        free(script);
    }
}

static void nul_bytes_end_nothing(void **state)
{
    (void)state;
    static const char script[] = "echo a\0b\nrm -rf x";
    assert_non_null(sanitize_find(script, sizeof script - 1));
}

static void only_shells_are_read(void **state)
{
    (void)state;
    assert_true(sanitize_reads("sh"));
    assert_true(sanitize_reads("bash"));
    assert_true(sanitize_reads("shell"));
    assert_false(sanitize_reads("python"));
    assert_false(sanitize_reads("pwsh"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dangerous_commands_are_found),
        cmocka_unit_test(harmless_ones_are_not),
        cmocka_unit_test(every_beginning_of_a_script_can_be_read),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(nul_bytes_end_nothing),
        cmocka_unit_test(only_shells_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
