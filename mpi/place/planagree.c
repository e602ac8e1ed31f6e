/* SPDX-License-Identifier: BSD-3-Clause */
/* planagree.c: whether all ranks find the same file where the plan is said to be.
 * Threads: the main thread of each rank, when the layer starts. Owns: nothing. Not here: what is in it
 * (planfile.c), running it (plan.c).
 *
 * The ranks read the plan by themselves, perhaps from disks of their own. A rank without it would refuse what
 * the others insert and wait for. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "mpi/place/planfile.h"
#include "mpi/wire/transport.h"

/* What a rank found. */
struct found {
    uint64_t bytes, hash;
    int32_t status; /* 0 or a negative errno */
    char host[44];
};

static void look(struct found *f, const char *path)
{
    unsigned char part[4096];
    size_t n;
    *f = (struct found){ .hash = 0xcbf29ce484222325u };
    if (gethostname(f->host, sizeof f->host - 1)) strcpy(f->host, "?");
    FILE *file = fopen(path, "re");
    f->status = file ? 0 : -errno;
    while (file && (n = fread(part, 1, sizeof part, file)) > 0) {
        for (size_t i = 0; i < n; i++) f->hash = (f->hash ^ part[i]) * 0x100000001b3u;
        f->bytes += n;
    }
    if (file && ferror(file)) f->status = -EIO;
    if (file) fclose(file);
}

static bool is_same(const struct found *a, const struct found *b)
{
    return a->status == b->status && (a->status || (a->bytes == b->bytes && a->hash == b->hash));
}

static void describe(const struct found *f, int rank, char *text, size_t bytes)
{
    if (f->status)
        snprintf(text, bytes, "rank %d (%s) cannot read it: %s", rank, f->host, strerror(-f->status));
    else
        snprintf(text, bytes, "rank %d (%s) reads %llu bytes with the sum %016llx", rank, f->host,
                 (unsigned long long)f->bytes, (unsigned long long)f->hash);
}

int orr_plan_agree(const struct orr_bootstrap *b, const char *path, char why[ORR_PLAN_TEXT])
{
    char first[160], other[160];
    struct found mine, *all = orr_malloc((size_t)b->size * sizeof *all);
    int r = b->agree(b, all ? 0 : -ENOMEM), differs = 0;
    look(&mine, path);
    if (!r) r = b->all_gather(b, &mine, sizeof mine, all);
    for (int i = 1; i < b->size && !r && !differs; i++)
        if (!is_same(&all[0], &all[i])) differs = i;
    if (differs) {
        describe(&all[0], 0, first, sizeof first);
        describe(&all[differs], differs, other, sizeof other);
        snprintf(why, ORR_PLAN_TEXT,
                 "the plan %.200s is not the same on all ranks: %s, %s; give every rank the same file", path,
                 first, other);
        r = -EINVAL;
    }
    orr_free(all);
    return r;
}
