# SPDX-License-Identifier: Apache-2.0
#
# What happens to a sandbox when something dies, is missing, is forbidden or lies. sandbox_support is
# tests/integration/sandbox.cmake's.
foreach(name sandbox sandbox_start)
    add_executable(faults_${name} ${name}.c)
    target_link_libraries(faults_${name} PRIVATE sandbox_support)
    add_test(NAME faults.${name} COMMAND faults_${name})
    add_test(NAME faults.${name}.as_user
        COMMAND ${PROJECT_SOURCE_DIR}/tests/integration/sandbox_as_user $<TARGET_FILE:faults_${name}>
                $<TARGET_FILE_DIR:sandbox> $<TARGET_FILE:sandbox_attack>)
    set_tests_properties(faults.${name} faults.${name}.as_user PROPERTIES
        SKIP_RETURN_CODE 77 TIMEOUT 600)
endforeach()

# What holds on any executor.
add_test(NAME faults.sandbox_host_killed COMMAND abi_host_killed sandbox "{\"work_dir\": \".\"}")
set_tests_properties(faults.sandbox_host_killed PROPERTIES
    SKIP_RETURN_CODE 77 ENVIRONMENT "PYTHONUNBUFFERED=" TIMEOUT 900)
