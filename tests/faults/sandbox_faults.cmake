# SPDX-License-Identifier: Apache-2.0
#
# What happens to a sandbox when something dies, is missing, is forbidden or lies. sandbox_support is
# tests/integration/sandbox.cmake's.
add_executable(faults_sandbox sandbox.c)
target_link_libraries(faults_sandbox PRIVATE sandbox_support)
add_test(NAME faults.sandbox COMMAND faults_sandbox)
add_test(NAME faults.sandbox.as_user
    COMMAND ${PROJECT_SOURCE_DIR}/tests/integration/sandbox_as_user $<TARGET_FILE:faults_sandbox>
            $<TARGET_FILE_DIR:sandbox> $<TARGET_FILE:sandbox_attack>)
set_tests_properties(faults.sandbox faults.sandbox.as_user PROPERTIES
    SKIP_RETURN_CODE 77 TIMEOUT 600)

# What holds on any executor.
add_test(NAME faults.sandbox_host_killed COMMAND abi_host_killed sandbox "{\"work_dir\": \".\"}")
set_tests_properties(faults.sandbox_host_killed PROPERTIES
    SKIP_RETURN_CODE 77 ENVIRONMENT "PYTHONUNBUFFERED=" TIMEOUT 900)
