/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks: 2
 *
 * A program under orrery_malloc: what malloc and its like give is sound, and large blocks are where the other
 * ranks of the node see them. Threads: main of each rank, and some that allocate. Owns: its blocks. Not here:
 * the blocks themselves (tests/core/arena.c), what is done with them (lending_mpi.c, near.c).
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/mem/arena.h"
#include "tests/mpi/helper_mpi.h"

enum { SMALL = 1000, LARGE = 100 << 10, LARGER = 300 << 10, HUGE = 64 << 20 };
enum { THREADS = 3, ROUNDS = 4000, SLOTS = 24 };

static int is_filled(const unsigned char *p, size_t bytes, unsigned char with)
{
    for (size_t i = 0; i < bytes; i++)
        if (p[i] != with) return 0;
    return 1;
}

static bool shares; /* this rank has memory that others see */

static int is_seen(const void *p)
{
    return orr_arena_owns(p) || !shares;
}

static void where_blocks_are(void)
{
    void *small = malloc(SMALL), *large = malloc(LARGE), *zeros = calloc(HUGE, 1);
    fact(!orr_arena_owns(small), "small blocks of malloc are the C library's");
    fact(is_seen(large), "large ones are where others see them");
    fact(is_seen(zeros), "zeros, too");
    memset(large, 7, LARGE);
    fact(malloc_usable_size(large) >= LARGE && malloc_usable_size(small) >= SMALL,
         "each says how large it is");
    free(small);
    free(large);
    free(zeros);
    free(NULL);
}

static void zeros(void)
{
    int right = 1;
    for (int i = 0; i < 20; i++) {
        unsigned char *p = malloc(LARGE);
        memset(p, 255, LARGE);
        free(p);
        p = calloc(LARGE / 4, 4);
        right &= p && is_seen(p) && is_filled(p, LARGE, 0);
        free(p);
    }
    fact(right, "calloc gives zeros where somebody else wrote before");
    volatile size_t most = SIZE_MAX / 2;
    errno = 0;
    void *p = calloc(most, 4);
    fact(!p && errno == ENOMEM, "and nothing where the product is more than there is");
    errno = 0;
    p = reallocarray(NULL, most, 4);
    fact(!p && errno == ENOMEM, "as reallocarray");
    errno = 0;
    p = malloc(most);
    fact(!p && errno == ENOMEM, "and malloc");
}

/* Through all sizes, in both directions. */
static void sizes_change(void)
{
    static const size_t sizes[] = { SMALL, LARGE, LARGER, LARGER - 5000, SMALL, LARGER, LARGE, 40000, 1 };
    unsigned char *p = malloc(SMALL);
    size_t had = SMALL;
    int right = 1;
    memset(p, 9, SMALL);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        p = i % 2 ? realloc(p, sizes[i]) : reallocarray(p, sizes[i], 1);
        right &= is_filled(p, had < sizes[i] ? had : sizes[i], 9);
        memset(p, 9, sizes[i]);
        had = sizes[i];
    }
    free(p);
    fact(right, "realloc keeps what is in a block, large or small");
    p = malloc(LARGE);
    memset(p, 3, LARGE);
    p = realloc(p, LARGER);
    fact(is_seen(p) && is_filled(p, LARGE, 3), "a large block that grows goes on being seen");
    int moves = 0;
    for (size_t bytes = LARGER; bytes < HUGE; bytes += LARGE) {
        unsigned char *q = realloc(p, bytes);
        moves += q != p;
        p = q;
        p[bytes - 1] = 3;
    }
    fact(moves < 20, "one that grows step by step is not moved each time (%d times)", moves);
    p = realloc(p, 0);
    fact(!p, "and ends where nothing is wanted");
}

static void alignments(void)
{
    int right = 1;
    void *p = NULL;
    for (size_t a = sizeof(void *); a <= 1 << 21; a *= 2)
        for (int large = 0; large < 2; large++) {
            right &= posix_memalign(&p, a, large ? LARGE : SMALL) == 0 && (uintptr_t)p % a == 0;
            memset(p, 1, large ? LARGE : SMALL);
            free(p);
            p = aligned_alloc(a, large ? LARGE / a * a + a : a);
            right &= p && (uintptr_t)p % a == 0;
            free(p);
        }
    fact(right, "blocks begin where they are to, up to 2 MiB");
    fact(posix_memalign(&p, 24, LARGE) == EINVAL, "what is no power of two is refused");
}

/* The C library's own blocks. */
static void its_own(void)
{
    char *text = NULL, *copy, *line = NULL;
    size_t bytes = 0, room = 0;
    FILE *f = open_memstream(&text, &bytes);
    for (int i = 0; i < LARGE; i++) fputc('a' + i % 26, f);
    fputc('\n', f);
    fclose(f);
    copy = strdup(text);
    fact(bytes == LARGE + 1 && !strcmp(copy, text), "strings of the C library's are whole");
    f = fmemopen(text, bytes, "r");
    fact(getline(&line, &room, f) == LARGE + 1 && !strcmp(line, copy), "as are lines that it reads");
    fclose(f);
    free(line);
    free(copy);
    free(text);
}

/* ---- threads ---- */

static pthread_barrier_t barrier;
static void *handed[THREADS]; /* to the next thread */

static void *allocate(void *arg)
{
    unsigned me = (unsigned)(uintptr_t)arg;
    uint32_t random = me * 7919 + 1;
    struct {
        unsigned char *p;
        size_t bytes;
    } slots[SLOTS] = { 0 };
    intptr_t wrong = 0;
    for (int i = 0; i < ROUNDS; i++) {
        random = random * 1664525 + 1013904223;
        unsigned s = (random >> 8) % SLOTS;
        size_t bytes = (random >> 13) % (i % 3 ? 200000 : 2000) + 1;
        unsigned char mark = (unsigned char)(me * SLOTS + s + 1);
        if (slots[s].p) {
            wrong += slots[s].p[0] != mark || slots[s].p[slots[s].bytes - 1] != mark;
            if (i % 2) {
                size_t kept = bytes < slots[s].bytes ? bytes : slots[s].bytes;
                slots[s].p = realloc(slots[s].p, bytes);
                wrong += slots[s].p[kept == bytes ? kept - 1 : 0] != mark && kept == slots[s].bytes;
            } else {
                free(slots[s].p);
                slots[s].p = malloc(bytes);
            }
        } else {
            slots[s].p = malloc(bytes);
        }
        slots[s].bytes = bytes;
        slots[s].p[0] = slots[s].p[bytes - 1] = mark;
    }
    for (int s = 0; s < SLOTS; s++) free(slots[s].p);
    handed[me] = malloc(LARGE);
    memset(handed[me], (int)me, LARGE);
    pthread_barrier_wait(&barrier);
    unsigned next = (me + 1) % THREADS;
    wrong += !is_filled(handed[next], LARGE, (unsigned char)next);
    free(handed[next]);
    return (void *)wrong;
}

static void threads(void)
{
    pthread_t thread[THREADS];
    intptr_t wrong = 0;
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, allocate, (void *)i);
    for (int i = 0; i < THREADS; i++) {
        void *r;
        pthread_join(thread[i], &r);
        wrong += (intptr_t)r;
    }
    pthread_barrier_destroy(&barrier);
    fact(wrong == 0,
         "threads that allocate at the same time, and free each other's blocks, keep what is in them");
}

/* A child has its own blocks from the C library, and takes none of its parent's away. */
static void children(void)
{
    unsigned char *p = malloc(LARGE);
    int status = -1;
    memset(p, 5, LARGE);
    pid_t child = fork();
    if (child == 0) {
        unsigned char *q = malloc(LARGE);
        int right = q && !orr_arena_owns(q) && is_filled(p, LARGE, 5);
        if (q) memset(q, 6, LARGE);
        q = realloc(q, LARGER);
        right &= q && is_filled(q, LARGE, 6);
        free(p); /* its own idea of it */
        free(q);
        _exit(!right);
    }
    fact(child > 0 && waitpid(child, &status, 0) == child && status == 0,
         "a child of fork has what its parent had, and blocks of its own");
    unsigned char *another = malloc(LARGE);
    memset(another, 8, LARGE);
    fact(is_filled(p, LARGE, 5), "and its parent goes on");
    free(another);
    free(p);
}

/* What other threads hold in that moment is held in the child for ever. */
static atomic_bool over;

static void *come_and_go(void *unused UNUSED)
{
    while (!atomic_load(&over)) {
        void *p = malloc(LARGE), *q = malloc(2 * LARGE);
        memset(p, 1, SMALL);
        free(p);
        free(q);
    }
    return NULL;
}

static void children_of_threads(void)
{
    enum { CHILDREN = 40, WAIT_MS = 4000 };
    pthread_t thread[THREADS];
    int hung = 0, status = 0, ended = 0;
    for (int i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, come_and_go, NULL);
    for (int i = 0; i < CHILDREN && !hung; i++) {
        void *mine = malloc(LARGE);
        pid_t child = fork();
        if (child == 0) {
            free(mine);
            void *p = malloc(LARGE);
            free(realloc(p, LARGER));
            _exit(0);
        }
        pid_t r = 0;
        for (int ms = 0; ms < WAIT_MS && (r = waitpid(child, &status, WNOHANG)) == 0; ms++) usleep(1000);
        if (r == 0) {
            hung++;
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
        }
        ended += r == child && status == 0;
        free(mine);
    }
    atomic_store(&over, true);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    fact(ended == CHILDREN, "children of a program whose threads allocate do so, too (%d of %d)", ended,
         CHILDREN);
}

/* ---- a value ---- */

static void add_one(void *buffers[], void *arg UNUSED)
{
    unsigned *v = (unsigned *)STARPU_VECTOR_GET_PTR(buffers[0]);
    for (size_t i = 0; i < LARGE / sizeof *v; i++) v[i]++;
}
static struct starpu_codelet add_one_cl = {
    .cpu_funcs = { add_one }, .nbuffers = 1, .modes = { STARPU_RW }, .name = "add_one"
};

/* To and fro. */
static void goes_to_and_fro(void)
{
    enum { STEPS = 20 };
    unsigned *v = my_rank ? NULL : calloc(1, LARGE);
    starpu_data_handle_t h;
    starpu_vector_data_register(&h, my_rank ? -1 : STARPU_MAIN_RAM, (uintptr_t)v, LARGE / sizeof *v,
                                sizeof *v);
    starpu_mpi_data_register(h, 1, 0);
    for (int i = 0; i < STEPS; i++)
        starpu_mpi_task_insert(MPI_COMM_WORLD, &add_one_cl, STARPU_RW, h, STARPU_EXECUTE_ON_NODE, i % 2, 0);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    starpu_data_unregister(h);
    int right = 1;
    for (size_t i = 0; !my_rank && i < LARGE / sizeof *v; i++) right &= v[i] == STEPS;
    fact(right, "a value in memory of calloc goes from rank to rank and back");
    free(v);
}

/* Once more, as users do. Returns where it cannot. */
static void start_again(char **argv)
{
    static char tool[4096];
    const char *build = getenv("ORR_BUILDDIR"), *preloaded = getenv("LD_PRELOAD");
    if (preloaded && strstr(preloaded, "liborrery-malloc")) return;
    snprintf(tool, sizeof tool, "%s/tools/orrery_malloc", build ? build : ".");
    if (access(tool, X_OK)) return;
    execl(tool, tool, argv[0], (char *)NULL);
    perror(tool);
}

int main(int argc, char **argv)
{
    start_again(argv);
    void *early = malloc(LARGE);
    memset(early, 4, LARGE);
    mpi_start(&argc, &argv, 1);
    const char *preloaded = getenv("LD_PRELOAD");
    void *own = NULL;
    starpu_malloc(&own, LARGE);
    shares = orr_arena_owns(own);
    starpu_free_noflag(own, LARGE);
    if (preloaded && strstr(preloaded, "liborrery-malloc")) {
        fact(!orr_arena_owns(early), "what was had before the start is the C library's");
        early = realloc(early, LARGER);
        fact(is_filled(early, LARGE, 4), "and goes on to be");
        where_blocks_are();
        zeros();
        sizes_change();
        alignments();
        its_own();
        threads();
        children();
        children_of_threads();
        goes_to_and_fro();
    } else {
        const char *sanitizer = getenv("ORR_SANITIZER");
        fact(sanitizer && strcmp(sanitizer, "none"),
             "only a build for a sanitizer has no liborrery-malloc.so");
    }
    free(early);
    int status = mpi_finish();
    void *late = malloc(LARGE); /* nobody would keep it in memory once it is free */
    if (preloaded && orr_arena_owns(late)) status = 1;
    free(late);
    return status;
}
