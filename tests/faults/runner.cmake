# SPDX-License-Identifier: Apache-2.0
#
# The runner among hostile code.
add_executable(runner_attacker EXCLUDE_FROM_ALL runner_attacker.c)
target_link_libraries(runner_attacker PRIVATE code_executor_options)

foreach(name collect kill limits forge malformed write memory)
    runner_test(faults ${name})
    target_compile_definitions(faults_runner_${name} PRIVATE ATTACKER="$<TARGET_FILE:runner_attacker>")
    add_dependencies(faults_runner_${name} runner_attacker)
endforeach()
