# SPDX-License-Identifier: Apache-2.0
#
# The headers in every dialect, the layout of version 1, what the host library exports, and a project
# outside that builds against an installation.

# ---- every dialect, every warning ----
set(warnings -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wundef -Wcast-qual
    -Wcast-align -Wwrite-strings -Wformat=2 -Werror -fsyntax-only)
set(c_warnings ${warnings} -Wstrict-prototypes -Wmissing-prototypes -Wc++-compat)
set(cxx_warnings ${warnings} -Wnon-virtual-dtor -Wold-style-cast)
set(includes -I${PROJECT_SOURCE_DIR}/plugin_api -I${PROJECT_SOURCE_DIR}/plugin_api/host)
foreach(compiler gcc clang)
    find_program(abi_${compiler} ${compiler})
    if(NOT abi_${compiler})
        continue()
    endif()
    foreach(standard c99 c11 c17 gnu99)
        add_test(NAME abi.header_${standard}_${compiler} COMMAND ${abi_${compiler}}
            -x c -std=${standard} ${c_warnings} ${includes} ${CMAKE_CURRENT_SOURCE_DIR}/header.c)
        add_test(NAME abi.plugin_header_${standard}_${compiler} COMMAND ${abi_${compiler}} -D_POSIX_C_SOURCE=200809L
            -x c -std=${standard} ${c_warnings} ${includes} ${CMAKE_CURRENT_SOURCE_DIR}/plugin_header.c)
    endforeach()
    foreach(standard c++11 c++17 c++20)
        add_test(NAME abi.header_${standard}_${compiler} COMMAND ${abi_${compiler}}
            -x c++ -std=${standard} ${cxx_warnings} ${includes} ${CMAKE_CURRENT_SOURCE_DIR}/header.c)
        add_test(NAME abi.plugin_header_${standard}_${compiler} COMMAND ${abi_${compiler}} -D_POSIX_C_SOURCE=200809L
            -x c++ -std=${standard} ${cxx_warnings} ${includes} ${CMAKE_CURRENT_SOURCE_DIR}/plugin_header.c)
    endforeach()
endforeach()

# ---- layout ----
if(CMAKE_SIZEOF_VOID_P EQUAL 8)
    configure_file(layout.c layout_cxx.cc COPYONLY)
    add_executable(abi_layout layout.c)
    add_executable(abi_layout_cxx ${CMAKE_CURRENT_BINARY_DIR}/layout_cxx.cc)
    target_link_libraries(abi_layout PRIVATE code_executor_api)
    target_link_libraries(abi_layout_cxx PRIVATE code_executor_api)
    add_test(NAME abi.layout COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/layout.sh
        ${CMAKE_CURRENT_SOURCE_DIR}/layout.txt $<TARGET_FILE:abi_layout> $<TARGET_FILE:abi_layout_cxx>)
    add_test(NAME abi.python COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/python.py
        ${PROJECT_SOURCE_DIR} ${CODE_EXECUTOR_PLUGIN_OUTPUT_DIRECTORY})
endif()

# ---- exports ----
add_test(NAME abi.exports COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/exports.sh ${CMAKE_NM}
    $<TARGET_FILE:code_executor_host> ${PROJECT_SOURCE_DIR}/plugin_api/host/code_executor_host.h)

# ---- outside ----
# A sanitized library needs its run time in each program that loads it, which outsiders' do not have.
if(NOT CODE_EXECUTOR_SANITIZE)
    add_test(NAME abi.outside COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/outside.sh
        ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
endif()
