/* SPDX-License-Identifier: BSD-3-Clause */
/* peek.c: see peek.h.
 * Threads: see there. Owns: see there. Not here: see there. */
#include "core/base/peek.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Where the system call is not allowed. */
static bool read_memory_file(void *dst, const void *src, size_t bytes)
{
    int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t n = pread(fd, dst, bytes, (off_t)(uintptr_t)src);
    close(fd);
    return n == (ssize_t)bytes;
}

bool orr_peek(void *dst, const void *src, size_t bytes)
{
    struct iovec to = { .iov_base = dst, .iov_len = bytes },
                 from = { .iov_base = (void *)(uintptr_t)src, .iov_len = bytes };
    if (bytes == 0) return true;
    /* not through the C library's function, which sanitizers look into */
    long n = syscall(SYS_process_vm_readv, getpid(), &to, 1UL, &from, 1UL, 0UL);
    if (n == (long)bytes) return true;
    return n < 0 && (errno == EPERM || errno == ENOSYS || errno == EACCES) &&
           read_memory_file(dst, src, bytes);
}

bool orr_peek_text(char *dst, size_t bytes, const char *src)
{
    enum { STEP = 64 }; /* a piece that crosses no page */
    size_t n = 0;
    dst[0] = '\0';
    if (!src) return false;
    while (n < bytes - 1) {
        char piece[STEP];
        size_t take = STEP - ((uintptr_t)src + n) % STEP;
        if (take > bytes - 1 - n) take = bytes - 1 - n;
        if (!orr_peek(piece, src + n, take)) break;
        for (size_t i = 0; i < take; i++) {
            if (piece[i] == '\0') {
                dst[n] = '\0';
                return true;
            }
            dst[n++] = (char)(isprint((unsigned char)piece[i]) ? piece[i] : '?');
        }
    }
    dst[n] = '\0';
    return n > 0;
}
