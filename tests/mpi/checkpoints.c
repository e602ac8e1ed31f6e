/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A run that is cut off goes on from its last complete checkpoint and gives the same results; what cannot be
 * used is refused, with what, where and why; a full disk harms nothing but the checkpoint.
 * Threads: without arguments the driver, which starts itself under mpirun, one case after another.
 * Owns: a folder, the processes. Not here: each way in which a file can be damaged (snapshots.c).
 */
#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <starpu_mpi_ft.h>
#include <sys/resource.h>

#include "tests/helper.h"
#include "tests/mpi/launches.h"

enum { VECTORS = 4, LENGTH = 500, ITERATIONS = 40, EVERY = 4, KILL_AT = 24, MOVE_EVERY = 10, BYTES = 16384 };

static int rank;

/* ---- the ranks ---- */

static void mix(void *buffers[], void *arg)
{
    unsigned *a = (unsigned *)STARPU_VECTOR_GET_PTR(buffers[0]), n = STARPU_VECTOR_GET_NX(buffers[0]),
             iteration;
    const unsigned *b = (const unsigned *)STARPU_VECTOR_GET_PTR(buffers[1]);
    starpu_codelet_unpack_args(arg, &iteration);
    for (unsigned i = 0; i < n; i++) a[i] = a[i] * 3 + b[(i + 1) % n] + iteration;
}
static struct starpu_codelet mix_cl = {
    .cpu_funcs = { mix }, .nbuffers = 2, .modes = { STARPU_RW, STARPU_R }, .name = "mix"
};

static int next_rank(int r)
{
    return (r + 1) % 2;
}

static void disk_is_full(void)
{
    const struct rlimit small = { 1000, 1000 };
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
}

static void iterate(starpu_data_handle_t *v, starpu_mpi_checkpoint_template_t t, unsigned *done,
                    const char *how)
{
    bool killed = strstr(how, "killed") != NULL, full = strcmp(how, "full") == 0;
    while (*done < ITERATIONS) {
        if (strstr(how, "moves") && *done % MOVE_EVERY == 0)
            starpu_mpi_data_migrate(MPI_COMM_WORLD, v[0], (int)(*done / MOVE_EVERY % 2));
        for (int i = 0; i < VECTORS; i++)
            starpu_mpi_task_insert(MPI_COMM_WORLD, &mix_cl, STARPU_RW, v[i], STARPU_R, v[(i + 1) % VECTORS],
                                   STARPU_VALUE, done, sizeof *done, 0);
        if (++*done % EVERY) continue;
        if (killed && *done == KILL_AT && rank == 1) orrery_mpi_checkpoint_wait(t);
        if (full && *done == KILL_AT) fprintf(stderr, "BEFORE %d\n", orrery_mpi_checkpoint_wait(t));
        if (full && *done == KILL_AT && rank == 1) disk_is_full();
        starpu_mpi_checkpoint_template_submit(t, 0);
        if (killed && *done == KILL_AT && rank == 1) raise(SIGKILL);
    }
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    fprintf(stderr, "WRITTEN %d\n", orrery_mpi_checkpoint_wait(t));
    starpu_mpi_data_migrate(MPI_COMM_WORLD, v[0], 0);
}

/* A datum that nobody has written, on rank 1, and one that has a value. */
static int lacks(starpu_data_handle_t with_value)
{
    starpu_mpi_checkpoint_template_t t;
    starpu_data_handle_t h;
    starpu_variable_data_register(&h, -1, 0, sizeof(int));
    starpu_mpi_data_register(h, 50, 1);
    starpu_mpi_checkpoint_template_register(&t, 6, 0, STARPU_R, h, 0, STARPU_R, with_value, 0, 0);
    starpu_mpi_checkpoint_template_submit(t, 0);
    fprintf(stderr, "WRITTEN %d\n", orrery_mpi_checkpoint_wait(t));
    starpu_data_unregister(h);
    starpu_mpi_checkpoint_template_print(t);
    fprintf(stderr, "WITHOUT %d\n", starpu_mpi_checkpoint_template_submit(t, 0));
    return -1;
}

/* Rank 1 leaves out a submission, and waits for all. */
static int forgets(starpu_data_handle_t v)
{
    starpu_mpi_checkpoint_template_t t;
    starpu_mpi_checkpoint_template_register(&t, 7, 0, STARPU_R, v, 0, 0);
    if (rank == 0) starpu_mpi_checkpoint_template_submit(t, 0);
    if (rank == 0) orrery_mpi_checkpoint_wait(t);
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    return 0;
}

static int rank_main(const char *how)
{
    static unsigned memory[VECTORS][LENGTH];
    starpu_data_handle_t v[VECTORS];
    starpu_mpi_checkpoint_template_t t;
    unsigned done = 0, length = strcmp(how, "shorter") == 0 ? LENGTH - 1 : LENGTH;
    unsigned long instance;
    struct starpu_conf conf;
    alarm(40);
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    if (starpu_mpi_init_conf(NULL, NULL, 1, MPI_COMM_WORLD, &conf)) return 1;
    starpu_mpi_comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < VECTORS; i++) {
        bool mine = i % 2 == rank;
        for (int k = 0; k < LENGTH; k++) memory[i][k] = (unsigned)(i * k);
        starpu_vector_data_register(&v[i], mine ? STARPU_MAIN_RAM : -1, mine ? (uintptr_t)memory[i] : 0,
                                    length, sizeof(unsigned));
        starpu_mpi_data_register(v[i], i, i % 2);
    }
    int r = strcmp(how, "lacks") == 0 ? lacks(v[0]) : strcmp(how, "forgets") == 0 ? forgets(v[0]) : 0;
    if (!r)
        r = starpu_mpi_checkpoint_template_register(&t, 5, 0, STARPU_R, v[0], 1, STARPU_DATA_ARRAY, v + 1,
                                                    VECTORS - 1, 0, STARPU_VALUE, &done, sizeof done,
                                                    (starpu_mpi_tag_t)0, next_rank, 0);
    if (!r) r = orrery_mpi_checkpoint_restart(t, &instance);
    fprintf(stderr, "STATUS %d\n", r);
    if (!r) fprintf(stderr, "FROM %lu %u\n", instance, done);
    if (!r) iterate(v, t, &done, how);
    if (!r && strcmp(how, "discards") == 0) orrery_mpi_checkpoint_discard(t);
    for (int i = 0; i < VECTORS; i++) {
        unsigned sum = 0;
        starpu_data_unregister(v[i]);
        for (int k = 0; k < LENGTH; k++) sum = sum * 31 + memory[i][k];
        if (!r && i % 2 == rank) fprintf(stderr, "RESULT %d %08x\n", i, sum);
    }
    starpu_mpi_shutdown();
    return 0;
}

/* ---- the driver ---- */

static const char *program;
static char folder[64], text[BYTES];

static void run(const char *how, int ranks, bool restarts)
{
    char command[PATH_MAX];
    const char *launcher = getenv("ORR_MPIRUN");
    snprintf(command, sizeof command, "ORRERY_CHECKPOINT_%s=%s %s -n %d %s --rank %s 2>&1",
             restarts ? "RESTART" : "DIR", folder, launcher ? launcher : "mpirun", ranks, program, how);
    FILE *pipe = popen(command, "r");
    if (!pipe) exit(99);
    text[fread(text, 1, BYTES - 1, pipe)] = 0;
    pclose(pipe);
}

static int count(const char *what)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at++) n++;
    return n;
}

static void said(int cond, const char *fact)
{
    if (!ok(cond, "%s", fact)) diag("%s", text);
}

/* Of all vectors; 0: some are missing. */
static unsigned result(void)
{
    unsigned sum = 0, found = 0;
    for (int i = 0; i < VECTORS; i++) {
        char word[16];
        snprintf(word, sizeof word, "RESULT %d ", i);
        const char *at = strstr(text, word);
        if (!at) continue;
        found++;
        sum = sum * 17 + (unsigned)strtoul(at + strlen(word), NULL, 16);
    }
    return found == VECTORS ? sum : 0;
}

/* From which instance both ranks went on, with the iterations that belong to it; -1: they differ. */
static long from(void)
{
    long instance = -1;
    unsigned done = 0;
    const char *first = strstr(text, "FROM "), *second = first ? strstr(first + 1, "FROM ") : NULL;
    if (!second || sscanf(first, "FROM %ld %u", &instance, &done) != 2 || done != instance * EVERY) return -1;
    return strncmp(first, second, strcspn(first, "\n")) == 0 ? instance : -1;
}

/* The file of rank 1 of the latest instance; how many there are of all ranks. */
static int find(char *path, size_t bytes)
{
    int n = 0;
    unsigned long latest = 0, its;
    unsigned long long latest_run = 0, its_run;
    DIR *d = opendir(folder);
    path[0] = 0;
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        int of;
        if (sscanf(e->d_name, "cp5.0.%16llx.%lu.rank%d", &its_run, &its, &of) != 3) continue;
        n++;
        if (of != 1 || its_run < latest_run || (its_run == latest_run && its < latest)) continue;
        latest = its;
        latest_run = its_run;
        snprintf(path, bytes, "%s/%s", folder, e->d_name);
    }
    if (d) closedir(d);
    return n;
}

/* Changes a byte of the values, or cuts the file. */
static void damage(const char *path, bool cut)
{
    FILE *f = fopen(path, "r+");
    if (!f) exit(99);
    fseek(f, 600, SEEK_SET);
    int c = getc(f);
    fseek(f, 600, SEEK_SET);
    putc(c ^ 1, f);
    fclose(f);
    if (cut && truncate(path, 900) != 0) exit(99);
}

static void restarts(unsigned right)
{
    char path[PATH_MAX];
    run("killed", 2, false);
    said(result() == 0, "a rank is killed while it writes a checkpoint: the run ends");
    run("plain", 2, true);
    long first = from();
    said(all_of(first == KILL_AT / EVERY - 1 || first == KILL_AT / EVERY, result() == right),
         "started again it goes on from the last checkpoint that both have, with the same result");
    said(all_of(count("WRITTEN 0") == 2, find(path, sizeof path) == 4),
         "the last two checkpoints are kept, others are gone");
    damage(path, false);
    run("plain", 2, true);
    said(all_of(from() == ITERATIONS / EVERY - 1, result() == right, count("entry ") == 1, count(path) == 1),
         "a damaged file is named, with the entry, and the checkpoint before is used");
    find(path, sizeof path);
    damage(path, true);
    run("plain", 2, true);
    said(all_of(from() == ITERATIONS / EVERY - 1, result() == right,
                count("it is cut") == 1 || count("damaged") == 1),
         "so is one that is cut");
}

static void refused(void)
{
    run("shorter", 2, true);
    said(
        all_of(count("STATUS -61") == 2, count("tag 0 and 2000 bytes in it, tag 0 and 1996 bytes here") >= 1),
        "of a program with other data they are refused: the first that differs is named");
    run("plain", 3, true);
    said(all_of(count("STATUS -61") == 3, count("it is of a run with 2 ranks, this one has 3") >= 1),
         "so they are by another number of ranks");
}

static void moved(unsigned right)
{
    run("moves", 2, false);
    said(all_of(result() == right, count("WRITTEN 0") == 2),
         "data may change their owners between checkpoints: it is written all the same");
    run("moves-killed", 2, false);
    said(result() == 0, "a rank of such a run is killed");
    run("moves", 2, true);
    long first = from();
    said(all_of(first == KILL_AT / EVERY - 1 || first == KILL_AT / EVERY, result() == right),
         "the run that starts again has the data where they were when the template was made");
}

static void full_disk(unsigned right)
{
    char path[PATH_MAX];
    run("full", 2, false);
    said(all_of(result() == right, count("BEFORE 0") == 2, count("WRITTEN 0") == 0, count("WRITTEN -") == 2),
         "no room on one rank's disk: the run goes on, all ranks learn that checkpoints were given up");
    said(count("could not be written (File too large)") >= 1, "it is said, with the file and how to mend it");
    find(path, sizeof path);
    run("plain", 2, true);
    said(all_of(from() == KILL_AT / EVERY - 1, result() == right),
         "what was complete before can be restarted");
    run("discards", 2, false);
    said(all_of(result() == right, find(path, sizeof path) == 0),
         "a run that discards its checkpoints leaves none");
}

int main(int argc, char **argv)
{
    char command[128];
    if (argc > 2 && strcmp(argv[1], "--rank") == 0) return rank_main(argv[2]);
    program = argv[0];
    if (!may_launch()) return 0;
    strcpy(folder, "/tmp/orrery-checkpoints-XXXXXX");
    if (!mkdtemp(folder)) return 99;
    run("plain", 2, false);
    unsigned right = result();
    said(all_of(right != 0, from() == 0, count("WRITTEN 0") == 2),
         "a run writes checkpoints beside its tasks");
    restarts(right);
    refused();
    snprintf(command, sizeof command, "rm -rf %s/*", folder);
    if (system(command)) return 99;
    full_disk(right);
    moved(right);
    run("lacks", 2, false);
    said(all_of(count("WRITTEN -61") == 2, count("nobody has written a datum") == 1),
         "data without a value: the checkpoint is given up on all ranks, and the run goes on");
    said(all_of(count("WITHOUT -22") == 2, count("the datum with tag 50 was unregistered") == 2,
                count("data with tag 50, unregistered since") == 2),
         "data that are unregistered before the template ends: it is said");
    run("forgets", 2, false);
    said(count("deadlock across ranks: ") == 2, "a rank that leaves out a submission: the ranks do not hang");
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return done_testing() | system(command);
}
