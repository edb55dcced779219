/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_file.h: the runner's side of WRITE, files beneath the folder in which it was started.
 */
#ifndef CODE_EXECUTOR_RUNNER_WRITE_FILE_H
#define CODE_EXECUTOR_RUNNER_WRITE_FILE_H

#include "request.h"
#include <stdbool.h>

/* Holds on to the current folder, once. */
void write_file_open(void);

enum write_outcome {
    WRITE_GOES_ON,   /* more frames are to come */
    WRITE_FINISHED,  /* the last frame was taken; *ERROR is the errno for WRITE_DONE */
    WRITE_MISPLACED, /* a first frame while one is open under the number, or a later one without */
};
enum write_outcome write_file_frame(uint32_t number, uint16_t flags,
                                    const struct write_request *request, int *error);

/* Removes what was begun and not finished. */
void write_file_close(void);

#endif /* CODE_EXECUTOR_RUNNER_WRITE_FILE_H */
