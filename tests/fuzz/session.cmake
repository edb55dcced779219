# SPDX-License-Identifier: Apache-2.0
set(session_sources
    session.c session_run.c session_calls.c connection.c buffer.c error.c fork_guard.c text.c)
list(TRANSFORM session_sources PREPEND ${PROJECT_SOURCE_DIR}/plugins/commandline/)
code_executor_fuzz(session
    SOURCES ${session_sources}
    INCLUDES ${PROJECT_SOURCE_DIR}/plugins/commandline ${PROJECT_SOURCE_DIR}/plugins
    LIBRARIES commandline)
