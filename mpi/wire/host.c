/* SPDX-License-Identifier: BSD-3-Clause */
/* host.c: see host.h. Threads: see host.h. Owns: see host.h. Not here: see host.h. */
#include "mpi/wire/host.h"

#include <stdio.h>

/* The system's number of its start, as hashed by FNV-1a. */
uint64_t orr_host_number(void)
{
    uint64_t hash = 0xcbf29ce484222325u;
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (!f) return 0;
    for (int c; (c = fgetc(f)) != EOF;) hash = (hash ^ (unsigned char)c) * 0x100000001b3u;
    fclose(f);
    return hash ? hash : 1;
}
