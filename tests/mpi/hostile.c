/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2 3 */
/*
 * Messages of every size around the limits, in every form, posted in an order of each rank's own, some from
 * callbacks, some with data that tasks still write: whatever the seed, each arrives whole where it belongs.
 * Threads: main of each rank, tasks, callbacks.
 * Owns: the plan, which all ranks make alike from the seed.
 * Not here: the engine alone (engine_inproc.c).
 * Usage: hostile [SEEDS [FIRST]]
 */
#include "tests/mpi/helper_mpi.h"

enum { MESSAGES = 120, HEADER = 48, EAGER = 16384 - HEADER };
static const int sizes[] = { 0, 1, 7, 4096, EAGER - 1, EAGER, EAGER + 1, 65536, 300001 };

enum form { REQUEST, SYNCHRONOUS, DETACHED, FROM_CALLBACK, FORMS };

struct one {
    int source, destination, bytes;
    starpu_mpi_tag_t tag;
    enum form send, receive;
    int by_task; /* written by a task that runs late */
    unsigned char value;
    char *memory[2]; /* sent, received */
    starpu_data_handle_t handles[2];
    starpu_mpi_req requests[2];
};

static struct one messages[MESSAGES];
static atomic_int called, expected_calls, failed;
static starpu_data_handle_t token_handle;

static void make_plan(uint64_t seed)
{
    uint64_t s = seed;
    for (int i = 0; i < MESSAGES; i++) {
        struct one *m = &messages[i];
        memset(m, 0, sizeof *m);
        m->source = (int)(random_next(&s) % (uint64_t)ranks);
        m->destination = (int)(random_next(&s) % (uint64_t)ranks);
        m->bytes = sizes[random_next(&s) % (sizeof sizes / sizeof sizes[0])];
        m->tag = (starpu_mpi_tag_t)(random_next(&s) >> 2) | 1;
        m->send = (enum form)(random_next(&s) % FORMS);
        m->receive = (enum form)(random_next(&s) % FORMS);
        m->by_task = random_next(&s) % 3 == 0;
        m->value = (unsigned char)random_next(&s);
    }
}

static void fill_func(void *buffers[], void *arg)
{
    int value;
    starpu_codelet_unpack_args(arg, &value);
    memset((void *)STARPU_VECTOR_GET_PTR(buffers[0]), value, STARPU_VECTOR_GET_NX(buffers[0]));
}
static struct starpu_codelet fill_cl = {
    .cpu_funcs = { fill_func }, .nbuffers = 1, .modes = { STARPU_W }, .name = "fill"
};

static void count_call(void *unused UNUSED)
{
    atomic_fetch_add(&called, 1);
}

static void post(struct one *m, int receives, enum form form);

static void post_as_callback(void *arg)
{
    uintptr_t a = (uintptr_t)arg;
    post(&messages[a >> 1], (int)(a & 1), DETACHED);
    atomic_fetch_add(&called, 1);
}

/* Posts one end. */
static void post(struct one *m, int receives, enum form form)
{
    starpu_data_handle_t h = m->handles[receives];
    int peer = receives ? m->source : m->destination, r = 0;
    uintptr_t self = (uintptr_t)(m - messages) << 1 | (uintptr_t)receives;
    switch (form) {
    case FROM_CALLBACK: { /* a message to oneself calls back, and that posts it */
        starpu_mpi_tag_t tag = (starpu_mpi_tag_t)(self + 2) << 1;
        atomic_fetch_add(&expected_calls, 1);
        r = starpu_mpi_isend_detached(token_handle, my_rank, tag, MPI_COMM_WORLD, NULL, NULL);
        r |= starpu_mpi_irecv_detached(token_handle, my_rank, tag, MPI_COMM_WORLD, post_as_callback,
                                       (void *)self);
        break;
    }
    case DETACHED:
        atomic_fetch_add(&expected_calls, 1);
        r = receives ? starpu_mpi_irecv_detached(h, peer, m->tag, MPI_COMM_WORLD, count_call, NULL)
                     : starpu_mpi_isend_detached(h, peer, m->tag, MPI_COMM_WORLD, count_call, NULL);
        break;
    case SYNCHRONOUS:
    case REQUEST:
    default:
        if (receives)
            r = starpu_mpi_irecv(h, &m->requests[1], peer, m->tag, MPI_COMM_WORLD);
        else if (form == SYNCHRONOUS)
            r = starpu_mpi_issend(h, &m->requests[0], peer, m->tag, MPI_COMM_WORLD);
        else
            r = starpu_mpi_isend(h, &m->requests[0], peer, m->tag, MPI_COMM_WORLD);
    }
    if (r) atomic_fetch_add(&failed, 1);
}

static void open_end(struct one *m, int receives)
{
    m->memory[receives] = malloc((size_t)m->bytes + 1);
    memset(m->memory[receives], receives ? ~m->value : m->value, (size_t)m->bytes + 1);
    starpu_vector_data_register(&m->handles[receives], STARPU_MAIN_RAM, (uintptr_t)m->memory[receives],
                                (uint32_t)m->bytes, 1);
    if (receives || !m->by_task) return;
    int value = m->value;
    memset(m->memory[0], ~m->value, (size_t)m->bytes + 1);
    starpu_task_insert(&fill_cl, STARPU_W, m->handles[0], STARPU_VALUE, &value, sizeof value, 0);
}

static int close_end(struct one *m, int receives)
{
    int wrong = 0;
    if (m->requests[receives] && starpu_mpi_wait(&m->requests[receives], MPI_STATUS_IGNORE)) wrong++;
    starpu_data_unregister(m->handles[receives]);
    for (int i = 0; receives && i < m->bytes; i++) wrong += (unsigned char)m->memory[1][i] != m->value;
    free(m->memory[receives]);
    return wrong;
}

/* All ends of this rank in a random order. */
static int run(uint64_t seed)
{
    int ends[2 * MESSAGES], count = 0, wrong = 0;
    uint64_t own = seed * 31 + (uint64_t)my_rank;
    make_plan(seed);
    atomic_store(&called, 0);
    atomic_store(&expected_calls, 0);
    for (int i = 0; i < MESSAGES; i++) {
        if (messages[i].source == my_rank) ends[count++] = 2 * i;
        if (messages[i].destination == my_rank) ends[count++] = 2 * i + 1;
    }
    for (int i = count - 1; i > 0; i--) {
        int k = (int)(random_next(&own) % (uint64_t)(i + 1)), t = ends[i];
        ends[i] = ends[k];
        ends[k] = t;
    }
    for (int i = 0; i < count; i++) {
        struct one *m = &messages[ends[i] / 2];
        int receives = ends[i] & 1, flag;
        open_end(m, receives);
        post(m, receives, receives ? m->receive : m->send);
        if (m->requests[receives] && random_next(&own) % 2)
            if (starpu_mpi_test(&m->requests[receives], &flag, MPI_STATUS_IGNORE)) wrong++;
    }
    wrong += starpu_mpi_wait_for_all(MPI_COMM_WORLD) != 0;
    for (int i = 0; i < count; i++) wrong += close_end(&messages[ends[i] / 2], ends[i] & 1);
    wrong += atomic_load(&called) != atomic_load(&expected_calls);
    return wrong;
}

int main(int argc, char **argv)
{
    int seeds = argc > 1 ? atoi(argv[1]) : SCALED(12, 4), wrong = 0, token = 0;
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    setenv("STARPU_SILENT", "1", 0);
    mpi_start(&argc, &argv, 2);
    register_int(&token_handle, &token);
    for (int i = 0; i < seeds; i++) {
        int w = run(first + (uint64_t)i);
        if (w)
            fprintf(stderr, "# rank %d: seed %llu: %d are wrong\n", my_rank,
                    (unsigned long long)first + (unsigned long long)i, w);
        wrong += w;
    }
    fact(wrong == 0 && failed == 0, "%d seeds from %llu: messages of every size, form and order arrive",
         seeds, (unsigned long long)first);
    starpu_data_unregister(token_handle);
    return mpi_finish();
}
