/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plain_schema.h: somebody else's JSON Schema, as far as common/schema.h understands it.
 */
#ifndef HOST_DEMO_CHECK_PLAIN_SCHEMA_H
#define HOST_DEMO_CHECK_PLAIN_SCHEMA_H

#include <code_executor.h>
#include <json-c/json.h>

/* Takes keywords that are not understood out of SCHEMA, at every depth, and patterns, which are of
 * another kind there: what is left says less, and nothing that the whole does not say. Not OK: it is no
 * schema of an object. */
int32_t plain_schema(json_object *schema, code_executor_error *error);

#endif /* HOST_DEMO_CHECK_PLAIN_SCHEMA_H */
