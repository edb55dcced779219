/* SPDX-License-Identifier: Apache-2.0 */
/* host EXECUTOR...: a host in C++, with a router: the first executor takes blocks in "text", the last
 * one all others. Runs the Markdown message on its standard input. */
#include <code_executor_host.h>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

namespace {

/* A loaded executor with one instance of it. */
class executor {
  public:
    explicit executor(const char *name)
    {
        code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
        if (code_executor_plugin_load(name, &plugin_, &error) != CODE_EXECUTOR_OK ||
            table().create(nullptr, "{}", &instance_, &error) != CODE_EXECUTOR_OK)
            std::cerr << error.message << '\n';
    }
    executor(const executor &) = delete;
    executor &operator=(const executor &) = delete;
    ~executor()
    {
        if (plugin_ != nullptr)
            table().destroy(instance_);
        code_executor_plugin_unload(plugin_);
    }
    const code_executor_v1 &table() const
    {
        return *code_executor_plugin_table(plugin_);
    }
    code_executor_instance *instance() const
    {
        return instance_;
    }

  private:
    code_executor_plugin *plugin_ = nullptr;
    code_executor_instance *instance_ = nullptr;
};

int run(code_executor_router *router, const code_executor_extraction &found)
{
    std::vector<const code_executor_block *> blocks;
    for (size_t i = 0; i < found.block_count; i++)
        if (found.blocks[i]->complete)
            blocks.push_back(&found.blocks[i]->block);
    code_executor_request request = code_executor_request();
    request.struct_size = sizeof(request);
    request.blocks = blocks.data();
    request.block_count = blocks.size();
    request.execution_id = 1;
    code_executor_error error = CODE_EXECUTOR_ERROR_INIT;
    code_executor_routed_result *result = nullptr;
    if (code_executor_router_execute(router, &request, &result, &error) != CODE_EXECUTOR_OK) {
        std::cerr << error.message << '\n';
        return 125;
    }
    std::cout << std::string(result->result->output, result->result->output_length);
    int exit_code = result->result->exit_code;
    code_executor_routed_result_free(result);
    return exit_code;
}

} // namespace

int main(int argc, char **argv)
{
    std::string message{std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
    std::vector<std::unique_ptr<executor>> executors;
    code_executor_router *router = nullptr;
    code_executor_router_create(&router, nullptr);
    for (int i = 1; i < argc; i++) {
        executors.emplace_back(new executor(argv[i]));
        if (executors.back()->instance() == nullptr ||
            code_executor_router_add(router, i == 1 ? "text" : nullptr, argv[i],
                                     &executors.back()->table(), executors.back()->instance(),
                                     nullptr) != CODE_EXECUTOR_OK)
            return 125;
    }
    code_executor_extraction *found = nullptr;
    if (code_executor_extract(message.data(), message.size(), &found, nullptr) != CODE_EXECUTOR_OK)
        return 125;
    int exit_code = run(router, *found);
    code_executor_extraction_free(found);
    code_executor_router_free(router);
    return exit_code;
}
