/* SPDX-License-Identifier: BSD-3-Clause */
/* joblist: one huge list of jobs beside hundreds of short ones: how often a worker changes from one list to
 * another, and what a job takes.
 * Threads: main adds, workers execute.
 * Owns: the lists' data.
 * Not here: options of all streams (stream.h).
 *
 * -m lists: as job lists; -m plain: the same jobs as tasks, with dependencies in place of signals and waits.
 * -s policy, -w workers, -r repeats; -l short lists, -j jobs of each, -J jobs of the huge one, -b KiB of data
 * of each list, which each of its jobs goes through. All is added, to all lists in turn, while the workers
 * are held; the clock runs from then on. Lists say nothing about order within a window; plain tasks have the
 * same freedom. */
#include "stream.h"

#if __has_include(<orrery.h>)
#include <orrery.h>
#define HAVE_JOBLISTS 1
#else
#define HAVE_JOBLISTS 0
#endif

/* Of every WINDOW jobs, SIGNAL are before the signal and the others between it and the wait. */
enum { WINDOW = 16, SIGNAL = 12, LINE_WORDS = 8 };

struct list {
    long jobs;
    unsigned long *data;
    struct starpu_task **task;    /* plain: in order */
    struct starpu_task **barrier; /* plain: one for each window */
#if HAVE_JOBLISTS
    struct orrery_joblist *joblist;
#endif
};

static struct list *lists;
static long list_count, data_words;

/* What each worker did; a line each. */
static struct {
    struct list *latest;
    long jobs, switches;
    char pad[40];
} by_worker[STARPU_NMAXWORKERS];

static void run_job(void *buffers[], void *arg)
{
    struct list *l = arg;
    int w = starpu_worker_get_id();
    (void)buffers;
    by_worker[w].jobs++;
    by_worker[w].switches += by_worker[w].latest != l;
    by_worker[w].latest = l;
    for (long k = 0; k < data_words; k += LINE_WORDS) __atomic_add_fetch(&l->data[k], 1, __ATOMIC_RELAXED);
}

static struct starpu_codelet codelet = { .cpu_funcs = { run_job }, .nbuffers = 0, .name = "job" };

static struct starpu_task *create(struct list *l)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = &codelet;
    task->cl_arg = l;
    return task;
}

/* ---- as plain tasks ---- */

/* Jobs of a window wait for the barrier of the one before, which waits for the jobs before its signal. */
static void plain_prepare(struct list *l)
{
    for (long k = 0; k < l->jobs; k++) {
        long window = k / WINDOW;
        if (k % WINDOW == 0) l->barrier[window] = starpu_task_create(); /* without a codelet: empty */
        l->task[k] = create(l);
        if (window > 0) starpu_task_declare_deps_array(l->task[k], 1, &l->barrier[window - 1]);
        if (k % WINDOW < SIGNAL) starpu_task_declare_deps_array(l->barrier[window], 1, &l->task[k]);
    }
    /* a signal is about all jobs before it: those of earlier windows too */
    for (long k = WINDOW; k < l->jobs; k += WINDOW)
        for (long i = k - WINDOW + SIGNAL; i < k; i++)
            starpu_task_declare_deps_array(l->barrier[k / WINDOW], 1, &l->task[i]);
}

static void plain_add(struct list *l, long k)
{
    if (k % WINDOW == 0) submit_or_die(l->barrier[k / WINDOW]);
    submit_or_die(l->task[k]);
}

/* ---- as job lists ---- */

static void must(int error)
{
    if (!error) return;
    fprintf(stderr, "joblist: %d\n", error);
    exit(1);
}

#if HAVE_JOBLISTS
static void list_add(struct list *l, long k)
{
    must(orrery_joblist_add_job(l->joblist, create(l)));
    if (k % WINDOW == SIGNAL - 1) must(orrery_joblist_add_signal(l->joblist));
    if (k % WINDOW == WINDOW - 1) must(orrery_joblist_add_wait(l->joblist));
}

static void open_lists(void)
{
    for (long i = 0; i < list_count; i++) {
        lists[i].joblist = orrery_joblist_create("bench", 0);
        if (!lists[i].joblist) must(-ENOMEM);
    }
}

static void close_lists(void)
{
    for (long i = 0; i < list_count; i++) orrery_joblist_destroy(lists[i].joblist);
}
#else
static void list_add(struct list *l, long k)
{
    (void)l;
    must(k < 0);
}
/* The other library has none: a line without figures. */
static void open_lists(void)
{
    printf("joblist mode=lists switches_per_job=- job_us=- ok\n");
    exit(0);
}
static void close_lists(void)
{
}
#endif

/* ---- measuring ---- */

/* One round: all lists get their k-th job in turn. Returns the seconds from the opening of the gate. */
static double run_once(const struct stream *s, int as_lists, long longest, double *add_seconds_out)
{
    if (as_lists)
        open_lists();
    else
        for (long i = 0; i < list_count; i++) plain_prepare(&lists[i]);
    memset(by_worker, 0, sizeof by_worker);
    gate_close(s->workers);
    double start = now();
    for (long k = 0; k < longest; k++)
        for (long i = 0; i < list_count; i++)
            if (k < lists[i].jobs) (as_lists ? list_add : plain_add)(&lists[i], k);
    double added = now();
    gate_open();
    starpu_task_wait_for_all();
    double end = now();
    if (as_lists) close_lists();
    *add_seconds_out = added - start;
    return end - added;
}

static long jobs_of_all(long *longest_out)
{
    long all = 0;
    *longest_out = 0;
    for (long i = 0; i < list_count; i++) {
        all += lists[i].jobs;
        if (lists[i].jobs > *longest_out) *longest_out = lists[i].jobs;
    }
    return all;
}

static void *room(size_t count, size_t bytes)
{
    void *p = calloc(count ? count : 1, bytes);
    if (!p) must(-ENOMEM);
    return p;
}

static void make_lists(int argc, char **argv)
{
    long shorts = option_number(argc, argv, "-l", 300), jobs = option_number(argc, argv, "-j", 16);
    list_count = shorts + 1;
    data_words = option_number(argc, argv, "-b", 32) * 1024 / (long)sizeof(unsigned long);
    lists = room((size_t)list_count, sizeof *lists);
    for (long i = 0; i < list_count; i++) {
        lists[i].jobs = i == shorts / 2 ? option_number(argc, argv, "-J", 4800) : jobs;
        lists[i].data = room((size_t)data_words, sizeof(unsigned long));
        lists[i].task = room((size_t)lists[i].jobs, sizeof(struct starpu_task *));
        lists[i].barrier = room((size_t)(lists[i].jobs / WINDOW + 1), sizeof(struct starpu_task *));
    }
}

int main(int argc, char **argv)
{
    const char *mode = option_text(argc, argv, "-m", "lists");
    int as_lists = !strcmp(mode, "lists"), right = 1;
    struct stream s;
    double job_us[SAMPLES_MAX], add_us[SAMPLES_MAX], switches[SAMPLES_MAX], seconds;
    long longest;
    stream_init(&s, argc, argv, 0);
    make_lists(argc, argv);
    long all = jobs_of_all(&longest);
    for (int r = -1; r < s.repeats; r++) {
        double drain = run_once(&s, as_lists, longest, &seconds);
        long jobs = 0, changes = 0;
        for (int w = 0; w < s.workers; w++) {
            jobs += by_worker[w].jobs;
            changes += by_worker[w].switches;
        }
        right &= jobs == all;
        if (r < 0) continue;
        job_us[r] = drain * 1e6 / (double)all;
        add_us[r] = seconds * 1e6 / (double)all;
        switches[r] = (double)changes / (double)all;
    }
    for (long i = 0; i < list_count && data_words; i++)
        right &= lists[i].data[0] == (unsigned long)(lists[i].jobs * (s.repeats + 1));
    printf("joblist mode=%s policy=%s workers=%d lists=%ld jobs=%ld switches_per_job=%.4f job_us=%.4f "
           "add_us=%.4f "
           "makespan_ms=%.3f %s\n",
           mode, s.policy, s.workers, list_count, all, median(switches, s.repeats), median(job_us, s.repeats),
           median(add_us, s.repeats), median(job_us, s.repeats) * (double)all * 1e-3, right ? "ok" : "WRONG");
    starpu_shutdown();
    return 0;
}
