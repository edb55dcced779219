/* SPDX-License-Identifier: Apache-2.0 */
/*
 * silence_pip.h: keeps the noise of `pip install` out of a block's output.
 *
 * A line that begins with `pip install`, `pip3 install`, `python -m pip install` or `python3 -m pip
 * install` (in Python with `!` or `! ` before it, as notebooks write it) gains ` -qqq` behind
 * `install`, unless it has one.
 */
#ifndef CODE_EXECUTOR_SILENCE_PIP_H
#define CODE_EXECUTOR_SILENCE_PIP_H

#include <stdbool.h>
#include <stddef.h>

/* Where notebooks' `!` is called for. */
enum pip_syntax { PIP_IN_SHELL, PIP_IN_PYTHON };

/* False: no memory. *CHANGED is NULL when nothing was to be done, else the new bytes, *LENGTH of
 * them: free(). */
bool silence_pip(enum pip_syntax syntax, const char *code, size_t code_length, char **changed,
                 size_t *length);

#endif /* CODE_EXECUTOR_SILENCE_PIP_H */
