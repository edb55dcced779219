# SPDX-License-Identifier: Apache-2.0
#
# The runner: its modules alone, and the real program with commands that mean no harm (hostile ones are
# in ../faults).
add_library(runner_client STATIC EXCLUDE_FROM_ALL runner_client.c)
target_include_directories(runner_client PUBLIC ${CMAKE_CURRENT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/plugins/runner)
target_link_libraries(runner_client PUBLIC code_executor_options PkgConfig::CMOCKA)
target_compile_definitions(runner_client PUBLIC RUNNER_PROGRAM="${CODE_EXECUTOR_PLUGIN_OUTPUT_DIRECTORY}/runner")
add_dependencies(runner_client runner)

add_executable(unit_runner_run runner_run.c)
target_link_libraries(unit_runner_run PRIVATE runner_client)
add_test(NAME unit.runner_run COMMAND unit_runner_run)
