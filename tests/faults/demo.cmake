# SPDX-License-Identifier: Apache-2.0
#
# What people and models feed host_demo by mistake, and what happens to it while it works.
foreach(name no_entry version_two)
    add_library(plugin_${name} MODULE plugin_${name}.c)
    set_target_properties(plugin_${name} PROPERTIES
        PREFIX "" OUTPUT_NAME ${name} SUFFIX .so
        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/broken_plugins)
    target_link_libraries(plugin_${name} PRIVATE code_executor_options)
endforeach()

foreach(name bad_input bad_ends)
    add_executable(faults_${name} ${name}.c)
    target_link_libraries(faults_${name} PRIVATE demo_process)
    target_compile_definitions(faults_${name} PRIVATE
        BROKEN_PLUGIN_FOLDER="${CMAKE_BINARY_DIR}/tests/broken_plugins")
    add_dependencies(faults_${name} plugin_no_entry plugin_version_two local)
    add_test(NAME faults.${name} COMMAND faults_${name})
    set_tests_properties(faults.${name} PROPERTIES TIMEOUT 900)
endforeach()
