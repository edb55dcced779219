# SPDX-License-Identifier: Apache-2.0
#
# The parts of plugins/commandline that are about processes and connections.
function(commandline_unit_test name)
    add_executable(unit_${name} ${name}.c)
    target_link_libraries(unit_${name} PRIVATE code_executor_options commandline PkgConfig::CMOCKA)
    add_test(NAME unit.${name} COMMAND unit_${name})
endfunction()

commandline_unit_test(error)
commandline_unit_test(folder_removal)
commandline_unit_test(helper_process)
commandline_unit_test(helper_group)
commandline_unit_test(sanitize)
commandline_unit_test(environment)
target_link_libraries(unit_sanitize PRIVATE local_parts)
target_link_libraries(unit_environment PRIVATE local_parts)

# The session, opposite a runner that does what the test says.
add_library(fake_runner STATIC fake_runner.c)
target_link_libraries(fake_runner PUBLIC code_executor_options commandline)
foreach(name session session_faults session_overlap)
    commandline_unit_test(${name})
    target_link_libraries(unit_${name} PRIVATE fake_runner)
endforeach()

# The same sources with limits that a test can wait for.
commandline_unit_test(session_time)
foreach(part session session_run session_calls connection)
    target_sources(unit_session_time PRIVATE ${PROJECT_SOURCE_DIR}/plugins/commandline/${part}.c)
endforeach()
target_compile_definitions(unit_session_time PRIVATE
    SESSION_ANSWER_MS=500 SESSION_BACKSTOP_MS=500 SESSION_CANCEL_BACKSTOP_MS=500
    CONNECTION_STALL_MS=500)
target_link_libraries(unit_session_time PRIVATE fake_runner)
foreach(name lifecycle lifecycle_folders)
    commandline_unit_test(${name})
    target_sources(unit_${name} PRIVATE lifecycle_support.c fake_launcher.c)
    target_link_libraries(unit_${name} PRIVATE fake_runner)
endforeach()
