/* SPDX-License-Identifier: BSD-3-Clause */
/* otrace.h: the form of recordings (doc/TRACE.md), for who writes them and who reads them.
 * Threads: none. Owns: the numbers in files: they are never given another meaning. Not here: putting records
 * together (core/run/record.c), reading them (tools/report). */
#ifndef ORR_BASE_OTRACE_H
#define ORR_BASE_OTRACE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    OTRACE_VERSION = 3,       /* a later one cannot be read */
    OTRACE_RECORD_WORDS = 96, /* at most; the first one included */
    OTRACE_TICKS_BITS = 48
};
#define OTRACE_FILE_MAGIC UINT64_C(0x0a65636172746f89)  /* "\x89otrace\n" */
#define OTRACE_BLOCK_MAGIC UINT64_C(0x6b636f6c62a9f70e) /* of every block */

/* A file begins with this one, then come blocks. All numbers are the machine's own, 64 bits wide or less; a
 * file from a machine of the other kind is known by its magic. */
struct otrace_file {
    uint64_t magic;
    uint32_t version, header_bytes; /* where the first block is */
    double ns_per_tick;             /* a first guess: blocks have readings of both clocks */
    uint64_t start_ticks, start_mono_ns, start_real_ns;
    uint32_t pid;
    int32_t rank; /* as the launcher said, -1: not */
};

enum otrace_block_type {
    OTRACE_META = 1,    /* text: lines of a key, a blank, and the value */
    OTRACE_RECORDS = 2, /* words of one ring, in the order in which they were put there */
    OTRACE_END = 3      /* the recording was ended in order: nothing follows */
};

struct otrace_block {
    uint64_t magic;
    uint32_t type, ring;
    uint64_t bytes;   /* that follow this header; a multiple of 8 */
    uint64_t lost;    /* records that did not fit into that ring until now; END: into all rings */
    uint64_t ticks;   /* when this was written; a record may be later by as long as a processor reads ahead */
    uint64_t mono_ns; /* the same moment, by the two clocks of the system */
    uint64_t real_ns;
    uint64_t checksum; /* otrace_sum of the words that follow, begun with that of the words before this one */
};

/* A record: first kind, number of words and the lowest bits of the time, in ticks; then its words. */
#define OTRACE_HEAD(kind, words, ticks)                                                                      \
    ((uint64_t)(kind) | (uint64_t)(words) << 8 | (uint64_t)(ticks) << (64 - OTRACE_TICKS_BITS))
static inline unsigned otrace_kind(uint64_t head)
{
    return head & 0xff;
}
static inline unsigned otrace_words(uint64_t head)
{
    return head >> 8 & 0xff;
}
static inline uint64_t otrace_ticks(uint64_t head)
{
    return head >> (64 - OTRACE_TICKS_BITS);
}

/* Two numbers in a word: the lower 48 bits, and the upper 16. */
#define OTRACE_PAIR(low, high) (((uint64_t)(low)&UINT64_C(0xffffffffffff)) | (uint64_t)(high) << 48)
static inline uint64_t otrace_low(uint64_t word)
{
    return word & UINT64_C(0xffffffffffff);
}
static inline unsigned otrace_high(uint64_t word)
{
    return (unsigned)(word >> 48);
}

/* Kinds of records, with the words after the first. A name stands for its otrace_name_hash. */
enum otrace_kind {
    OTRACE_SKIP = 0,           /* what follows it in its block is nothing */
    OTRACE_NAME = 1,           /* hash, bytes; then its bytes */
    OTRACE_THREAD = 2,         /* the system's number of the thread that has the ring from here on */
    OTRACE_SUBMITTED = 3,      /* job, (hash 32, priority 16, flags 8, context 8); then accesses: a handle's
                                * address, and in its lowest 4 bits enum otrace_access */
    OTRACE_ACCESSES = 4,       /* job; then more accesses of it */
    OTRACE_READY = 5,          /* job */
    OTRACE_TAKEN = 6,          /* (job, worker): its data are brought next */
    OTRACE_STARTED = 7,        /* (job, worker); perhaps the ns that it was predicted to take */
    OTRACE_ENDED = 8,          /* (job, worker), ticks that the body took; perhaps its model, as RAN has it */
    OTRACE_GIVEN_UP = 9,       /* (job, worker), it had started */
    OTRACE_FAILED = 10,        /* job, -errno */
    OTRACE_PART = 11,          /* (ticks, worker), perhaps job: a worker's part of a parallel task has ended,
                                * that of another one than ENDED will name */
    OTRACE_DECLARED = 12,      /* job, the job that it waits for */
    OTRACE_TAG_BOUND = 13,     /* tag (a name, no address), job */
    OTRACE_TAG_DECLARED = 14,  /* tag, the tag that it waits for */
    OTRACE_TAG_FREED = 15,     /* tag */
    OTRACE_IDLE = 16,          /* worker, 1: it waits for its team */
    OTRACE_BUSY = 17,          /* worker */
    OTRACE_SLEEPS = 18,        /* worker */
    OTRACE_WAKES = 19,         /* worker */
    OTRACE_REGISTERED = 20,    /* handle, (bytes, home node) */
    OTRACE_UNREGISTERED = 21,  /* handle, hash of its name or 0 */
    OTRACE_ALLOCATED = 22,     /* handle, (bytes, node) */
    OTRACE_EVICTED = 23,       /* handle, (0, node) */
    OTRACE_COPY_STARTED = 24,  /* handle, (bytes, from node), (cause, to node) */
    OTRACE_COPY_ENDED = 25,    /* handle, (status, from node), (0, to node) */
    OTRACE_MESSAGE = 26,       /* request, (rank, it is a send), tag */
    OTRACE_SENT = 27,          /* request, bytes, rank, tag, and from version 2 on context */
    OTRACE_RECEIVED = 28,      /* the same */
    OTRACE_USER_NUMBER = 29,   /* number */
    OTRACE_USER_TEXT = 30,     /* hash */
    OTRACE_ITERATION = 31,     /* number, depth */
    OTRACE_ITERATION_END = 32, /* number, depth */
    /* from version 2 on */
    OTRACE_JOINED = 33,  /* (who, the first of its data), handle | access: a step in the order of tasks */
    OTRACE_MEMORY = 34,  /* (bytes in use, node), its limit or 0 */
    OTRACE_WEIGHED = 35, /* (job, chosen worker or OTRACE_NOBODY); of each candidate: (cost ns, worker),
                          * (length ns, 32 bits, transfer ns, 32 bits) */
    OTRACE_BOUND = 36,   /* ns: starpu_bound_compute */
    /* from version 3 on */
    OTRACE_RAN = 37, /* (job, worker), ticks that the body took, until now; perhaps ns, as STARTED has them
                      * (0: nobody predicted), and perhaps (footprint, 32 bits, its model's name, 32 bits) */
    OTRACE_RUNNING = 38, /* (job, worker): a body that RAN will tell of began then; of no ring */
    OTRACE_PASSED = 39,  /* request, rank, request: the next SENT of the first is of a value of that rank,
                          * which the second received; 0: the next RECEIVED of the first came by way of that
                          * rank. Rank OTRACE_DECLINED: the last SENT of the first was not wanted there */
    OTRACE_KINDS
};
enum { OTRACE_NOBODY = 0xffff, OTRACE_NO_RING = 0xffff, OTRACE_DECLINED = 0xffff };

enum otrace_cause { /* of a copy */
                    OTRACE_PREFETCHED = 1,
                    OTRACE_ASKED = 2,       /* the program waits for it */
                    OTRACE_LOADED = 3,      /* a task does */
                    OTRACE_WRITTEN_BACK = 4 /* to make room where it comes from */
};

enum otrace_access {
    OTRACE_READ = 1,
    OTRACE_WRITE = 2,
    OTRACE_COMMUTE = 3,
    OTRACE_REDUX = 4,
    OTRACE_GROUP = 7,
    OTRACE_LATE = 8 /* out of order: no dependencies follow from it */
};

enum otrace_task_flag {
    OTRACE_INTERNAL = 1, /* of the runtime's own */
    OTRACE_NO_BODY = 2,  /* it ends when it is ready */
    OTRACE_NO_ORDER = 4, /* its submitter holds its data: no dependencies follow from them */
    OTRACE_DIVIDED = 8   /* more accesses follow in records of their own */
};

/* The sum of n words, beginning with `sum`. Every bit of them counts; for damage, not for malice. Word i is
 * the lane's with the number i modulo 4, so that a processor works on four at a time. */
static inline uint64_t otrace_sum(uint64_t sum, const uint64_t *words, size_t n)
{
    uint64_t lane[4] = { sum, sum + 1, sum + 2, sum + 3 };
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (unsigned j = 0; j < 4; j++) {
            lane[j] = (lane[j] ^ words[i + j]) * UINT64_C(0x9e3779b97f4a7c15);
            lane[j] ^= lane[j] >> 29;
        }
    for (; i < n; i++) {
        lane[i & 3] = (lane[i & 3] ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
        lane[i & 3] ^= lane[i & 3] >> 29;
    }
    for (unsigned j = 1; j < 4; j++) {
        lane[0] = (lane[0] ^ lane[j]) * UINT64_C(0x9e3779b97f4a7c15);
        lane[0] ^= lane[0] >> 29;
    }
    return lane[0];
}

/* 32 bits for a name; 0 is no name's. Readers do not work it out again. */
static inline uint32_t otrace_name_hash(const char *name, size_t bytes)
{
    uint64_t sum = bytes, word = 0;
    size_t i = 0;
    for (; i + sizeof word <= bytes; i += sizeof word) {
        memcpy(&word, name + i, sizeof word);
        sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        sum ^= sum >> 29;
    }
    for (word = 0; i < bytes; i++) word = word << 8 | (unsigned char)name[i];
    sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    uint32_t hash = (uint32_t)(sum >> 32);
    return hash ? hash : 1;
}

#endif
