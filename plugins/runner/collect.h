/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect.h: the files of a workspace that changed, as one stream; where a host cannot see the folder.
 *
 *     host ── SPAWN "runner collect SINCE LIMIT [NAME...]" ──▶ runner ──▶ runner collect
 *          ◀─────────────── OUTPUT: a head, then records ──────────────────┘
 *
 * It is the runner program once more, run as any command is: with the code's user, in the workspace, with
 * flow control, a time limit and cancel. So the runner itself needs no more to be trusted with.
 *
 * First each NAME is removed, a file that the host wants gone. Then comes the head: u32 magic, u64 now,
 * the time in ns before the first file was looked at, for the SINCE of the next call. Then a record for
 * each regular file whose status changed at SINCE or later:
 *
 *     u32 kind, u32 mode, u64 size, u32 length of the path, the path; COLLECT_FILE: size bytes
 *
 * A file that shrinks meanwhile is filled up with zeros: another call will bring it as it is by then.
 * COLLECT_SKIPPED tells of what cannot be read, and of files that would make it more than LIMIT bytes in
 * all; links and special files are passed over without a word.
 * COLLECT_ALIVE comes where nothing else has come for a second: there is nothing to tell, but it goes on.
 * COLLECT_FOLDERS comes once, behind all files: size bytes that the next call gets on its standard input, and that
 * mean nothing to others.
 * COLLECT_END is the last record, so that one sees whether all is there.
 *
 * Who reads must not trust it: the code may have had its hands in it.
 */
#ifndef CODE_EXECUTOR_RUNNER_COLLECT_H
#define CODE_EXECUTOR_RUNNER_COLLECT_H

#include <stdint.h>

/* A command's process is the runner itself until it runs its program, also where the runner's file is gone. What is
 * run so is the host's own, and is watched more closely than code is. */
#define COLLECT_PROGRAM     "/proc/self/exe"
#define COLLECT_WORD        "collect"
#define SHARE_WORD          "share"
#define COLLECT_MAGIC       0x31465243u /* "CRF1" as bytes */
#define COLLECT_HEAD_SIZE   12u
#define COLLECT_RECORD_SIZE 20u
#define COLLECT_PATH_MAX    4095u
#define COLLECT_FOLDERS_MAX 1048576u

/* SINCE: no file at all, only the head and the folders. */
#define COLLECT_NOTHING UINT64_MAX

enum collect_kind {
    COLLECT_END = 0,
    COLLECT_FILE = 1,
    COLLECT_SKIPPED = 2, /* mode: an errno; EFBIG: beyond the limit */
    COLLECT_ALIVE = 3,   /* no path */
    COLLECT_FOLDERS = 4  /* no path */
};

/* The subcommand: COUNT words behind COLLECT_WORD. Returns an exit status. */
int collect_main(int count, char **words);

/* "runner share", by root: lets every user write to the current folder, for the files that are to come. */
int share_main(void);

#endif /* CODE_EXECUTOR_RUNNER_COLLECT_H */
