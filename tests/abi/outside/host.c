/* SPDX-License-Identifier: Apache-2.0 */
/* host EXECUTOR: runs the code blocks of the Markdown message on its standard input. */
#include <code_executor_host.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    static char message[1 << 20];
    size_t length = fread(message, 1, sizeof(message), stdin);
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    code_executor_plugin *plugin = NULL;
    code_executor_instance *instance = NULL;
    code_executor_extraction *found = NULL;
    code_executor_result *result = NULL;
    const code_executor_v1 *executor = NULL;
    const code_executor_block *blocks[100];
    code_executor_request request = {sizeof(request), .blocks = blocks, .execution_id = 1};

    int failed = code_executor_plugin_load(argc > 1 ? argv[1] : "local", &plugin, &error) ||
                 code_executor_extract(message, length, &found, &error);
    for (size_t i = 0; !failed && i < found->block_count && i < 100; i++)
        if (found->blocks[i]->complete) /* a command that was cut off must not run */
            blocks[request.block_count++] = &found->blocks[i]->block;
    if (!failed) {
        executor = code_executor_plugin_table(plugin);
        failed = executor->create(NULL, "{}", &instance, &error) ||
                 executor->execute(instance, &request, &result, &error);
    }
    if (failed)
        fprintf(stderr, "%s: %s\n", code_executor_status_name(error.status), error.message);
    if (result != NULL)
        fwrite(result->output, 1, result->output_length, stdout);
    int status = failed ? 125 : result->exit_code;
    if (executor != NULL) {
        executor->result_free(result);
        executor->destroy(instance);
    }
    code_executor_extraction_free(found);
    code_executor_plugin_unload(plugin);
    return status;
}
