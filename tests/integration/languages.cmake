# SPDX-License-Identifier: Apache-2.0
#
# Languages: those that are installed by running them (cases/execute/languages.json), the others by the
# command lines that they are run with (languages.c). What is tested is other people's interpreters, so
# that a sanitized host would add nothing but time.
set(all_languages "{\"languages\": \"all\"}")
foreach(executor local sandbox)
    add_test(NAME integration.languages.${executor}
             COMMAND integration_cases ${executor} ${all_languages} languages.json)
endforeach()
# An image has what it has, and nobody's tests install more.
add_test(NAME integration.languages.docker
         COMMAND ${CMAKE_COMMAND} -E env --unset=CODE_EXECUTOR_REQUIRE_ALL
                 $<TARGET_FILE:integration_cases> docker ${all_languages} languages.json)
set_tests_properties(integration.languages.local integration.languages.sandbox
                     integration.languages.docker PROPERTIES
                     SKIP_RETURN_CODE 77 LABELS unsanitized TIMEOUT 1800)
set_tests_properties(integration.languages.local integration.languages.sandbox PROPERTIES COST 110)
docker_lane(integration.languages.docker 15)

add_executable(integration_languages languages.c)
target_link_libraries(integration_languages PRIVATE demo_process)
add_test(NAME integration.languages COMMAND integration_languages)

add_test(NAME integration.languages_page
         COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/languages.py $<TARGET_FILE:host_demo> ${PROJECT_SOURCE_DIR})
