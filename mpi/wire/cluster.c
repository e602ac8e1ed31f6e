/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster.c: see cluster.h. Threads: see cluster.h. Owns: the one cluster of this process. Not here: how it
 * is started (api/init.c). */
#include "mpi/wire/cluster.h"

struct orr_cluster orr_cluster;
