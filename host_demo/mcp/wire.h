/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.h: JSON-RPC 2.0 over stdin and stdout, a message a line.
 *
 * Invariant: what was stdout when the wire was opened gets whole messages and nothing else. The descriptor
 * 1 itself is stderr's from then on, so that whatever a plugin or a library prints by mistake cannot break
 * the protocol.
 */
#ifndef HOST_DEMO_MCP_WIRE_H
#define HOST_DEMO_MCP_WIRE_H

#include "text.h"
#include <json-c/json.h>

/* Of JSON-RPC, and one of the Model Context Protocol. */
enum rpc_error {
    RPC_PARSE_ERROR = -32700,
    RPC_INVALID_REQUEST = -32600,
    RPC_METHOD_NOT_FOUND = -32601,
    RPC_INVALID_PARAMS = -32602,
    RPC_INTERNAL_ERROR = -32603,
    RPC_UNSUPPORTED_VERSION = -32022,
};

int32_t wire_open(code_executor_error *error);

enum wire_event {
    WIRE_MESSAGE,  /* *MESSAGE is the caller's; it may be any JSON, NULL for null */
    WIRE_NONSENSE, /* no JSON, or longer than a message may be; it has been answered */
    WIRE_END,      /* stdin has ended, or a signal came */
};

/* Waits for the next line that is not blank. */
enum wire_event wire_read(json_object **message);

/* Each writes one message, from any thread, and takes what it is given as its own (ID but where it says
 * so). What cannot be written is lost: wire_is_lost says so. */
void wire_result(json_object *id, json_object *result);
void wire_error(json_object *id, int code, json_object *data, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void wire_notify(const char *method, json_object *params);

/* Nobody reads stdout any more. */
bool wire_is_lost(void);

/* Bytes as a JSON string; what is not UTF-8 becomes U+FFFD. NULL: no memory. */
json_object *wire_text(const char *bytes, size_t length);

/* Adds to OBJECT, which may be NULL; false: no memory, VALUE is freed. */
bool wire_add(json_object *object, const char *key, json_object *value);

#endif /* HOST_DEMO_MCP_WIRE_H */
