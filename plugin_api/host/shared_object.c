/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared_object.c: file type, ELF header and segments of a file that is to be loaded.
 *
 * This is no defence against a hostile file: whoever can write a plugin can run code anyway. It is for
 * the mistakes that happen (a script, a plugin of another machine, a copy that a full disk cut short)
 * so that each has its own words and none hangs or kills the host.
 */
#include "shared_object.h"

#include "failure.h"
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The host's own ELF class and machine, which a plugin must share. */
#if __SIZEOF_POINTER__ == 8
#define OWN_CLASS ELFCLASS64
#else
#define OWN_CLASS ELFCLASS32
#endif
#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__i386__)
#define OWN_MACHINE EM_386
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#elif defined(__arm__)
#define OWN_MACHINE EM_ARM
#elif defined(__riscv)
#define OWN_MACHINE EM_RISCV
#else
#define OWN_MACHINE EM_NONE /* not known here: the loader decides */
#endif

static int32_t invalid(code_executor_error *error, const char *path, const char *problem)
{
    return fail(error, CODE_EXECUTOR_INVALID, "%s is not a plugin: %s.", path, problem);
}

static int32_t from_errno(code_executor_error *error, const char *path, int errnum)
{
    int32_t status = errnum == ENOENT || errnum == ENOTDIR ? CODE_EXECUTOR_NOT_FOUND
                     : errnum == EACCES || errnum == EPERM ? CODE_EXECUTOR_DENIED
                                                           : CODE_EXECUTOR_IO;
    return fail(error, status, "Cannot open %s: %s.", path, strerrordesc_np(errnum));
}

static int32_t check_header(const char *path, const ElfW(Ehdr) * header, size_t length,
                            code_executor_error *error)
{
    if (length < SELFMAG || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return invalid(error, path, "it is not a shared object (no ELF header)");
    if (length < sizeof(*header))
        return invalid(error, path, "the file is cut short");
    if (header->e_ident[EI_CLASS] != OWN_CLASS ||
        (OWN_MACHINE != EM_NONE && header->e_machine != OWN_MACHINE))
        return invalid(error, path, "it is built for another kind of machine");
    if (header->e_type != ET_DYN || header->e_phentsize != sizeof(ElfW(Phdr)))
        return invalid(error, path, "it is an ELF file, but not a shared object");
    return succeed(error);
}

/* Every segment must lie within the file: the loader maps them all and touches pages beyond the end. */
static int32_t check_segments(const char *path, int file, const ElfW(Ehdr) * header, uint64_t size,
                              code_executor_error *error)
{
    for (unsigned i = 0; i < header->e_phnum; i++) {
        ElfW(Phdr) segment;
        uint64_t offset = (uint64_t)header->e_phoff + (uint64_t)i * sizeof(segment);
        if (offset > size ||
            pread(file, &segment, sizeof(segment), (off_t)offset) != (ssize_t)sizeof(segment))
            return invalid(error, path, "the file is cut short");
        uint64_t end = 0;
        if (__builtin_add_overflow((uint64_t)segment.p_offset, (uint64_t)segment.p_filesz, &end) ||
            (segment.p_type == PT_LOAD && end > size))
            return invalid(error, path, "the file is cut short");
    }
    return succeed(error);
}

static int32_t check_open_file(const char *path, int file, code_executor_error *error)
{
    struct stat status;
    if (fstat(file, &status) != 0)
        return from_errno(error, path, errno);
    if (!S_ISREG(status.st_mode)) {
        return invalid(error, path,
                       S_ISDIR(status.st_mode) ? "it is a directory" : "it is not a regular file");
    }
    ElfW(Ehdr) header;
    memset(&header, 0, sizeof(header));
    ssize_t length = pread(file, &header, sizeof(header), 0);
    if (length < 0)
        return from_errno(error, path, errno);
    int32_t checked = check_header(path, &header, (size_t)length, error);
    return checked != CODE_EXECUTOR_OK
               ? checked
               : check_segments(path, file, &header, (uint64_t)status.st_size, error);
}

int32_t shared_object_check(const char *path, code_executor_error *error)
{
    /* O_NONBLOCK: opening a pipe that nobody writes to would wait for ever. */
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0)
        return from_errno(error, path, errno);
    int32_t checked = check_open_file(path, file, error);
    close(file);
    return checked;
}
