/* SPDX-License-Identifier: BSD-3-Clause */
/* snapshot.h: the file of one rank of one checkpoint: whole or not there, with checksums.
 * Threads: one at a time for each file. Owns: open files. Not here: whose values these are, and when a
 * checkpoint is complete (checkpoint.c).
 *
 * A head, blocks (a header and the bytes of a value each), a tail; each with a CRC-32C. It is written under
 * another name, brought to the disk, and then gets its own: cpID.DOMAIN.RUN.INSTANCE.rankRANK. */
#ifndef ORR_MPI_SNAPSHOT_H
#define ORR_MPI_SNAPSHOT_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

/* A checkpoint in time: the later run first, then the higher instance. */
struct orr_snapshot_when {
    uint64_t run;      /* when the run began, ns */
    uint64_t instance; /* from 1 on, through restarts */
};

struct orr_snapshot_head {
    char magic[8];
    uint32_t version, shape; /* shape: a sum over all that is in the checkpoint, on all ranks */
    int32_t id, domain, rank, ranks;
    struct orr_snapshot_when when;
    uint32_t blocks, unused; /* how many follow */
    char program[64];
    uint32_t zero, crc; /* of what is before */
};

/* A value. */
struct orr_snapshot_block {
    int64_t tag;
    uint64_t bytes;
    uint32_t entry, kind; /* its number in the checkpoint, and what it is */
    uint32_t payload_crc, crc;
};

struct orr_snapshot_out {
    int fd;
    uint32_t blocks, written, chain; /* how many there will be, and are; a sum over their headers */
    char path[PATH_MAX], temporary[PATH_MAX];
};

/* Makes the folder where needed, and begins the file. 0, or a negative errno with nothing left behind. What
 * is wrong is left for the caller to say. */
int orr_snapshot_create(struct orr_snapshot_out *out, const char *folder,
                        const struct orr_snapshot_head *head);
/* Appends a value. 0 or a negative errno; then the file is to be abandoned. */
int orr_snapshot_add(struct orr_snapshot_out *out, uint32_t entry, uint32_t kind, int64_t tag,
                     const void *data, size_t bytes);
/* All is there: it is on the disk under its name, or abandoned. 0 or a negative errno. */
int orr_snapshot_close(struct orr_snapshot_out *out);
void orr_snapshot_abandon(struct orr_snapshot_out *out);

/* Is shown a value; not 0: what is wrong with it, which why says. data is borrowed, aligned for anything. */
typedef int (*orr_snapshot_fn)(void *arg, const struct orr_snapshot_block *block, const void *data, char *why,
                               size_t why_bytes);
/* Reads and checks the file of that head's id, domain, rank and when; shows fn the values, before all are
 * known to be whole. 0; -EBADMSG: damaged, -EINVAL: its head says another number of ranks, program or shape;
 * a negative errno (cannot be read, -ENOMEM), or what fn returned: why says it. */
int orr_snapshot_read(const char *folder, const struct orr_snapshot_head *head, orr_snapshot_fn fn, void *arg,
                      char *why, size_t why_bytes);

/* Those of one rank that are in the folder, the latest first, max at most. Returns how many. */
unsigned orr_snapshot_list(const char *folder, const struct orr_snapshot_head *head,
                           struct orr_snapshot_when *list_out, unsigned max);
/* Removes the files of that rank that are earlier than when, half written ones too. */
void orr_snapshot_remove_before(const char *folder, const struct orr_snapshot_head *head,
                                const struct orr_snapshot_when *when);
/* The name of the file. */
void orr_snapshot_path(const char *folder, const struct orr_snapshot_head *head, char *dst, size_t bytes);

/* < 0, 0, > 0: a is later, the same, earlier. */
int orr_snapshot_compare(const struct orr_snapshot_when *a, const struct orr_snapshot_when *b);

#endif
