# SPDX-License-Identifier: Apache-2.0
#
# The docker executor through its table, on a real engine: that of DOCKER_HOST, or the default one. Tests of
# faults use the same support.
add_library(docker_support STATIC docker_support.c docker_images.c docker_relay.c)
target_include_directories(docker_support PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_definitions(docker_support
    PRIVATE DOCKER_PLUGIN_PATH="$<TARGET_FILE:docker>"
    PUBLIC TEST_ENGINE_SCRIPT="${PROJECT_SOURCE_DIR}/scripts/test-engine")
target_link_libraries(docker_support PUBLIC docker_parts PkgConfig::CMOCKA ${CMAKE_DL_LIBS})
add_dependencies(docker_support docker)

set(docker_tests
    docker
    docker_direct
    docker_discovery
    docker_existing
    docker_existing_leftovers
    docker_host
    docker_image
    docker_kinds
    docker_leftovers
    docker_options
    docker_pool
    docker_pull
    docker_reach
    docker_restart
    docker_ssh
    docker_strict
    docker_umask
    docker_versions
    docker_volume
    docker_workspace)
foreach(name ${docker_tests})
    add_executable(integration_${name} ${name}.c)
    target_link_libraries(integration_${name} PRIVATE docker_support)
    add_test(NAME integration.${name} COMMAND integration_${name})
    set_tests_properties(integration.${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600)
endforeach()
foreach(name docker_existing docker_existing_leftovers)
    target_sources(integration_${name} PRIVATE existing_support.c)
endforeach()
foreach(name docker_reach docker_ssh)
    target_sources(integration_${name} PRIVATE reach_support.c)
endforeach()
target_compile_definitions(integration_docker_ssh PRIVATE
    SSH_SERVER="${CMAKE_CURRENT_SOURCE_DIR}/ssh_server")
target_compile_definitions(integration_docker_reach PRIVATE
    PORT_RELAY="${CMAKE_CURRENT_SOURCE_DIR}/port_relay.py"
    MAKE_CERTIFICATES="${CMAKE_CURRENT_SOURCE_DIR}/make_certificates")
target_compile_definitions(integration_docker_pull PRIVATE
    TEST_REGISTRY="${CMAKE_CURRENT_SOURCE_DIR}/test_registry.py")
add_test(NAME integration.docker_in_docker
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/docker_in_docker.sh ${PROJECT_BINARY_DIR})
set_tests_properties(integration.docker_in_docker PROPERTIES SKIP_RETURN_CODE 77)
foreach(program lifecycle requests manners idle)
    code_executor_abi_test(integration ${program} docker)
endforeach()

# Longest first, so that the lanes come out alike.
docker_alone(integration.docker_leftovers 5)
docker_alone(integration.docker_volume 8)
docker_lane(integration.cases.docker 100)
docker_lane(integration.docker_pool 60)
docker_lane(integration.docker_manners 50)
docker_lane(integration.docker_ssh 40)
docker_lane(integration.docker_kinds 35)
docker_lane(integration.docker_existing 35)
docker_lane(integration.docker_options 33)
docker_lane(integration.docker_pull 32)
docker_lane(integration.docker_lifecycle 30)
docker_lane(integration.docker_reach 28)
docker_lane(integration.docker_existing_leftovers 20)
docker_lane(integration.docker_requests 19)
docker_lane(integration.docker 14)
foreach(name docker_direct docker_workspace docker_strict)
    docker_lane(integration.${name} 9)
endforeach()
foreach(name docker_discovery docker_host docker_idle docker_image docker_in_docker docker_restart docker_umask
        docker_versions)
    docker_lane(integration.${name} 5)
endforeach()

foreach(name ${docker_tests})
    get_test_property(integration.${name} RESOURCE_LOCK lane)
    if(NOT lane)
        message(FATAL_ERROR "integration.${name} is in no lane (lanes.cmake)")
    endif()
endforeach()

# The same on Podman, which answers by Docker's API. Its image comes from the engine, which must not be the one
# that faults.docker_engine is about to end.
add_test(NAME integration.podman_image COMMAND ${PROJECT_SOURCE_DIR}/scripts/test-podman fetch)
set_tests_properties(integration.podman_image PROPERTIES
    SKIP_RETURN_CODE 77 RESOURCE_LOCK "podman;docker_1" FIXTURES_SETUP podman_image LABELS unsanitized TIMEOUT 900
    COST 500)
function(podman_test name)
    add_test(NAME integration.${name}.podman
             COMMAND ${PROJECT_SOURCE_DIR}/scripts/test-podman run ${ARGN})
    set_tests_properties(integration.${name}.podman PROPERTIES
        SKIP_RETURN_CODE 77 RESOURCE_LOCK podman FIXTURES_REQUIRED podman_image LABELS unsanitized TIMEOUT 900
        COST 30)
endfunction()
add_executable(integration_docker_podman docker_podman.c)
target_link_libraries(integration_docker_podman PRIVATE docker_support)
podman_test(only $<TARGET_FILE:integration_docker_podman>)
podman_test(cases $<TARGET_FILE:integration_cases> docker)
set_tests_properties(integration.cases.podman PROPERTIES COST 120)
foreach(name docker docker_direct docker_host docker_image docker_kinds docker_options docker_strict docker_volume)
    podman_test(${name} $<TARGET_FILE:integration_${name}>)
endforeach()
podman_test(lifecycle $<TARGET_FILE:abi_lifecycle> docker)
podman_test(requests $<TARGET_FILE:abi_requests> docker)
