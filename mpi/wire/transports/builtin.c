/* SPDX-License-Identifier: BSD-3-Clause */
/* builtin.c: see builtin.h. Threads: see builtin.h. Owns: see builtin.h. Not here: see builtin.h. */
#include "mpi/wire/transports/builtin.h"

#include <string.h>

#include "mpi/wire/builtin.h"

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
    return orr_builtin_find((const void *const *)builtin, COUNT, "ORRERY_MPI_TRANSPORT", "transport", name,
                            name ? strlen(name) : 0);
}

const struct orr_transport_ops *orr_transport_at(int number)
{
    return number >= 0 && number < COUNT ? builtin[number] : NULL;
}
