# SPDX-License-Identifier: Apache-2.0
#
# The rules of plugins/commandline: one module of it each.
commandline_unit_test(config)
commandline_unit_test(language)
commandline_unit_test(silence_pip)
commandline_unit_test(shell_session)
commandline_unit_test(file_name)
commandline_unit_test(workspace)
commandline_unit_test(output)
commandline_unit_test(result)
foreach(name run run_ends)
    commandline_unit_test(${name})
    target_sources(unit_${name} PRIVATE run_support.c fake_session.c)
endforeach()
commandline_unit_test(temporary_file)
commandline_unit_test(collected)

# With the real runner.
commandline_unit_test(workspace_copy)
add_dependencies(unit_workspace_copy runner)
target_compile_definitions(unit_workspace_copy PRIVATE
    RUNNER_PROGRAM="${CODE_EXECUTOR_PLUGIN_OUTPUT_DIRECTORY}/runner")

# Where memory ends at every place where it can.
add_library(failing_memory OBJECT failing_memory.c)
target_link_libraries(failing_memory PRIVATE code_executor_options)
foreach(name config language run)
    target_link_libraries(unit_${name} PRIVATE failing_memory)
    target_link_options(unit_${name} PRIVATE
        -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc)
endforeach()

# What the plugins of this tree publish, read from the plugins themselves.
add_executable(unit_plugin_schemas plugin_schemas.c)
target_link_libraries(unit_plugin_schemas PRIVATE code_executor_options commandline PkgConfig::CMOCKA)
add_dependencies(unit_plugin_schemas local docker sandbox)
add_test(NAME unit.plugin_schemas COMMAND unit_plugin_schemas
    $<TARGET_FILE:local> $<TARGET_FILE:docker> $<TARGET_FILE:sandbox>)
