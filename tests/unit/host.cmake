# SPDX-License-Identifier: Apache-2.0
#
# libcode_executor_host, through its header; and, where a test needs to take hold of something within,
# its sources built once more: with memory that ends on command and in windows of a few lines.
function(host_unit_test name)
    cmake_parse_arguments(PARSE_ARGV 1 test "" "" "SOURCES;LIBRARIES;DEFINITIONS;ARGUMENTS")
    add_executable(unit_${name} ${name}.c ${test_SOURCES})
    target_compile_definitions(unit_${name} PRIVATE ${test_DEFINITIONS})
    target_link_libraries(unit_${name} PRIVATE
        code_executor_options PkgConfig::CMOCKA ${test_LIBRARIES})
    add_test(NAME unit.${name} COMMAND unit_${name} ${test_ARGUMENTS})
endfunction()

add_library(host_with_test_memory STATIC ${CODE_EXECUTOR_HOST_SOURCES} host_memory.c)
target_compile_definitions(host_with_test_memory PRIVATE
    ${CODE_EXECUTOR_HOST_DEFINITIONS} READING_WINDOW_LINES=5
    ARENA_SMALLEST_CHUNK=1 ARENA_LARGEST_GROWTH=1)
set_source_files_properties(${CODE_EXECUTOR_HOST_SOURCES} PROPERTIES COMPILE_OPTIONS
    "-include;${CMAKE_CURRENT_SOURCE_DIR}/host_memory_names.h")
target_link_libraries(host_with_test_memory
    PUBLIC code_executor_api
    PRIVATE code_executor_options
    INTERFACE PkgConfig::CMARK Threads::Threads ${CMAKE_DL_LIBS})
target_include_directories(host_with_test_memory PUBLIC ${PROJECT_SOURCE_DIR}/plugin_api/host
    PRIVATE ${PROJECT_SOURCE_DIR}/common)

host_unit_test(plugin_header LIBRARIES code_executor_api Threads::Threads)
host_unit_test(words LIBRARIES code_executor_host)
host_unit_test(extract_cases LIBRARIES code_executor_host PkgConfig::JSON_C
    DEFINITIONS EXTRACT_CASES="${PROJECT_SOURCE_DIR}/tests/cases/extract")
host_unit_test(extract_bytes LIBRARIES code_executor_host)
set(megabytes 50)
if(CODE_EXECUTOR_SANITIZE)
    set(megabytes 5)
endif()
host_unit_test(extract_size LIBRARIES code_executor_host ARGUMENTS ${megabytes})
host_unit_test(extract_memory LIBRARIES host_with_test_memory)
host_unit_test(extract_reading LIBRARIES host_with_test_memory)

# Plugins with one fault each; see plugins_sample.c.
set(samples ${CMAKE_CURRENT_BINARY_DIR}/samples)
foreach(fault good no_entry other_entry null_table other_version small_table no_execute no_name
        missing_symbol)
    add_library(sample_${fault} MODULE plugins_sample.c)
    string(TOUPPER ${fault} upper)
    target_compile_definitions(sample_${fault} PRIVATE SAMPLE_FAULT_${upper})
    target_link_libraries(sample_${fault} PRIVATE code_executor_options)
    set_target_properties(sample_${fault} PROPERTIES
        PREFIX "" OUTPUT_NAME ${fault} SUFFIX ".so" LIBRARY_OUTPUT_DIRECTORY ${samples})
    list(APPEND sample_targets sample_${fault})
endforeach()
host_unit_test(plugins LIBRARIES code_executor_host DEFINITIONS SAMPLES="${samples}")
add_dependencies(unit_plugins ${sample_targets})

host_unit_test(router SOURCES router_executor.c LIBRARIES code_executor_host)
host_unit_test(router_cancel SOURCES router_executor.c
    LIBRARIES code_executor_host Threads::Threads)
host_unit_test(router_memory SOURCES router_executor.c LIBRARIES host_with_test_memory
    DEFINITIONS SAMPLES="${samples}")
add_dependencies(unit_router_memory ${sample_targets})
