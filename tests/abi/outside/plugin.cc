/* SPDX-License-Identifier: Apache-2.0 */
/* reverse: an executor in C++. Instead of running a block it prints it backwards. No exception crosses
 * the ABI. */
#include <code_executor.h>
#include <cstring>
#include <new>
#include <string>
#include <vector>

struct code_executor_instance {
    std::string config;
};

namespace {

struct owned_block {
    code_executor_block_result result;
    std::string language, output;
};

/* The result first: result_free gets a pointer to it. */
struct owned_result {
    code_executor_result result;
    std::vector<owned_block> blocks;
    std::vector<const code_executor_block_result *> pointers;
    std::string output;
};

int32_t end(code_executor_error *error, int32_t status, const char *message)
{
    if (error != nullptr) {
        error->status = status;
        std::strcpy(error->message, message);
    }
    return status;
}

int32_t create(const code_executor_host *, const char *config_json,
               code_executor_instance **instance, code_executor_error *error)
{
    try {
        *instance = new code_executor_instance{config_json != nullptr ? config_json : "{}"};
    } catch (const std::bad_alloc &) {
        return end(error, CODE_EXECUTOR_NO_MEMORY, "no memory");
    }
    return end(error, CODE_EXECUTOR_OK, "");
}

int32_t start_stop_restart(code_executor_instance *, code_executor_error *error)
{
    return end(error, CODE_EXECUTOR_OK, "");
}

void run(const code_executor_request &request, size_t index, owned_result &into)
{
    const code_executor_block &block = *request.blocks[index];
    owned_block &owned = into.blocks[index];
    owned.language = block.language;
    if (block.code_length > 0)
        owned.output.assign(block.code, block.code_length);
    owned.output = std::string(owned.output.rbegin(), owned.output.rend());
    into.output += owned.output;
    owned.result = code_executor_block_result();
    owned.result.struct_size = sizeof(owned.result);
    owned.result.language = owned.language.c_str();
    owned.result.stdout_bytes = owned.result.output = owned.output.data();
    owned.result.stdout_length = owned.result.output_length = owned.output.size();
    owned.result.stderr_bytes = "";
    into.pointers.push_back(&owned.result);
}

int32_t execute(code_executor_instance *, const code_executor_request *request,
                code_executor_result **result, code_executor_error *error)
{
    *result = nullptr;
    if (request->block_count == 0)
        return end(error, CODE_EXECUTOR_INVALID, "No code blocks to execute.");
    try {
        owned_result *made = new owned_result();
        *result = &made->result;
        made->blocks.resize(request->block_count);
        for (size_t i = 0; i < request->block_count; i++)
            run(*request, i, *made);
        made->result.struct_size = sizeof(made->result);
        made->result.output = made->output.data();
        made->result.output_length = made->output.size();
        made->result.blocks = made->pointers.data();
        made->result.block_count = made->pointers.size();
    } catch (const std::bad_alloc &) {
        delete reinterpret_cast<owned_result *>(*result);
        *result = nullptr;
        return end(error, CODE_EXECUTOR_NO_MEMORY, "no memory");
    }
    return end(error, CODE_EXECUTOR_OK, "");
}

int32_t cancel(code_executor_instance *, uint64_t execution_id, code_executor_error *error)
{
    return execution_id == 0 ? end(error, CODE_EXECUTOR_OK, "")
                             : end(error, CODE_EXECUTOR_NOT_FOUND, "not in flight");
}

int32_t describe(code_executor_instance *instance, char **json, code_executor_error *error)
{
    *json = new (std::nothrow) char[instance->config.size() + 1];
    if (*json == nullptr)
        return end(error, CODE_EXECUTOR_NO_MEMORY, "no memory");
    std::strcpy(*json, instance->config.c_str());
    return end(error, CODE_EXECUTOR_OK, "");
}

void result_free(code_executor_result *result)
{
    delete reinterpret_cast<owned_result *>(result);
}

void string_free(char *string)
{
    delete[] string;
}

void destroy(code_executor_instance *instance)
{
    delete instance;
}

const void *get_extension(code_executor_instance *, const char *)
{
    return nullptr;
}

const code_executor_v1 table = {
    sizeof(code_executor_v1),
    CODE_EXECUTOR_ABI_VERSION,
    0,
    "reverse",
    "1.0.0",
    "Prints blocks backwards instead of running them",
    "{\"type\": \"object\"}",
    create,
    start_stop_restart,
    start_stop_restart,
    start_stop_restart,
    execute,
    cancel,
    describe,
    result_free,
    string_free,
    destroy,
    get_extension,
};

} // namespace

extern "C" CODE_EXECUTOR_EXPORT const code_executor_v1 *code_executor_plugin_v1(void)
{
    return &table;
}
