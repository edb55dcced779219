/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reach_support.h: what the tests of ways to an engine share: programs that listen on a port for them, and a
 * conversation in which all comes up that travels to an engine and back.
 */
#ifndef CODE_EXECUTOR_TEST_REACH_SUPPORT_H
#define CODE_EXECUTOR_TEST_REACH_SUPPORT_H

#include <code_executor.h>
#include <sys/types.h>

/* A program that says the port on which it listens, and ends when its standard input does. */
struct port {
    pid_t pid;
    int leash; /* its standard input */
    int number;
    int status; /* its exit code, where it has said no port: ->number is 0 */
};
struct port port_start(const char *const *arguments, const char *folder);
/* Lets it end by itself; kills it. */
void port_end(struct port *port);
void port_close(struct port *port);

/* Starts, writes and reads much, restarts, stops and destroys INSTANCE, and looks whether anything is left. */
void converse(code_executor_instance *instance);

#endif /* CODE_EXECUTOR_TEST_REACH_SUPPORT_H */
