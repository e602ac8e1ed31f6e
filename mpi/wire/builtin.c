/* SPDX-License-Identifier: BSD-3-Clause */
/* builtin.c: see builtin.h. Threads: see builtin.h. Owns: see builtin.h. Not here: see builtin.h. */
#include "mpi/wire/builtin.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/log.h"

int orr_builtin_find(const void *const *tables, int count, const char *setting, const char *what,
                     const char *name, size_t length)
{
    char names[200] = "";
    size_t used = 0;
    if (!name) return 0;
    for (int i = 0; i < count; i++) {
        const char *one = *(const char *const *)tables[i];
        if (!strncmp(name, one, length) && !one[length]) return i;
        if (used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", one);
    }
    orr_error("%s: there is no %s \"%s\"; choose one of %s", setting, what, name, names);
    return -EINVAL;
}
