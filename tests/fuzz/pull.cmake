# SPDX-License-Identifier: Apache-2.0
code_executor_fuzz(pull
    SOURCES ${PROJECT_SOURCE_DIR}/plugins/docker/pull_progress.c
    INCLUDES ${PROJECT_SOURCE_DIR}/plugins/docker ${PROJECT_SOURCE_DIR}/plugins/commandline
        ${PROJECT_SOURCE_DIR}/common
    LIBRARIES docker_parts
    FLAGS -ljson-c)
