/* SPDX-License-Identifier: BSD-3-Clause */
/* builtin.c: see builtin.h. Threads: see builtin.h. Owns: see builtin.h. Not here: see builtin.h. */
#include "mpi/wire/transports/builtin.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/log.h"

#define ORR_TRANSPORT(name) extern const struct orr_transport_ops orr_transport_##name;
#include "mpi/wire/transports/builtin.def"
#undef ORR_TRANSPORT

static const struct orr_transport_ops *const builtin[] = {
#define ORR_TRANSPORT(name) &orr_transport_##name,
#include "mpi/wire/transports/builtin.def"
#undef ORR_TRANSPORT
};

enum { COUNT = sizeof builtin / sizeof builtin[0] };

int orr_transport_find(const char *name)
{
    char names[200] = "";
    size_t used = 0;
    if (!name) return 0;
    for (int i = 0; i < COUNT; i++) {
        if (!strcmp(name, builtin[i]->name)) return i;
        if (used < sizeof names)
            used +=
                (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", builtin[i]->name);
    }
    orr_error("ORRERY_MPI_TRANSPORT: there is no transport \"%s\"; choose one of %s", name, names);
    return -EINVAL;
}

const struct orr_transport_ops *orr_transport_at(int number)
{
    return number >= 0 && number < COUNT ? builtin[number] : NULL;
}
