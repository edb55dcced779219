# SPDX-License-Identifier: Apache-2.0
#
# The sandbox, from outside (sandbox.c) and from inside (sandbox_escape.c and those after it), as the user
# who runs the tests and, where that is root, as an ordinary one too (sandbox_as_user).
add_executable(sandbox_attack attack/files.c attack/kernel.c attack/main.c attack/namespaces.c
    attack/processes.c attack/resources.c)
target_compile_options(sandbox_attack PRIVATE
    -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla
    $<$<BOOL:${CODE_EXECUTOR_WERROR}>:-Werror>)
target_compile_definitions(sandbox_attack PRIVATE _GNU_SOURCE)
target_link_options(sandbox_attack PRIVATE -static)

add_library(sandbox_support STATIC sandbox_support.c)
target_include_directories(sandbox_support PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_definitions(sandbox_support PRIVATE
    SANDBOX_PLUGIN="$<TARGET_FILE:sandbox>" SANDBOX_ATTACK="$<TARGET_FILE:sandbox_attack>")
target_link_libraries(sandbox_support
    PUBLIC code_executor_options PkgConfig::CMOCKA Threads::Threads
    PRIVATE PkgConfig::JSON_C ${CMAKE_DL_LIBS})
add_dependencies(sandbox_support sandbox sandbox_attack)

foreach(name sandbox sandbox_escape sandbox_given sandbox_kernel)
    add_executable(integration_${name} ${name}.c)
    target_link_libraries(integration_${name} PRIVATE sandbox_support)
    add_test(NAME integration.${name} COMMAND integration_${name})
    add_test(NAME integration.${name}.as_user
        COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/sandbox_as_user $<TARGET_FILE:integration_${name}>
                $<TARGET_FILE_DIR:sandbox> $<TARGET_FILE:sandbox_attack>)
    set_tests_properties(integration.${name} integration.${name}.as_user PROPERTIES
        SKIP_RETURN_CODE 77 TIMEOUT 600)
endforeach()

# The filter by itself. No unit test: valgrind, under which those run, makes calls of its own.
add_executable(integration_sandbox_filter sandbox_filter.c)
target_link_libraries(integration_sandbox_filter PRIVATE sandbox_modules PkgConfig::CMOCKA)
add_test(NAME integration.sandbox_filter COMMAND integration_sandbox_filter)

# What holds on any executor.
foreach(name lifecycle requests manners idle)
    add_test(NAME integration.sandbox_${name} COMMAND abi_${name} sandbox "{\"work_dir\": \".\"}")
    set_tests_properties(integration.sandbox_${name} PROPERTIES
        SKIP_RETURN_CODE 77 ENVIRONMENT "PYTHONUNBUFFERED=" TIMEOUT 900)
endforeach()
add_test(NAME integration.cases.sandbox COMMAND integration_cases sandbox)
set_tests_properties(integration.cases.sandbox PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 900)
