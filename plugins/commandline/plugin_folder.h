/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_folder.h: the folder that this plugin was loaded from, where its runner lies beside it.
 */
#ifndef CODE_EXECUTOR_PLUGIN_FOLDER_H
#define CODE_EXECUTOR_PLUGIN_FOLDER_H

/* Absolute, without links; lives as long as the plugin is loaded. NULL: it cannot be told. */
const char *plugin_folder(void);

#endif /* CODE_EXECUTOR_PLUGIN_FOLDER_H */
