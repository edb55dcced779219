# SPDX-License-Identifier: Apache-2.0
set(collected_sources ${PROJECT_SOURCE_DIR}/plugins/commandline/collected.c)
code_executor_fuzz(collected
    SOURCES ${collected_sources}
    INCLUDES ${PROJECT_SOURCE_DIR}/plugins ${PROJECT_SOURCE_DIR}/plugins/commandline ${PROJECT_SOURCE_DIR}/common)
target_sources(fuzz_test_collected PRIVATE ${collected_sources})
