/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder_removal.h: away with a folder in which code has worked.
 */
#ifndef CODE_EXECUTOR_FOLDER_REMOVAL_H
#define CODE_EXECUTOR_FOLDER_REMOVAL_H

/* Removes the folder with all that is in it, for which no process may be left that writes there. Returns
 * 0, also where it is not there, or the errno of what stays. */
int folder_remove(const char *path);

#endif /* CODE_EXECUTOR_FOLDER_REMOVAL_H */
