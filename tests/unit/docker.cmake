# SPDX-License-Identifier: Apache-2.0
#
# Single parts of plugins/docker.
function(docker_unit_test name)
    add_executable(unit_docker_${name} docker_${name}.c)
    target_link_libraries(unit_docker_${name} PRIVATE docker_parts PkgConfig::CMOCKA)
    add_test(NAME unit.docker_${name} COMMAND unit_docker_${name})
endfunction()

docker_unit_test(stream)
docker_unit_test(container_body)
docker_unit_test(image_reference)
docker_unit_test(credentials)
target_sources(unit_docker_credentials PRIVATE ${PROJECT_SOURCE_DIR}/plugins/docker/credential_helper.c)
target_compile_definitions(unit_docker_credentials PRIVATE CREDENTIAL_HELPER_LIMIT_MS=3000)
docker_unit_test(profile)
docker_unit_test(endpoint)
docker_unit_test(trickle)
docker_unit_test(existing)
docker_unit_test(rendezvous)
docker_unit_test(wakeup_pair)
