# SPDX-License-Identifier: Apache-2.0
#
# What README.md and docs/ quote (programs, outputs, configuration keys) is what there is.
add_test(NAME integration.readme
         COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/readme.py $<TARGET_FILE:host_demo> ${PROJECT_SOURCE_DIR})
