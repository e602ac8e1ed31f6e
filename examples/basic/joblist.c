/* SPDX-License-Identifier: BSD-3-Clause */
/* joblist shows job lists: three levels are loaded and saved, each in a list of its own. Parts of a level
 * load at the same time; its index is built from all of them, while music, which needs none, plays; then it
 * is saved.
 * Threads: main adds; workers run the jobs; the last job of a level adds more to its list.
 *
 *   load load load load | signal | music music | wait | index | signal | wait | save save
 * Expected output:
 *   level 0: 4 parts in the index, 2 tunes, 2 copies and a backup
 *   level 1: 4 parts in the index, 2 tunes, 2 copies and a backup
 *   level 2: 4 parts in the index, 2 tunes, 2 copies and a backup
 *   right */
#include <orrery.h>
#include <stdatomic.h>
#include <stdio.h>

enum { LEVELS = 3, PARTS = 4, TUNES = 2, COPIES = 2 };

struct level {
    struct orrery_joblist *list;
    atomic_int loaded, played, saved, backups;
    int indexed; /* one job writes it, and what reads it is after a wait */
};

static void load(void *buffers[], void *arg)
{
    (void)buffers;
    atomic_fetch_add(&((struct level *)arg)->loaded, 1);
}

static void play(void *buffers[], void *arg)
{
    (void)buffers;
    atomic_fetch_add(&((struct level *)arg)->played, 1);
}

static void index_parts(void *buffers[], void *arg)
{
    struct level *level = arg;
    (void)buffers;
    level->indexed = atomic_load(&level->loaded); /* all of them: this is after the wait */
}

static void back_up(void *buffers[], void *arg)
{
    (void)buffers;
    atomic_fetch_add(&((struct level *)arg)->backups, 1);
}

static void save(void *buffers[], void *arg);

static struct starpu_codelet load_cl = { .cpu_funcs = { load }, .name = "load" };
static struct starpu_codelet play_cl = { .cpu_funcs = { play }, .name = "play" };
static struct starpu_codelet index_cl = { .cpu_funcs = { index_parts }, .name = "index" };
static struct starpu_codelet save_cl = { .cpu_funcs = { save }, .name = "save" };
static struct starpu_codelet backup_cl = { .cpu_funcs = { back_up }, .name = "backup" };

/* A job is an ordinary task. Returns 0, or an error as from starpu_task_submit. */
static int add(struct level *level, struct starpu_codelet *codelet)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = codelet;
    task->cl_arg = level;
    int error = orrery_joblist_add_job(level->list, task);
    if (error) starpu_task_destroy(task);
    return error;
}

/* Jobs may add to their own list, even when it has nothing else left. */
static void save(void *buffers[], void *arg)
{
    struct level *level = arg;
    (void)buffers;
    if (level->indexed == PARTS && atomic_fetch_add(&level->saved, 1) == COPIES - 1) add(level, &backup_cl);
}

static int fill(struct level *level)
{
    int error = 0;
    for (int k = 0; k < PARTS; k++) error |= add(level, &load_cl);
    error |= orrery_joblist_add_signal(level->list);
    for (int k = 0; k < TUNES; k++) error |= add(level, &play_cl); /* at any time */
    error |= orrery_joblist_add_wait(level->list);
    error |= add(level, &index_cl); /* after all loads */
    error |= orrery_joblist_add_signal(level->list);
    error |= orrery_joblist_add_wait(level->list);
    for (int k = 0; k < COPIES; k++) error |= add(level, &save_cl); /* after the index */
    return error;
}

int main(void)
{
    static struct level levels[LEVELS];
    int error = 0;
    if (starpu_init(NULL)) {
        fprintf(stderr, "joblist: the runtime did not start\n");
        return 77;
    }
    for (int k = 0; k < LEVELS; k++) {
        levels[k].list = orrery_joblist_create("level", 0);
        error |= !levels[k].list || fill(&levels[k]);
    }
    for (int k = 0; k < LEVELS && !error; k++) {
        struct level *l = &levels[k];
        orrery_joblist_wait_for_all(l->list);
        orrery_joblist_destroy(l->list);
        printf("level %d: %d parts in the index, %d tunes, %d copies and %s\n", k, l->indexed, l->played,
               l->saved, l->backups == 1 ? "a backup" : "no backup");
        error |= l->indexed != PARTS || l->played != TUNES || l->saved != COPIES || l->backups != 1;
    }
    printf("%s\n", error ? "WRONG" : "right");
    starpu_shutdown();
    return error != 0;
}
