# SPDX-License-Identifier: Apache-2.0
set(session_sources
    session.c session_run.c session_calls.c connection.c buffer.c fork_guard.c)
list(TRANSFORM session_sources PREPEND ${PROJECT_SOURCE_DIR}/plugins/commandline/)
list(APPEND session_sources ${PROJECT_SOURCE_DIR}/common/error.c ${PROJECT_SOURCE_DIR}/common/text.c)
code_executor_fuzz(session
    SOURCES ${session_sources}
    INCLUDES ${PROJECT_SOURCE_DIR}/common ${PROJECT_SOURCE_DIR}/plugins/commandline ${PROJECT_SOURCE_DIR}/plugins
    LIBRARIES commandline)
