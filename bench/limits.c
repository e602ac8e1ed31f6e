/* SPDX-License-Identifier: BSD-3-Clause */
/* limits: what this machine allows: hand-offs between cores, atomics, locks, allocation, copies.
 * Threads: main on core 0 and, for hand-offs, one on core 1.
 * Owns: the words they share.
 * Not here: any runtime. -r repeats; each line is the median. -d: only how far apart the first two cores are
 * just now, in ns for a hand-off: hosts move the cores of virtual machines. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>

#include "measure.h"

enum kind { BY_SPINNING, BY_FUTEX, BY_CONDITION };

static _Alignas(128) int word;
static _Alignas(128) long counter;
static long hops;
static enum kind kind;
static int other_core;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void pin(int core)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

static void futex_wait(int *address, int value)
{
    syscall(SYS_futex, address, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_wake(int *address)
{
    syscall(SYS_futex, address, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* Takes the word when it holds `me` and hands it to the other side, `hops` times. */
static void play(int me)
{
    for (long k = 0; k < hops; k++) {
        int seen;
        if (kind == BY_CONDITION) {
            pthread_mutex_lock(&mutex);
            while (word != me) pthread_cond_wait(&condition, &mutex);
            word = !me;
            pthread_cond_signal(&condition);
            pthread_mutex_unlock(&mutex);
            continue;
        }
        while ((seen = __atomic_load_n(&word, __ATOMIC_ACQUIRE)) != me)
            if (kind == BY_FUTEX) futex_wait(&word, seen);
        __atomic_store_n(&word, !me, __ATOMIC_RELEASE);
        if (kind == BY_FUTEX) futex_wake(&word);
    }
}

static void *play_other(void *unused)
{
    pin(other_core);
    play(1);
    return unused;
}

/* ns per hand-off from this thread on core 0 to one on `core` or back. */
static double hand_off(enum kind how, int core, long count)
{
    pthread_t thread;
    hops = count;
    kind = how;
    other_core = core;
    word = 0;
    pin(0);
    pthread_create(&thread, NULL, play_other, NULL);
    double start = now();
    play(0);
    pthread_join(thread, NULL);
    return (now() - start) / (2.0 * (double)count) * 1e9;
}

static double spin_hand_off(void)
{
    return hand_off(BY_SPINNING, 1, 1000000);
}
static double futex_hand_off(void)
{
    return hand_off(BY_FUTEX, 1, 30000);
}
static double futex_same_core(void)
{
    return hand_off(BY_FUTEX, 0, 30000);
}
static double condition_hand_off(void)
{
    return hand_off(BY_CONDITION, 1, 30000);
}

/* ns per execution of `statement`, on core 0. */
#define TIME(count, statement)                                                                               \
    do {                                                                                                     \
        pin(0);                                                                                              \
        double start_ = now();                                                                               \
        for (long k = 0; k < (count); k++) statement;                                                        \
        return (now() - start_) / (double)(count)*1e9;                                                       \
    } while (0)

__attribute__((noinline)) static void nothing(void)
{
    __asm__ volatile("");
}

static double indirect_call(void)
{
    void (*volatile function)(void) = nothing;
    TIME(50000000, function());
}

static double atomic_add(void)
{
    TIME(20000000, __atomic_fetch_add(&counter, 1, __ATOMIC_SEQ_CST));
}

static double compare_and_swap(void)
{
    long expected = counter;
    TIME(20000000, __atomic_compare_exchange_n(&counter, &expected, expected + 1, 0, __ATOMIC_SEQ_CST,
                                               __ATOMIC_SEQ_CST));
}

static void *add_many(void *core)
{
    pin(*(int *)core);
    for (long k = 0; k < 5000000; k++) __atomic_fetch_add(&counter, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

static double shared_atomic(void)
{
    pthread_t threads[2];
    int cores[2] = { 0, 1 };
    double start = now();
    for (int k = 0; k < 2; k++) pthread_create(&threads[k], NULL, add_many, &cores[k]);
    for (int k = 0; k < 2; k++) pthread_join(threads[k], NULL);
    return (now() - start) / 1e7 * 1e9;
}

static double lock_unlock(void)
{
    TIME(10000000, (pthread_mutex_lock(&mutex), pthread_mutex_unlock(&mutex)));
}
static double read_lock(void)
{
    TIME(10000000, (pthread_rwlock_rdlock(&rwlock), pthread_rwlock_unlock(&rwlock)));
}
static double clock_read(void)
{
    TIME(5000000, now());
}
static double wake_nobody(void)
{
    TIME(2000000, futex_wake(&word));
}
static double yield_alone(void)
{
    TIME(2000000, sched_yield());
}

static double allocate(void)
{
    void *volatile block;
    TIME(5000000, (block = malloc(64), free(block)));
}

/* malloc and free of 400 bytes with many live, as pending tasks have it. */
static double allocate_many(void)
{
    enum { LIVE = 200000 };
    static void *blocks[LIVE];
    double start = now();
    for (int round = 0; round < 5; round++) {
        for (long k = 0; k < LIVE; k++) {
            blocks[k] = malloc(400);
            *(volatile char *)blocks[k] = 1;
        }
        for (long k = 0; k < LIVE; k++) free(blocks[k]);
    }
    return (now() - start) / (5.0 * LIVE) * 1e9;
}

static double copy(size_t bytes)
{
    static char *from, *to;
    const size_t most = (size_t)256 << 20;
    if (!from) {
        from = malloc(most);
        to = malloc(most);
        memset(from, 1, most);
        memset(to, 2, most);
    }
    long count = (1L << 30) / (long)bytes;
    double start = now();
    for (long k = 0; k < count; k++) {
        memcpy(to, from, bytes);
        __asm__ volatile("" ::"r"(to) : "memory");
    }
    return (double)count * (double)bytes / (now() - start) * 1e-9;
}

static double copy_small(void)
{
    return copy((size_t)16 << 10);
}
static double copy_large(void)
{
    return copy((size_t)256 << 20);
}

static const struct {
    const char *name, *unit;
    double (*measure)(void);
    int needs_two_cores;
} table[] = {
    { "indirect call", "ns", indirect_call, 0 },
    { "atomic add, own line", "ns", atomic_add, 0 },
    { "compare-and-swap, own line", "ns", compare_and_swap, 0 },
    { "atomic add, two cores share", "ns", shared_atomic, 1 },
    { "mutex lock and unlock, free", "ns", lock_unlock, 0 },
    { "rwlock read and unlock, free", "ns", read_lock, 0 },
    { "malloc and free, 64 B", "ns", allocate, 0 },
    { "malloc and free, 400 B, 200k live", "ns", allocate_many, 0 },
    { "clock_gettime", "ns", clock_read, 0 },
    { "futex wake, nobody waits", "ns", wake_nobody, 0 },
    { "sched_yield, alone", "ns", yield_alone, 0 },
    { "cache line to another core", "ns", spin_hand_off, 1 },
    { "futex hand-off to another core", "ns", futex_hand_off, 1 },
    { "futex hand-off on one core", "ns", futex_same_core, 0 },
    { "condition hand-off to another core", "ns", condition_hand_off, 1 },
    { "memcpy 16 KiB", "GB/s", copy_small, 0 },
    { "memcpy 256 MiB", "GB/s", copy_large, 0 },
};

int main(int argc, char **argv)
{
    int repeats = option_repeats(argc, argv);
    if (option_given(argc, argv, "-d")) {
        printf("%.0f\n", sysconf(_SC_NPROCESSORS_ONLN) < 2 ? 0.0 : hand_off(BY_SPINNING, 1, 50000));
        return 0;
    }
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        double samples[SAMPLES_MAX];
        if (table[k].needs_two_cores && sysconf(_SC_NPROCESSORS_ONLN) < 2) continue;
        for (int r = 0; r < repeats; r++) samples[r] = table[k].measure();
        double middle = median(samples, repeats);
        printf("limit %-36s %10.2f %s [%.2f-%.2f]\n", table[k].name, middle, table[k].unit, samples[0],
               samples[repeats - 1]);
        fflush(stdout);
    }
    return 0;
}
