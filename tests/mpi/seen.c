/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values that another rank's tasks read where their owner has them: where they read, when the owner may write
 * again, who else gets a copy, what is given back, and when copies are sent instead. Threads: one for each
 * rank, workers, and one that looks whether the program ends. Owns: the data of each rank. Not here: lent
 * tasks that use data in place (lending.c), ranks that are processes (seen_mpi.c).
 */
#include <signal.h>
#include <starpu.h>
#include <stdatomic.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "mpi/value/seen.h"
#include "tests/mpi/in_process.h"

enum { RANKS = 2, COUNT = 1024, DATA = 4, LIMIT_S = 50 };

/* ---- data ---- */

static uint64_t memory[DATA][COUNT]; /* of rank 0 */

struct program {
    struct job *j;
    struct orr_comm *c;
    int rank;
    starpu_data_handle_t data[DATA];
};

static atomic_int wrong, failed, torn, readers, in_place, elsewhere;
static atomic_bool go_on; /* what bodies that linger wait for */
static _Atomic uint64_t wrote_ns, read_ns;
static struct orr_view_counts counts[RANKS];

static void call(int r)
{
    if (r) atomic_fetch_add(&failed, 1);
}

static bool all_are(const uint64_t *p, uint64_t value)
{
    for (int i = 0; i < COUNT; i++)
        if (*(volatile const uint64_t *)&p[i] != value) return false;
    return true;
}

/* ---- tasks ---- */

static void write_body(void *buffers[], void *arg)
{
    uint64_t value, *p = (uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    starpu_codelet_unpack_args(arg, &value);
    wrote_ns = orr_clock_ns();
    for (int i = 0; i < COUNT; i++) p[i] = value;
}
static struct starpu_codelet write_cl = {
    .cpu_funcs = { write_body }, .nbuffers = 1, .modes = { STARPU_W }, .name = "write"
};

static void add_body(void *buffers[], void *arg)
{
    uint64_t value, *p = (uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    starpu_codelet_unpack_args(arg, &value);
    for (int i = 0; i < COUNT; i++) p[i] += value;
}
static struct starpu_codelet add_cl = {
    .cpu_funcs = { add_body }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "add"
};

static bool is_owners(const uint64_t *p)
{
    return p >= memory[0] && p < memory[DATA];
}

/* The value is there from the beginning to the end. */
static void read_body(void *buffers[], void *arg)
{
    uint64_t value;
    int us;
    const uint64_t *p = (const uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    starpu_codelet_unpack_args(arg, &value, &us);
    atomic_fetch_add(&readers, 1);
    uint64_t until = orr_clock_ns() + (uint64_t)us * 1000;
    do
        if (!all_are(p, value)) atomic_fetch_add(&torn, 1);
    while (us && orr_clock_ns() < until && !atomic_load(&go_on));
    atomic_fetch_add(is_owners(p) ? &in_place : &elsewhere, 1);
    if (us) read_ns = orr_clock_ns();
    atomic_fetch_sub(&readers, 1);
}
static struct starpu_codelet read_cl = {
    .cpu_funcs = { read_body }, .nbuffers = 1, .modes = { STARPU_R }, .name = "read"
};

static void write_to(struct program *p, int i, uint64_t value)
{
    call(insert(p->c, &write_cl, STARPU_W, p->data[i], STARPU_VALUE, &value, sizeof value, 0));
}

/* On rank 1. */
static void read_at(struct program *p, int i, uint64_t value, int us)
{
    call(insert(p->c, &read_cl, STARPU_R, p->data[i], STARPU_VALUE, &value, sizeof value, STARPU_VALUE, &us,
                sizeof us, STARPU_EXECUTE_ON_NODE, 1, 0));
}

/* All of the two ranks have come so far, and nothing is outstanding. */
static void meet(struct program *p)
{
    call(orr_wait_for_all(p->c));
    call(orr_coll_barrier(p->c));
}

/* The program itself reads the value; where: its own copy, if it is not the owner. */
static void look(struct program *p, int i, uint64_t value)
{
    call(starpu_data_acquire(p->data[i], STARPU_R));
    const uint64_t *at = (const uint64_t *)starpu_vector_get_local_ptr(p->data[i]);
    if (!all_are(at, value) || (p->rank && is_owners(at))) atomic_fetch_add(&wrong, 1);
    starpu_data_release(p->data[i]);
}

/* ---- the programs ---- */

static void (*body)(struct program *p);

static void one_rank(struct job *j, int rank)
{
    struct program p = { .j = j, .rank = rank };
    call(rank_start(j, rank));
    p.c = comm_of(j, rank);
    for (int i = 0; i < DATA; i++) {
        starpu_vector_data_register(&p.data[i], rank ? -1 : STARPU_MAIN_RAM, rank ? 0 : (uintptr_t)memory[i],
                                    COUNT, sizeof memory[0][0]);
        orr_owned_set_tag(p.c->cluster->value, p.data[i], 1 + i);
        orr_cache_set_owner(p.c, p.data[i], 0);
    }
    body(&p);
    call(orr_wait_for_all(p.c));
    for (int i = 0; i < DATA; i++)
        if (p.data[i]) starpu_data_unregister(p.data[i]);
    counts[rank] = orr_views_get_counts(&sessions[rank].value);
    call(rank_end(j, rank));
}

static void run(void (*program)(struct program *p), unsigned delays)
{
    struct job j;
    wrong = failed = torn = readers = in_place = elsewhere = 0;
    atomic_store(&go_on, false);
    body = program;
    alarm(LIMIT_S);
    job_create(&j, RANKS, 0, delays, one_rank);
    orr_inproc_show(j.net);
    job_run(&j);
    job_join(&j);
    alarm(0);
}

static void is_right(const char *what)
{
    is_int(wrong + torn, 0, "%s: all values", what);
    is_int(failed, 0, "%s: no call fails", what);
}

static void reads(struct program *p)
{
    write_to(p, 0, 5);
    for (int i = 0; i < 4; i++) read_at(p, 0, 5, 0);
    meet(p);
    look(p, 0, 5);
    read_at(p, 0, 5, 0);
}

static void read_where_it_is(void)
{
    run(reads, 0);
    is_right("a value that tasks read");
    is_int(in_place, 4, "tasks read it where its owner has it, until the program itself looks");
    is_int(elsewhere, 1, "which has its own copy, as tasks after it");
    is_int((int)counts[0].shown, 1, "it was shown once");
    is_int((int)counts[0].recalled, 0, "and given back unasked");
}

/* A body at rank 1 reads on while the owner wants to write. */
static void writes_after(struct program *p)
{
    write_to(p, 0, 5);
    read_at(p, 0, 5, 30000);
    if (p->rank)
        while (!atomic_load(&readers)) usleep(100); /* it is at it */
    call(orr_coll_barrier(p->c));
    write_to(p, 0, 6);
    meet(p);
    read_at(p, 0, 6, 0); /* a copy: the owner had to wait */
}

static void writer_waits(void)
{
    run(writes_after, 0);
    is_right("a writer that comes while a task reads");
    ok(wrote_ns >= read_ns && read_ns > 0, "the value stayed until its reader was through");
    is_int((int)counts[0].recalled, 1, "the owner asked for it");
    is_int((int)counts[0].hasty, 1, "and had to wait");
    is_int(in_place, 1, "so the next value");
    is_int(elsewhere, 1, "was sent");
}

/* Two workers read one after the other, for long, and a third is to write. */
static void reads_on(struct program *p)
{
    enum { MANY = 40 };
    uint64_t old = 5, new = 6;
    write_to(p, 0, old);
    for (int i = 0; i < MANY; i++) {
        int us = i % 3 ? 4000 : 2000;
        call(insert(p->c, &read_cl, STARPU_R, p->data[0], STARPU_VALUE, &old, sizeof old, STARPU_VALUE, &us,
                    sizeof us, STARPU_EXECUTE_ON_NODE, 1, STARPU_EXECUTE_ON_WORKER, i % 2, 0));
    }
    if (p->rank)
        while (!atomic_load(&readers)) usleep(100);
    call(orr_coll_barrier(p->c));
    call(insert(p->c, &write_cl, STARPU_W, p->data[0], STARPU_VALUE, &new, sizeof new,
                STARPU_EXECUTE_ON_WORKER, 2, 0));
}

static void later_readers_are_not_waited_for(void)
{
    run(reads_on, 0);
    is_right("a writer that comes while many read");
    ok(wrote_ns < read_ns, "it waits for those who were at it, not for those who came later");
    ok(elsewhere > 0, "who read a copy (%d)", (int)elsewhere);
}

/* The reader is not at it, but has a copy that it needs later; then its owner ends it. */
static void keeps(struct program *p)
{
    for (int i = 0; i < 3; i++) write_to(p, i, 7);
    for (int i = 0; i < 3; i++) read_at(p, i, 7, 0);
    meet(p);
    if (!p->rank) {
        call(starpu_data_acquire(p->data[0], STARPU_W)); /* of its own */
        memset(memory[0], 0, sizeof memory[0]);
        starpu_data_release(p->data[0]);
        starpu_data_unregister(p->data[1]);
        memset(memory[1], 0, sizeof memory[1]);
        starpu_data_unregister_submit(p->data[2]);
        p->data[1] = p->data[2] = NULL;
    }
    call(orr_coll_barrier(p->c));
    if (p->rank)
        for (int i = 0; i < 3; i++) look(p, i, 7);
}

static void copies_stay(void)
{
    run(keeps, 0);
    is_right("a copy whose owner has another value since, or ended");
    is_int(in_place, 3, "all were read in place before");
    is_int((int)counts[0].recalled, 3, "and asked back");
}

/* While the program at rank 1 has its copy, the owner goes on. */
static void holds(struct program *p)
{
    write_to(p, 0, 8);
    read_at(p, 0, 8, 0);
    meet(p);
    if (p->rank) call(starpu_data_acquire(p->data[0], STARPU_R));
    call(orr_coll_barrier(p->c));
    if (!p->rank) {
        uint64_t value = 9;
        call(starpu_task_insert(&write_cl, STARPU_W, p->data[0], STARPU_VALUE, &value, sizeof value, 0));
        call(starpu_data_acquire(p->data[0], STARPU_R));
        if (memory[0][0] != 9) atomic_fetch_add(&wrong, 1);
        starpu_data_release(p->data[0]);
    }
    call(orr_coll_barrier(p->c)); /* the owner has written: who holds a copy keeps nobody */
    if (!p->rank) return;
    if (!all_are((const uint64_t *)starpu_vector_get_local_ptr(p->data[0]), 8)) atomic_fetch_add(&wrong, 1);
    starpu_data_release(p->data[0]);
}

static void program_keeps_nobody(void)
{
    run(holds, 0);
    is_right("a copy that the program holds while its owner writes");
}

/* A body that looks by itself, and tries to acquire what it reads. */
static void look_body(void *buffers[], void *arg)
{
    starpu_data_handle_t h;
    const uint64_t *p = (const uint64_t *)STARPU_VECTOR_GET_PTR(buffers[0]);
    starpu_codelet_unpack_args(arg, &h);
    if (!all_are((const uint64_t *)starpu_vector_get_local_ptr(h), 4)) atomic_fetch_add(&wrong, 1);
    if (starpu_data_acquire_try(h, STARPU_R) == 0) {
        const uint64_t *at = (const uint64_t *)starpu_vector_get_local_ptr(h);
        if (!all_are(at, 4) || is_owners(at)) atomic_fetch_add(&wrong, 1);
        starpu_data_release(h);
    }
    if (!all_are(p, 4)) atomic_fetch_add(&torn, 1);
    atomic_fetch_add(is_owners(p) ? &in_place : &elsewhere, 1);
}
static struct starpu_codelet look_cl = {
    .cpu_funcs = { look_body }, .nbuffers = 1, .modes = { STARPU_R }, .name = "look"
};

static void looks(struct program *p)
{
    write_to(p, 0, 4);
    write_to(p, 1, 4);
    read_at(p, 1, 4, 0);
    call(insert(p->c, &look_cl, STARPU_R, p->data[0], STARPU_VALUE, &p->data[0], sizeof p->data[0],
                STARPU_EXECUTE_ON_NODE, 1, 0));
    meet(p);
    uint64_t *held = p->rank ? starpu_data_handle_to_pointer_ref(p->data[1], STARPU_MAIN_RAM) : NULL;
    call(orr_coll_barrier(p->c));
    write_to(p, 1, 9); /* which waits for nobody who only has a pointer */
    if (!p->rank) {
        call(starpu_data_acquire(p->data[1], STARPU_R));
        starpu_data_release(p->data[1]);
        return;
    }
    if (is_owners(held) || !all_are(held, 4)) atomic_fetch_add(&wrong, 1);
    starpu_data_handle_to_pointer_unref(p->data[1], STARPU_MAIN_RAM);
}

static void others_have_copies(void)
{
    run(looks, 0);
    is_right("a body that looks by other ways, and a pointer that is held");
    is_int(in_place, 2, "both were read in place");
}

/* After the body nobody is kept from writing, and the value is still to be had. */
static void late_look(void *arg)
{
    starpu_data_handle_t h = *(starpu_data_handle_t *)arg;
    const uint64_t *at = (const uint64_t *)starpu_vector_get_local_ptr(h);
    if (is_owners(at) || !all_are(at, 4)) atomic_fetch_add(&wrong, 1);
}

/* The second half alone counts, in a vector that was cut since it was registered. */
static void half_body(void *buffers[], void *arg)
{
    void *first = buffers[0]; /* which are the body's own */
    (void)arg;
    if (STARPU_VECTOR_GET_NX(buffers[0]) != COUNT / 2) atomic_fetch_add(&wrong, 1);
    buffers[0] = buffers[1];
    buffers[1] = first;
    atomic_fetch_add(is_owners((const uint64_t *)STARPU_VECTOR_GET_PTR(first)) ? &in_place : &elsewhere, 1);
}
static struct starpu_codelet half_cl = {
    .cpu_funcs = { half_body }, .nbuffers = 2, .modes = { STARPU_R, STARPU_R }, .name = "half"
};

static void cut(starpu_data_handle_t h)
{
    call(starpu_data_acquire(h, STARPU_W));
    struct starpu_vector_interface *v = starpu_data_get_interface_on_node(h, STARPU_MAIN_RAM);
    v->nx = COUNT / 2;
    starpu_data_release(h);
}

static void ends_late(struct program *p)
{
    write_to(p, 0, 4);
    write_to(p, 1, 4);
    int none = 0;
    starpu_data_handle_t *which = p->rank ? malloc(sizeof *which) : NULL; /* freed with the task */
    if (which) *which = p->data[0];
    call(insert(p->c, &read_cl, STARPU_R, p->data[0], STARPU_VALUE, &(uint64_t){ 4 }, sizeof(uint64_t),
                STARPU_VALUE, &none, sizeof none, STARPU_EXECUTE_ON_NODE, 1, STARPU_EPILOGUE_CALLBACK,
                late_look, STARPU_EPILOGUE_CALLBACK_ARG, which, 0));
    read_at(p, 1, 4, 0);
    meet(p);
    orr_cache_flush(p->c, p->data[1]);
    meet(p);
    cut(p->data[1]);
    call(insert(p->c, &half_cl, STARPU_R, p->data[1], STARPU_R, p->data[2], STARPU_EXECUTE_ON_NODE, 1, 0));
    meet(p);
}

static void bodies_do_as_they_like(void)
{
    run(ends_late, 0);
    is_right("callbacks that look, shapes that change, and bodies that exchange their buffers");
    ok(in_place >= 2, "they read in place (%d)", (int)in_place);
}

/* With a second memory node, of which the data know nothing. */
static char folder[] = "/tmp/orrery-seen-XXXXXX";

static void stores(struct program *p)
{
    write_to(p, 0, 3);
    meet(p);
    if (!p->rank &&
        (!mkdtemp(folder) || starpu_disk_register(&starpu_disk_unistd_ops, folder, STARPU_DISK_SIZE_MIN) < 0))
        atomic_fetch_add(&failed, 1);
    call(orr_coll_barrier(p->c));
    read_at(p, 0, 3, 0);
    meet(p);
}

static void a_store_comes_later(void)
{
    run(stores, 0);
    is_right("a store that is registered after the data");
    is_int(in_place, 1, "they are read in place all the same");
}

/* An array with gaps in each of five dimensions goes by a copy that its interface makes. */
enum { SIDE = 5, GAPPED = SIDE + 1, DIMENSIONS = 5 };
static uint64_t gapped[GAPPED * GAPPED * GAPPED * GAPPED * GAPPED];

static void sum_body(void *buffers[], void *arg)
{
    (void)arg;
    uint64_t sum = 0;
    const uint64_t *p = (const uint64_t *)STARPU_NDIM_GET_PTR(buffers[0]);
    const size_t *ld = STARPU_NDIM_GET_LDN(buffers[0]);
    for (unsigned i = 0; i < SIDE * SIDE * SIDE * SIDE * SIDE; i++) {
        size_t at = 0;
        for (unsigned d = 0, left = i; d < DIMENSIONS; d++, left /= SIDE) at += left % SIDE * ld[d];
        sum += p[at];
    }
    if (sum != (uint64_t)SIDE * SIDE * SIDE * SIDE * SIDE) atomic_fetch_add(&wrong, 1);
    atomic_fetch_add(&elsewhere, 1);
}
static struct starpu_codelet sum_cl = {
    .cpu_funcs = { sum_body }, .nbuffers = 1, .modes = { STARPU_R }, .name = "sum"
};

static void sums(struct program *p)
{
    size_t nn[DIMENSIONS], ld[DIMENSIONS] = { 1 };
    starpu_data_handle_t h;
    for (int d = 0; d < DIMENSIONS; d++) nn[d] = SIDE;
    for (int d = 1; d < DIMENSIONS; d++) ld[d] = ld[d - 1] * GAPPED;
    starpu_ndim_data_register(&h, p->rank ? -1 : STARPU_MAIN_RAM, p->rank ? 0 : (uintptr_t)gapped, ld, nn,
                              DIMENSIONS, sizeof gapped[0]);
    orr_owned_set_tag(p->c->cluster->value, h, 50);
    orr_cache_set_owner(p->c, h, 0);
    for (int i = 0; i < 20; i++) {
        call(insert(p->c, &sum_cl, STARPU_R, h, STARPU_EXECUTE_ON_NODE, 1, 0));
        orr_cache_flush(p->c, h);
    }
    call(orr_wait_for_all(p->c));
    starpu_data_unregister(h);
}

static void gaps_are_copied(void)
{
    for (size_t i = 0; i < sizeof gapped / sizeof gapped[0]; i++) gapped[i] = 1;
    run(sums, 0);
    is_right("arrays that are packed");
    is_int(elsewhere, 20, "each was read");
}

/* Each rank changes its own datum by a task of its own that reads a copy of the other's: both copies are
 * read in place, and both owners want theirs back. */
static void crosses(struct program *p)
{
    enum { ROUNDS = 60 };
    orr_cache_set_owner(p->c, p->data[1], 1);
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < 2; i++)
            call(insert(p->c, &write_cl, STARPU_W, p->data[i], STARPU_VALUE, &round, sizeof round, 0));
        int none = 0;
        call(insert(p->c, &read_cl, STARPU_R, p->data[0], STARPU_VALUE, &round, sizeof round, STARPU_VALUE,
                    &none, sizeof none, STARPU_EXECUTE_ON_NODE, 1, 0));
        call(insert(p->c, &read_cl, STARPU_R, p->data[1], STARPU_VALUE, &round, sizeof round, STARPU_VALUE,
                    &none, sizeof none, STARPU_EXECUTE_ON_NODE, 0, 0));
        uint64_t more = 100;
        int own = p->rank, others = !p->rank;
        call(starpu_task_insert(&read_cl, STARPU_R, p->data[others], STARPU_VALUE, &round, sizeof round,
                                STARPU_VALUE, &none, sizeof none, 0));
        call(starpu_task_insert(&add_cl, STARPU_RW, p->data[own], STARPU_VALUE, &more, sizeof more, 0));
        if (round % 3) meet(p);
    }
}

static void owners_cross(void)
{
    run(crosses, 3);
    is_right("ranks that read each other's data and change their own");
    ok(in_place > 0, "some were read in place (%d)", (int)in_place);
}

/* The reader changes its copy, cuts it, and gives it back. */
static void changes(struct program *p)
{
    struct starpu_data_filter halves = { .filter_func = starpu_vector_filter_block, .nchildren = 2 };
    starpu_data_handle_t piece[2];
    uint64_t more = 3;
    int none = 0;
    for (int i = 0; i < DATA; i++) write_to(p, i, 20);
    for (int i = 0; i < DATA; i++) read_at(p, i, 20, 0);
    call(insert(p->c, &add_cl, STARPU_RW, p->data[0], STARPU_VALUE, &more, sizeof more,
                STARPU_EXECUTE_ON_NODE, 1, 0)); /* rank 1 writes, for its owner */
    call(insert(p->c, &read_cl, STARPU_R, p->data[0], STARPU_VALUE, &(uint64_t){ 23 }, sizeof(uint64_t),
                STARPU_VALUE, &none, sizeof none, STARPU_EXECUTE_ON_NODE, 0, 0));
    meet(p);
    if (p->rank) {
        call(starpu_task_insert(&add_cl, STARPU_RW, p->data[1], STARPU_VALUE, &more, sizeof more, 0));
        look(p, 1, 23);
        starpu_data_partition_plan(p->data[2], &halves, piece);
        starpu_data_partition_submit(p->data[2], 2, piece);
        for (int i = 0; i < 2; i++) {
            call(starpu_data_acquire(piece[i], STARPU_R));
            const uint64_t *at = (const uint64_t *)starpu_vector_get_local_ptr(piece[i]);
            if (at[0] != 20 || is_owners(at)) atomic_fetch_add(&wrong, 1);
            starpu_data_release(piece[i]);
        }
        starpu_data_unpartition_submit(p->data[2], 2, piece, -1);
        starpu_data_partition_clean(p->data[2], 2, piece);
        starpu_data_invalidate_submit(p->data[3]);
    }
    if (!p->rank)
        for (int i = 1; i < 3; i++)
            if (!all_are(memory[i], 20)) atomic_fetch_add(&wrong, 1);
}

static void copies_are_own(void)
{
    run(changes, 0);
    is_right("a copy that is changed, cut, or emptied");
    ok(in_place >= DATA,
       "and they were read in place before, but for one that may have been written too soon");
}

/* ---- memory that is only read where it is large, and shown ---- */

static void reads_small(struct program *p)
{
    (void)p;
    reads(p);
}

static void small_are_sent(void)
{
    setenv("ORRERY_MPI_IN_PLACE", "1000000", 1);
    run(reads_small, 0);
    setenv("ORRERY_MPI_IN_PLACE", "4096", 1);
    is_right("a value that is too small");
    is_int(in_place, 0, "is sent");
    is_int((int)(counts[0].shown + counts[0].declined), 0, "and not told of");
    setenv("ORRERY_MPI_IN_PLACE", "0", 1);
    run(reads_small, 0);
    setenv("ORRERY_MPI_IN_PLACE", "4096", 1);
    is_int(in_place, 0, "with 0 none is read in place");
}

/* ---- all at once ---- */

static uint64_t draw_next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* Both ranks draw the same; what one does alone the other skips. */
static void anything(struct program *p)
{
    enum { STEPS = 400 };
    uint64_t state = 11, value[DATA] = { 0 };
    for (int i = 0; i < DATA; i++) write_to(p, i, 0);
    for (int step = 1; step <= STEPS; step++) {
        int i = (int)(draw_next(&state) % DATA), what = (int)(draw_next(&state) % 12);
        int us = (int)(draw_next(&state) % 4 ? 0 : draw_next(&state) % 300);
        uint64_t more = (uint64_t)step;
        switch (what) {
        case 0: write_to(p, i, value[i] = (uint64_t)step * 1000); break;
        case 1:
            call(insert(p->c, &add_cl, STARPU_RW, p->data[i], STARPU_VALUE, &more, sizeof more,
                        STARPU_EXECUTE_ON_NODE, (int)(draw_next(&state) % 2), 0));
            value[i] += more;
            break;
        case 2:
            if (!p->rank) {
                call(starpu_data_acquire(p->data[i], STARPU_R));
                if (!all_are(memory[i], value[i])) atomic_fetch_add(&wrong, 1);
                starpu_data_release(p->data[i]);
            }
            break;
        case 3: meet(p); break;
        case 4: orr_cache_flush(p->c, p->data[i]); break;
        default: read_at(p, i, value[i], us); break;
        }
    }
    meet(p);
    if (p->rank) return;
    for (int i = 0; i < DATA; i++) {
        call(starpu_data_acquire(p->data[i], STARPU_R));
        if (!all_are(memory[i], value[i])) atomic_fetch_add(&wrong, 1);
        starpu_data_release(p->data[i]);
    }
}

static void all_at_once(unsigned delays)
{
    run(anything, delays);
    is_right("random reads, writes and flushes");
    ok(in_place > 0, "some were read in place (%d of %d), %d of those recalled", (int)in_place,
       (int)(in_place + elsewhere), (int)counts[0].recalled);
}

static void too_long(int signal)
{
    (void)signal;
    static const char text[] = "Bail out! it does not end\n";
    (void)!write(1, text, sizeof text - 1);
    abort();
}

int main(void)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = 3;
    setenv("ORRERY_MPI_IN_PLACE", "4096", 1);
    signal(SIGALRM, too_long);
    if (starpu_init(&conf)) skip_all("no worker");
    read_where_it_is();
    writer_waits();
    later_readers_are_not_waited_for();
    copies_stay();
    program_keeps_nobody();
    others_have_copies();
    bodies_do_as_they_like();
    gaps_are_copied();
    owners_cross();
    copies_are_own();
    small_are_sent();
    all_at_once(0);
    all_at_once(5);
    a_store_comes_later();
    starpu_shutdown();
    rmdir(folder);
    return done_testing();
}
