/* SPDX-License-Identifier: BSD-3-Clause */
/* livepage.h: the page in shared memory in which a running process shows what it does, and finding those
 * pages. Threads: one of the process writes it; other processes of the same user read and ask. Owns: the
 * layout, the files (orrery.UID.PID in /dev/shm, or where ORRERY_LIVE says). Not here: who fills it
 * (core/run/live.h), who shows it (tools/live). Programs of tools/ are compiled with it: it uses nothing but
 * the C library.
 *
 * A process holds a lock on its file as long as it lives, and the system lets go of it however the process
 * ends: so a page without an owner is known by that, whatever its number means by then. Numbers are written
 * only while somebody has said lately that he looks; whoever rings says so. */
#ifndef ORR_BASE_LIVEPAGE_H
#define ORR_BASE_LIVEPAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/sync.h"

enum {
    ORR_LIVE_VERSION = 2,
    ORR_LIVE_CODELETS = 64,     /* the last stands for all others */
    ORR_LIVE_EVERY_MS = 100,    /* how often the numbers are written while somebody looks */
    ORR_LIVE_PATIENCE_MS = 3000 /* how long after he last said so */
};
#define ORR_LIVE_MAGIC UINT64_C(0x6576694c7972724f)

/* The numbers: these sums, then the workers, codelets and memory nodes. Multiples of 8 bytes. */
struct orr_live_sums {
    uint64_t at_ns;                          /* when they were written: CLOCK_MONOTONIC; 0: never */
    uint64_t since_ns;                       /* since when idle time, codelets and bytes are counted */
    uint64_t submitted, completed, expected; /* tasks; expected 0: the program has not said it */
    uint64_t moved_bytes, sent_bytes, messages;
    uint64_t group; /* equal for ranks of one run; 0: it has no ranks */
    int64_t rank;   /* -1: none */
};
struct orr_live_worker {
    char name[32], runs[56]; /* runs: "" nothing that is known */
    uint64_t job, tasks, idle_ns;
    uint32_t kind, is_idle;
};
struct orr_live_codelet {
    char name[48];
    uint64_t tasks, ns;
};
struct orr_live_node {
    char name[32];
    uint64_t used_bytes, limit_bytes, in_bytes, out_bytes; /* limit 0: none */
};

struct orr_live_page {
    _Atomic uint64_t magic;  /* written last */
    uint32_t version, words; /* how many words of numbers follow */
    uint32_t workers, codelets, nodes;
    int32_t pid;
    uint64_t started_s; /* since the epoch */
    char program[64];
    ORR_ALIGNED_LINE _Atomic uint32_t bell;     /* futex of its writer; readers add to it */
    _Atomic uint32_t why_asked, why_given;      /* who wants to know adds; equal: all were answered */
    _Atomic uint32_t over;                      /* the process has left the runtime */
    _Atomic uint64_t looked_ns;                 /* when somebody last looked: CLOCK_MONOTONIC */
    uint32_t place;                             /* among the ranks of this node [const] */
    _Atomic uint32_t follows, leaves;           /* the line of ORRERY_PROGRESS: core/run/progress.c */
    _Atomic uint32_t line_ended;                /* in the page of the first: its last line is said */
    ORR_ALIGNED_LINE _Atomic uint64_t sequence; /* odd while the numbers are being written */
    _Atomic uint64_t numbers[];
};

/* The numbers, where they were copied to. */
static inline struct orr_live_worker *orr_live_workers(const struct orr_live_sums *s)
{
    return (struct orr_live_worker *)(s + 1);
}
static inline struct orr_live_codelet *orr_live_codelets(const struct orr_live_sums *s, unsigned workers)
{
    return (struct orr_live_codelet *)(orr_live_workers(s) + workers);
}
static inline struct orr_live_node *orr_live_nodes(const struct orr_live_sums *s, unsigned workers)
{
    return (struct orr_live_node *)(orr_live_codelets(s, workers) + ORR_LIVE_CODELETS);
}

/* ---- the process itself ---- */

/* Makes the page of this process, or NULL, with the reason in errno; place: among the ranks of the node.
 * *fd_out: to be given back; -1: others cannot find it, for there is no folder, no room or no right. */
struct orr_live_page *orr_livepage_create(unsigned workers, unsigned nodes, unsigned place, int *fd_out);
/* Takes the file away, if it is this process's still, and the memory. */
void orr_livepage_destroy(struct orr_live_page *page, int fd);
/* Copies numbers of page->words words into it. */
void orr_livepage_write(struct orr_live_page *page, const struct orr_live_sums *numbers);

/* ---- others ---- */

enum orr_livepage_found {
    ORR_LIVE_FOUND,
    ORR_LIVE_NONE,   /* there is no such page, or its process is gone */
    ORR_LIVE_OTHER,  /* of another version of the library */
    ORR_LIVE_REFUSED /* it may not be read, or is damaged */
};

/* Maps the page of a process; stale ones are removed. */
enum orr_livepage_found orr_livepage_open(pid_t pid, struct orr_live_page **page_out);
void orr_livepage_close(struct orr_live_page *page);
/* Whether its process lives. */
bool orr_livepage_lives(pid_t pid);
/* The processes of this user that have pages, at most so many, but this one. Removes pages of those that are
 * gone. */
size_t orr_livepage_list(pid_t *pids_out, size_t most);
/* Copies the numbers; false: they are being written all the time, or never were. */
bool orr_livepage_read(struct orr_live_page *page, struct orr_live_sums *numbers_out);
/* Somebody looks, and the process is to know it. */
void orr_livepage_look(struct orr_live_page *page);

/* What ORRERY_LIVE says, to begin with. Where pages are then, NULL: they are switched off; the name of the
 * page of a process, or of its answer ("why"). */
void orr_livepage_set_folder(const char *setting);
const char *orr_livepage_folder(void);
void orr_livepage_name(char *dst, size_t bytes, pid_t pid, bool answer);

/* For a signal's handler too. */
void orr_livepage_ring(struct orr_live_page *page);

#endif
