# SPDX-License-Identifier: Apache-2.0
set(extract_sources
    arena.c block_language.c extract.c failure.c message.c reading.c shadow.c words.c)
list(TRANSFORM extract_sources PREPEND ${PROJECT_SOURCE_DIR}/plugin_api/host/)
code_executor_fuzz(extract
    SOURCES ${extract_sources}
    INCLUDES ${PROJECT_SOURCE_DIR}/plugin_api/host ${PROJECT_SOURCE_DIR}/common
    LIBRARIES code_executor_host
    FLAGS ${CMARK_LDFLAGS} ${CMARK_CFLAGS})
