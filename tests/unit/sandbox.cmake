# SPDX-License-Identifier: Apache-2.0
#
# The parts of plugins/sandbox that need no sandbox.
add_library(sandbox_modules STATIC EXCLUDE_FROM_ALL
    ${PROJECT_SOURCE_DIR}/plugins/sandbox/cgroup.c ${PROJECT_SOURCE_DIR}/plugins/sandbox/cgroup_places.c
    ${PROJECT_SOURCE_DIR}/plugins/sandbox/diagnosis.c ${PROJECT_SOURCE_DIR}/plugins/sandbox/filter.c
    ${PROJECT_SOURCE_DIR}/plugins/sandbox/mount_list.c ${PROJECT_SOURCE_DIR}/plugins/sandbox/options.c)
target_include_directories(sandbox_modules PUBLIC ${PROJECT_SOURCE_DIR}/plugins/sandbox)
target_link_libraries(sandbox_modules PUBLIC code_executor_options commandline PkgConfig::SECCOMP)

foreach(name sandbox_cgroup sandbox_diagnosis sandbox_options)
    add_executable(unit_${name} ${name}.c)
    target_link_libraries(unit_${name} PRIVATE sandbox_modules PkgConfig::CMOCKA)
    add_test(NAME unit.${name} COMMAND unit_${name})
endforeach()
