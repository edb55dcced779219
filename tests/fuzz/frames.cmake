# SPDX-License-Identifier: Apache-2.0
code_executor_fuzz(frames
    SOURCES ${PROJECT_SOURCE_DIR}/plugins/runner/request.c
    INCLUDES ${PROJECT_SOURCE_DIR}/plugins/runner
    LIBRARIES runner_modules)
