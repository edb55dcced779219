# SPDX-License-Identifier: Apache-2.0
#
# Tests through the ABI that run on any executor:
#     code_executor_abi_test(NAME PLUGIN [CONFIGURATION]) runs the program NAME on PLUGIN.
add_library(executor_client STATIC ${CMAKE_CURRENT_SOURCE_DIR}/executor_client.c)
target_include_directories(executor_client PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_definitions(executor_client PRIVATE
    CODE_EXECUTOR_TEST_PLUGINS="${CODE_EXECUTOR_PLUGIN_OUTPUT_DIRECTORY}")
target_link_libraries(executor_client PUBLIC
    code_executor_options PkgConfig::CMOCKA Threads::Threads ${CMAKE_DL_LIBS})

function(code_executor_abi_program name)
    add_executable(abi_${name} ${name}.c)
    target_link_libraries(abi_${name} PRIVATE executor_client)
endfunction()

function(code_executor_abi_test kind name plugin)
    add_test(NAME ${kind}.${plugin}_${name} COMMAND abi_${name} ${plugin} ${ARGN})
    set_tests_properties(${kind}.${plugin}_${name} PROPERTIES
        SKIP_RETURN_CODE 77 ENVIRONMENT "PYTHONUNBUFFERED=" TIMEOUT 900)
endfunction()

foreach(program lifecycle requests manners idle execute_cases)
    code_executor_abi_program(${program})
    code_executor_abi_test(integration ${program} local)
endforeach()

target_link_libraries(abi_execute_cases PRIVATE PkgConfig::JSON_C)
target_compile_definitions(abi_execute_cases PRIVATE
    CODE_EXECUTOR_TEST_CASES="${PROJECT_SOURCE_DIR}/tests/cases/execute/cases.json")
# Cases use a port, and look for processes that another run of them may have.
set_tests_properties(integration.local_execute_cases PROPERTIES RESOURCE_LOCK port_8765)

code_executor_abi_program(local)
add_test(NAME integration.local COMMAND abi_local local)
