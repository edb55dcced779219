# SPDX-License-Identifier: Apache-2.0
#
# host_demo check, on executors that keep the rules and on plugin_faulty.c, which breaks each once.
add_library(plugin_faulty MODULE plugin_faulty.c plugin_faulty_spoil.c)
set_target_properties(plugin_faulty PROPERTIES
    PREFIX "" OUTPUT_NAME faulty SUFFIX .so LIBRARY_OUTPUT_DIRECTORY ${test_plugin_folder})
target_link_libraries(plugin_faulty PRIVATE code_executor_options common Threads::Threads)

add_executable(integration_check_demo check_demo.c)
target_link_libraries(integration_check_demo PRIVATE demo_process)
add_dependencies(integration_check_demo plugin_faulty)
add_test(NAME integration.check_demo COMMAND integration_check_demo)

add_test(NAME integration.check.sandbox COMMAND integration_check_demo sandbox)
# Each rule starts a container or two: those that are about the environment.
set(docker_rules config-defaults config-key config-type create leftovers languages describe start-again
    stop-twice restart destroy instances timeout cancel-one stop-running restart-running close-on-exec
    leaves-nothing manners silence fork unload)
list(JOIN docker_rules "," docker_rules)
add_test(NAME integration.check.docker COMMAND integration_check_demo docker ${docker_rules})
set_tests_properties(integration.check.sandbox integration.check.docker PROPERTIES
    SKIP_RETURN_CODE 77 TIMEOUT 600)
# Sanitizers have words of their own for what crashes, and do not survive a fork beside a thread that starts.
set_tests_properties(integration.check_demo integration.check.sandbox integration.check.docker PROPERTIES
    LABELS unsanitized)
docker_lane(integration.check.docker 25)
