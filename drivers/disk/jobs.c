/* SPDX-License-Identifier: BSD-3-Clause */
/* jobs.c: a few threads that read and write, so that workers do not wait for a disk.
 * Threads: any hand in jobs; these run them. Owns: the threads and the jobs that wait.
 * Not here: what a job does (disk.c). */

#include "core/base/env.h"
#include "core/base/log.h"
#include "core/base/sync.h"
#include "core/base/thread.h"
#include "drivers/disk/disk.h"

enum { THREADS = 2, THREADS_MAX = 64 };

static struct {
    ORR_MUTEX(disk_jobs) lock; /* protects all below; leaf */
    pthread_cond_t news;
    struct orr_disk_job *first, *last;
    bool ends;
    pthread_t thread[THREADS_MAX];
    unsigned count; /* [own: who starts and stops] */
} jobs = { .lock = PTHREAD_MUTEX_INITIALIZER, .news = PTHREAD_COND_INITIALIZER };

/* NULL: there is nothing more to come. */
static struct orr_disk_job *next_job(void)
{
    pthread_mutex_lock(&jobs.lock);
    while (!jobs.first && !jobs.ends) pthread_cond_wait(&jobs.news, &jobs.lock);
    struct orr_disk_job *job = jobs.first;
    if (job) jobs.first = job->next;
    pthread_mutex_unlock(&jobs.lock);
    return job;
}

static void *work(void *arg)
{
    orr_thread_is_internal();
    for (struct orr_disk_job *job; (job = next_job());) job->run(job);
    return arg;
}

bool orr_disk_threads_start(void)
{
    unsigned wanted = (unsigned)orr_env_long(ORR_SETTING(ORRERY_DISK_THREADS), THREADS, 1, THREADS_MAX);
    if (jobs.count) return true;
    jobs.ends = false;
    while (jobs.count < wanted && orr_thread_start(&jobs.thread[jobs.count], work, NULL, "orr-disk") == 0)
        jobs.count++;
    return jobs.count > 0;
}

void orr_disk_threads_stop(void)
{
    pthread_mutex_lock(&jobs.lock);
    jobs.ends = true;
    pthread_cond_broadcast(&jobs.news);
    pthread_mutex_unlock(&jobs.lock);
    while (jobs.count > 0) pthread_join(jobs.thread[--jobs.count], NULL);
}

void orr_disk_run(struct orr_disk_job *job)
{
    job->next = NULL;
    pthread_mutex_lock(&jobs.lock);
    if (jobs.first)
        jobs.last->next = job;
    else
        jobs.first = job;
    jobs.last = job;
    pthread_cond_signal(&jobs.news);
    pthread_mutex_unlock(&jobs.lock);
}
