/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workspace_share.h: what root makes in a workspace is for code that may run as somebody else: as the workspace's
 * owner, or in a group that may write there. With an ordinary umask everybody can read it; with one that
 * keeps others out these could not, and they alone are let in.
 */
#ifndef CODE_EXECUTOR_COMMANDLINE_WORKSPACE_SHARE_H
#define CODE_EXECUTOR_COMMANDLINE_WORKSPACE_SHARE_H

/* FILE was made just now in the folder ABOVE, and nobody else has it. ABOVE may be of O_PATH. */
void workspace_share_file(int above, int file);

/* The folder INNER (of O_PATH) was made just now in ABOVE. */
void workspace_share_folder(int above, int inner);

#endif /* CODE_EXECUTOR_COMMANDLINE_WORKSPACE_SHARE_H */
