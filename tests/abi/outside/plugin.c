/* SPDX-License-Identifier: Apache-2.0 */
/* rpn: an executor for reverse Polish notation: a block is numbers and + - * / behind them. */
#include <code_executor_plugin.h>

enum { DEPTH = 64 }; /* of the stack */

/* Does WORD to the numbers on STACK. NULL, or what is wrong with it. */
static const char *calculate(const char *word, double *stack, int *depth)
{
    char *end;
    double number = strtod(word, &end);
    if (*end == '\0') {
        if (*depth == DEPTH)
            return "too many numbers";
        stack[(*depth)++] = number;
        return NULL;
    }
    if (word[1] != '\0' || strchr("+-*/", *word) == NULL || *depth < 2)
        return "neither a number nor + - * / behind two of them";
    double last = stack[--*depth], *result = &stack[*depth - 1];
    switch (*word) {
    case '+':
        *result += last;
        break;
    case '-':
        *result -= last;
        break;
    case '*':
        *result *= last;
        break;
    default:
        *result /= last;
    }
    return NULL;
}

static int32_t run_block(void *state, code_executor_run *run, code_executor_error *error)
{
    double stack[DEPTH];
    int depth = 0;
    char *text = calloc(1, run->code_length + 1), *rest = NULL;
    if (text == NULL)
        return code_executor_set_error(error, CODE_EXECUTOR_NO_MEMORY, "out of memory");
    memcpy(text, run->code, run->code_length);
    for (char *word = strtok_r(text, " \n", &rest); word != NULL && run->exit_code == 0;
         word = code_executor_stopped(run) ? NULL : strtok_r(NULL, " \n", &rest)) {
        const char *wrong = calculate(word, stack, &depth);
        if (wrong != NULL) {
            code_executor_print(run, CODE_EXECUTOR_STREAM_STDERR, "%s: %s\n", word, wrong);
            run->exit_code = 1;
        }
    }
    for (int i = 0; i < depth && run->exit_code == 0; i++)
        code_executor_print(run, CODE_EXECUTOR_STREAM_STDOUT, "%.15g\n", stack[i]);
    free(text);
    return CODE_EXECUTOR_OK;
}

static const code_executor_work work = {.run = run_block, .isolation = "only calculates"};
CODE_EXECUTOR_PLUGIN(work, "rpn", "1.0.0", "Reverse Polish notation", "{\"type\": \"object\"}")
