# SPDX-License-Identifier: Apache-2.0
set(local_folder ${PROJECT_SOURCE_DIR}/plugins/local)
code_executor_fuzz(sanitize
    SOURCES ${local_folder}/sanitize.c ${local_folder}/shell_reader.c
    INCLUDES ${local_folder}
    LIBRARIES local_parts)
