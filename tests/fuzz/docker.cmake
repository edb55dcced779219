# SPDX-License-Identifier: Apache-2.0
code_executor_fuzz(docker
    SOURCES ${PROJECT_SOURCE_DIR}/plugins/docker/stream.c
    INCLUDES ${PROJECT_SOURCE_DIR}/plugins/docker
    LIBRARIES docker_parts)
