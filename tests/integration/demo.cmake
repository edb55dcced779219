# SPDX-License-Identifier: Apache-2.0
#
# host_demo by its command line. The executor of plugin_echo.c stands in for real ones where only
# the host matters; tests of faults use it too.
set(test_plugin_folder ${CMAKE_BINARY_DIR}/tests/plugins)
add_library(plugin_echo MODULE plugin_echo.c plugin_echo_checks.c plugin_echo_leftovers.c)
set_target_properties(plugin_echo PROPERTIES
    PREFIX "" OUTPUT_NAME echo SUFFIX .so LIBRARY_OUTPUT_DIRECTORY ${test_plugin_folder})
target_link_libraries(plugin_echo PRIVATE code_executor_options common Threads::Threads)

add_library(demo_process STATIC demo_process.c demo_words.c)
target_include_directories(demo_process PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_definitions(demo_process
    PRIVATE HOST_DEMO_PATH="$<TARGET_FILE:host_demo>"
    PUBLIC TEST_PLUGIN_FOLDER="${test_plugin_folder}"
           TEST_CASES_FOLDER="${PROJECT_SOURCE_DIR}/tests/cases")
target_link_libraries(demo_process
    PUBLIC code_executor_options PkgConfig::CMOCKA PkgConfig::JSON_C)
add_dependencies(demo_process host_demo plugin_echo local)

foreach(name clean_demo extract_cases leftovers_demo options_demo run_demo repl_demo)
    add_executable(integration_${name} ${name}.c)
    target_link_libraries(integration_${name} PRIVATE demo_process)
    add_test(NAME integration.${name} COMMAND integration_${name})
endforeach()

# One program, an executor a test: what holds on one must hold on all.
add_executable(integration_cases cases.c)
target_link_libraries(integration_cases PRIVATE demo_process)
foreach(executor local docker)
    add_test(NAME integration.cases.${executor} COMMAND integration_cases ${executor})
    set_tests_properties(integration.cases.${executor} PROPERTIES
        SKIP_RETURN_CODE 77 RESOURCE_LOCK port_8765 TIMEOUT 900)
endforeach()
