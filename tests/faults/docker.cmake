# SPDX-License-Identifier: Apache-2.0
add_executable(faults_docker docker.c)
target_link_libraries(faults_docker PRIVATE docker_support)
add_test(NAME faults.docker COMMAND faults_docker)
set_tests_properties(faults.docker PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 900)
code_executor_abi_test(faults host_killed docker)
set_tests_properties(faults.docker faults.docker_host_killed PROPERTIES RESOURCE_LOCK docker)
