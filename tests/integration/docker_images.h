/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_images.h: images that tests make, of a few files and in no time.
 */
#ifndef CODE_EXECUTOR_TEST_DOCKER_IMAGES_H
#define CODE_EXECUTOR_TEST_DOCKER_IMAGES_H

/*
 * Makes the image NAME ("repository:tag") whose files are what the shell SCRIPT leaves in the folder that it
 * is run in. CHANGES are lines of a Dockerfile, each ended by a newline.
 */
void image_make(const char *name, const char *script, const char *changes);

/* The same with /bin as PATH, for machines of another ARCHITECTURE. */
void image_make_foreign(const char *name, const char *script, const char *architecture);

/* A script for image_make: busybox as /bin/sh and some others. */
#define BUSYBOX                                                                                    \
    "mkdir bin && cp /bin/busybox bin/ && for name in sh cat id echo ls pwd grep sleep touch; do " \
    "ln -s busybox bin/$name; done\n"

/* With all other names of it, if it is there. */
void image_remove(const char *name);

#endif /* CODE_EXECUTOR_TEST_DOCKER_IMAGES_H */
