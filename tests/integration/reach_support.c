/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reach_support.c: see reach_support.h.
 */
#include "reach_support.h"
#include "docker_support.h"
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- ports ------------------------------------------------------------------------------------- */

struct port port_start(const char *const *arguments, const char *folder)
{
    int input[2], output[2];
    struct port port = {.number = 0};
    char line[16] = "";
    assert_int_equal(pipe2(input, O_CLOEXEC), 0);
    assert_int_equal(pipe2(output, O_CLOEXEC), 0);
    port.pid = fork();
    assert_true(port.pid >= 0);
    if (port.pid == 0) {
        dup2(input[0], 0);
        dup2(output[1], 1);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (chdir(folder) == 0)
            execvp(arguments[0], (char *const *)arguments);
        _exit(127);
    }
    close(input[0]);
    close(output[1]);
    port.leash = input[1];
    if (read(output[0], line, sizeof line - 1) > 0)
        port.number = atoi(line);
    close(output[0]);
    if (port.number == 0) {
        waitpid(port.pid, &port.status, 0);
        port.status = WEXITSTATUS(port.status);
        close(port.leash);
    }
    return port;
}

void port_end(struct port *port)
{
    close(port->leash);
    waitpid(port->pid, NULL, 0);
}

void port_close(struct port *port)
{
    kill(port->pid, SIGKILL);
    port_end(port);
}

/* ---- conversations ----------------------------------------------------------------------------- */

/* Output of more than any buffer holds, which must come whole and in order. */
static void expect_much_output(code_executor_instance *instance)
{
    code_executor_result *result =
        run(instance, "python", "for i in range(400000): print('%09d' % i)");
    assert_int_equal(result->exit_code, 0);
    assert_int_equal(result->output_length, 4000000);
    for (int i = 0; i < 400000; i += 997)
        assert_int_equal(atoi(result->output + 10 * i), i);
    docker->result_free(result);
}

static void expect_much_input(code_executor_instance *instance)
{
    enum { SIZE = 3000000 };
    code_executor_result *result = NULL;
    char *input = calloc(1, SIZE);
    assert_non_null(input);
    struct shell shell = {.code = "wc -c", .input = input, .input_length = SIZE};
    assert_int_equal(execute_shell(instance, shell, &result, NULL), CODE_EXECUTOR_OK);
    assert_string_equal(result->output, "3000000\n");
    docker->result_free(result);
    free(input);
}

void converse(code_executor_instance *instance)
{
    char id[256];
    expect_output(instance, "echo one; echo two >&2", "one\ntwo\n");
    described(instance, "container", "id", id, sizeof id);
    expect_much_output(instance);
    expect_much_input(instance);
    expect_output(instance, "touch /tmp/trace", "");
    assert_int_equal(docker->restart(instance, NULL), CODE_EXECUTOR_OK);
    expect_output(instance, "echo again", "again\n");
    assert_int_equal(docker->stop(instance, NULL), CODE_EXECUTOR_OK);
    expect_gone(id);
    expect_output(instance, "ls /tmp", "");
    docker->destroy(instance);
    expect_container_count(0);
}
