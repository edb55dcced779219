# SPDX-License-Identifier: Apache-2.0
foreach(name docker docker_causes docker_engine)
    add_executable(faults_${name} ${name}.c)
    target_link_libraries(faults_${name} PRIVATE docker_support)
    add_test(NAME faults.${name} COMMAND faults_${name})
    set_tests_properties(faults.${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 900)
endforeach()
code_executor_abi_test(faults host_killed docker)
# In the lanes of ../integration/lanes.cmake.
docker_alone(faults.docker_engine 9)
docker_lane(faults.docker 80)
docker_lane(faults.docker_causes 30)
docker_lane(faults.docker_host_killed 5)
