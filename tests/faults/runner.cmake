# SPDX-License-Identifier: Apache-2.0
#
# The runner among hostile code.
add_executable(runner_attacker EXCLUDE_FROM_ALL runner_attacker.c)
target_link_libraries(runner_attacker PRIVATE code_executor_options)

function(runner_fault_test name)
    add_executable(faults_runner_${name} runner_${name}.c)
    target_link_libraries(faults_runner_${name} PRIVATE runner_client)
    target_compile_definitions(faults_runner_${name} PRIVATE ATTACKER="$<TARGET_FILE:runner_attacker>")
    add_dependencies(faults_runner_${name} runner_attacker)
    add_test(NAME faults.runner_${name} COMMAND faults_runner_${name})
    set_tests_properties(faults.runner_${name} PROPERTIES SKIP_RETURN_CODE 77)
endfunction()

foreach(name kill forge malformed write memory)
    runner_fault_test(${name})
endforeach()
