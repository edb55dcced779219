/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins.h: the list of plugins in words, for the command and for the dialogue.
 */
#ifndef HOST_DEMO_PLUGINS_H
#define HOST_DEMO_PLUGINS_H

#include "text.h"

/* Appends the plugins there are, in the colours of DESCRIPTOR. */
int32_t plugins_append_list(struct bytes *text, int descriptor, code_executor_error *error);

#endif /* HOST_DEMO_PLUGINS_H */
