# SPDX-License-Identifier: Apache-2.0
#
# The parts of plugins/commandline that are about processes and connections.
function(commandline_unit_test name)
    add_executable(unit_${name} ${name}.c)
    target_link_libraries(unit_${name} PRIVATE code_executor_options commandline PkgConfig::CMOCKA)
    add_test(NAME unit.${name} COMMAND unit_${name})
endfunction()

commandline_unit_test(error)
commandline_unit_test(helper_process)
commandline_unit_test(sanitize)
commandline_unit_test(environment)
target_link_libraries(unit_sanitize PRIVATE local_parts)
target_link_libraries(unit_environment PRIVATE local_parts)

# The session, opposite a runner that does what the test says.
add_library(fake_runner STATIC fake_runner.c)
target_link_libraries(fake_runner PUBLIC code_executor_options commandline)
commandline_unit_test(session)
target_link_libraries(unit_session PRIVATE fake_runner)
