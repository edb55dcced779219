/* SPDX-License-Identifier: Apache-2.0 */
/* host EXECUTOR: runs the code blocks of the Markdown message on its standard input. */
#include <code_executor_host.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    static char message[1 << 20];
    const code_executor_block *blocks[100];
    code_executor_request request = {sizeof(request), .blocks = blocks, .execution_id = 1};
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    code_executor_extraction *found = NULL;
    code_executor_plugin *plugin = NULL;
    int exit_code = 125;
    code_executor_extract(message, fread(message, 1, sizeof(message), stdin), &found, &error);
    for (size_t i = 0; found != NULL && i < found->block_count && i < 100; i++)
        if (found->blocks[i]->complete &&              /* a command that was cut off must not run */
            *found->blocks[i]->block.language != '\0') /* no executor takes that */
            blocks[request.block_count++] = &found->blocks[i]->block;
    if (code_executor_plugin_load(argc > 1 ? argv[1] : "local", &plugin, &error) == 0) {
        const code_executor_v1 *executor = code_executor_plugin_table(plugin);
        code_executor_instance *instance = NULL;
        code_executor_result *result = NULL;
        if (executor->create(NULL, "{}", &instance, &error) == 0 &&
            executor->execute(instance, &request, &result, &error) == 0)
            exit_code = result->exit_code;
        if (result != NULL)
            fwrite(result->output, 1, result->output_length, stdout);
        executor->result_free(result);
        executor->destroy(instance);
    }
    if (error.status != CODE_EXECUTOR_OK)
        fprintf(stderr, "%s: %s\n", code_executor_status_name(error.status), error.message);
    code_executor_extraction_free(found);
    code_executor_plugin_unload(plugin);
    return exit_code;
}
