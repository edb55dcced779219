# SPDX-License-Identifier: Apache-2.0
#
# code_executor_add_plugin(NAME SOURCE... [LIBRARIES LIBRARY...]): a plugin of this tree, NAME.so in
# the plugin folder beside the runner, exporting its entry and nothing else.
function(code_executor_add_plugin name)
    cmake_parse_arguments(PARSE_ARGV 1 plugin "" "" "LIBRARIES")
    add_library(${name} MODULE ${plugin_UNPARSED_ARGUMENTS})
    set_target_properties(${name} PROPERTIES
        PREFIX "" SUFFIX ".so" LIBRARY_OUTPUT_DIRECTORY ${CODE_EXECUTOR_PLUGIN_OUTPUT_DIRECTORY})
    target_link_libraries(${name} PRIVATE code_executor_options commandline ${plugin_LIBRARIES})
    target_link_options(${name} PRIVATE
        -Wl,--version-script=${PROJECT_SOURCE_DIR}/plugins/plugin.map -Wl,--gc-sections)
    if(NOT CODE_EXECUTOR_SANITIZE) # whose run time is found in the program
        target_link_options(${name} PRIVATE -Wl,-z,defs)
    endif()
    set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS ${PROJECT_SOURCE_DIR}/plugins/plugin.map)
    add_dependencies(${name} runner)
    install(TARGETS ${name} LIBRARY DESTINATION ${CODE_EXECUTOR_PLUGIN_INSTALL_DIR})
endfunction()
