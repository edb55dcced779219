# SPDX-License-Identifier: Apache-2.0
#
# The runner: its modules alone, and the real program with commands that mean no harm (hostile ones are
# in ../faults).
add_library(runner_client STATIC EXCLUDE_FROM_ALL runner_client.c)
target_include_directories(runner_client PUBLIC ${CMAKE_CURRENT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/plugins/runner)
target_link_libraries(runner_client PUBLIC code_executor_options PkgConfig::CMOCKA)
target_compile_definitions(runner_client PUBLIC RUNNER_PROGRAM="${CODE_EXECUTOR_PLUGIN_OUTPUT_DIRECTORY}/runner")
add_dependencies(runner_client runner)
if(CODE_EXECUTOR_SANITIZE MATCHES "address|undefined")
    add_dependencies(runner_client runner_sanitized)
endif()

# runner_test(KIND NAME): the program KIND_runner_NAME from runner_NAME.c, on a sanitized runner in a
# sanitized build.
function(runner_test kind name)
    add_executable(${kind}_runner_${name} runner_${name}.c)
    target_link_libraries(${kind}_runner_${name} PRIVATE runner_client)
    add_test(NAME ${kind}.runner_${name} COMMAND ${kind}_runner_${name})
    set_tests_properties(${kind}.runner_${name} PROPERTIES SKIP_RETURN_CODE 77)
    # Sanitizers take more memory than that test leaves.
    if(CODE_EXECUTOR_SANITIZE MATCHES "address|undefined" AND NOT name STREQUAL "memory")
        set_tests_properties(${kind}.runner_${name} PROPERTIES
            ENVIRONMENT CODE_EXECUTOR_TEST_RUNNER=$<TARGET_FILE:runner_sanitized>)
    endif()
endfunction()

runner_test(unit run)
runner_test(unit next)
runner_test(unit rendezvous)
