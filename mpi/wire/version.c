/* SPDX-License-Identifier: BSD-3-Clause */
/* version.c: see version.h. Where all are the same two numbers are compared, and nothing is allocated.
 * Threads: see version.h. Owns: see version.h. Not here: what this rank runs (own_version.c, which tests
 * replace). */
#include "mpi/wire/version.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/log.h"

enum { HOST_BYTES = 64, LINE_BYTES = 1500, TOLD_MAX = 8 };

/* Of one rank; 128 bytes in all versions. */
struct told {
    char text[ORR_VERSION_BYTES], host[HOST_BYTES];
};

/* By FNV-1a, above 0. */
static int number_of(const char *text)
{
    uint32_t hash = 0x811c9dc5u;
    for (const char *c = text; *c; c++) hash = (hash ^ (unsigned char)*c) * 0x01000193u;
    return (int)(hash >> 1) | 1;
}

/* Adds "VERSION on ranks 0-2 and 5 (HOST)" of the ranks that have what rank first has. */
static size_t add_version(char *line, size_t at, const struct told *all, int size, int first)
{
    int runs = 0;
    at += (size_t)snprintf(line + at, LINE_BYTES - at, "%s%s on rank", first ? "; " : "", all[first].text);
    for (int i = first; i < size && at < LINE_BYTES - 100; i++) {
        if (strcmp(all[i].text, all[first].text) != 0) continue;
        int last = i;
        while (last + 1 < size && strcmp(all[last + 1].text, all[first].text) == 0) last++;
        if (++runs > TOLD_MAX) {
            at += (size_t)snprintf(line + at, LINE_BYTES - at, " and others");
            break;
        }
        at += (size_t)snprintf(line + at, LINE_BYTES - at, runs > 1 ? ", %d" : " %d", i);
        if (last > i) at += (size_t)snprintf(line + at, LINE_BYTES - at, "-%d", last);
        i = last;
    }
    if (at < LINE_BYTES - 100)
        at += (size_t)snprintf(line + at, LINE_BYTES - at, " (host %s)", all[first].host);
    return at < LINE_BYTES ? at : LINE_BYTES - 1;
}

/* Called on one rank. */
static void say(const struct told *all, int size)
{
    char line[LINE_BYTES] = "";
    size_t at = 0;
    int versions = 0;
    for (int i = 0; i < size && at < LINE_BYTES - 300; i++) {
        bool is_first = true;
        for (int k = 0; k < i && is_first; k++) is_first = strcmp(all[k].text, all[i].text) != 0;
        if (!is_first) continue;
        if (++versions > TOLD_MAX) break;
        at = add_version(line, at, all, size, i);
    }
    orr_error("starpu_mpi_init: the ranks run different versions of the library, and none starts: %s. Let "
              "all load the "
              "same one: install it on all hosts, and give all ranks one LD_LIBRARY_PATH (mpirun -x "
              "LD_LIBRARY_PATH)",
              line);
}

int orr_version_meet(const struct orr_bootstrap *b, const char *text)
{
    size_t size = (size_t)b->size;
    struct told me = { .text = "" };
    int least = b->agree(b, number_of(text)), most = -b->agree(b, -number_of(text));
    if (least == most) return 0;
    struct told *all = orr_malloc(size * sizeof *all);
    int r = b->agree(b, all ? 0 : -ENOMEM);
    snprintf(me.text, sizeof me.text, "%s", text);
    if (gethostname(me.host, sizeof me.host - 1) != 0) strcpy(me.host, "?");
    if (!r) r = b->all_gather(b, &me, sizeof me, all);
    for (size_t i = 0; i < size && !r; i++)
        all[i].text[sizeof me.text - 1] = all[i].host[sizeof me.host - 1] = 0;
    if (!r && b->rank == 0) say(all, b->size);
    if (r == -ENOMEM && b->rank == 0)
        orr_error(
            "starpu_mpi_init: the ranks run different versions of the library, and there is no memory to say "
            "which");
    orr_free(all);
    return r ? r : -EINVAL;
}
