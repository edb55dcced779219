# SPDX-License-Identifier: Apache-2.0
#
# host_demo mcp, by a client of its own.
add_test(NAME integration.mcp_demo
    COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/mcp_demo.py $<TARGET_FILE:host_demo> ${test_plugin_folder})
set_tests_properties(integration.mcp_demo PROPERTIES TIMEOUT 600)
