/* SPDX-License-Identifier: BSD-3-Clause */
/* count.c: how many tasks there are, from what each thread counted.
 * Threads: any. Owns: nothing. Not here: counting (submit.c, complete.c), tasks of one context
 * (core/worker/tally.h), waiting (core/worker/wait.h). */
#include "core/task/task.h"

/* Guests: counted after their submission is, and before their completion is. So who reads completions of all,
 * then of guests, then submissions of guests, then of all, takes none too many away. */
static struct {
    _Atomic uint64_t submitted, ending;
} guests;

void orr_guest_counted(void)
{
    orr_add_seq(&guests.submitted, 1);
}

void orr_guest_ends(void)
{
    orr_add_seq(&guests.ending, 1);
}

/* Between the sums of completions and of submissions. */
static uint64_t guests_outstanding(void)
{
    uint64_t ending = orr_load_seq(&guests.ending);
    return orr_load_seq(&guests.submitted) - ending;
}

uint64_t orr_tasks_outstanding(void)
{
    uint64_t completed = 0, submitted = 0;
    struct orr_thread *threads = orr_threads_lock();
    for (struct orr_thread *t = threads; t; t = t->next)
        completed += orr_load_acquire(&orr_task_thread(t)->completed);
    completed += guests_outstanding();
    for (struct orr_thread *t = threads; t; t = t->next)
        submitted += orr_load_acquire(&orr_task_thread(t)->submitted);
    orr_threads_unlock();
    return submitted - completed;
}

/* Completions first: all, then those elsewhere, of which there are by then at least as many; submissions the
 * other way round. What remains is never less than it was at some moment between. */
uint64_t orr_tasks_outstanding_main(void)
{
    uint64_t completed = 0, submitted = 0;
    struct orr_thread *threads = orr_threads_lock();
    for (struct orr_thread *t = threads; t; t = t->next)
        completed += orr_load_acquire(&orr_task_thread(t)->completed);
    for (struct orr_thread *t = threads; t; t = t->next)
        completed -= orr_load_acquire(&orr_task_thread(t)->completed_elsewhere);
    completed += guests_outstanding();
    for (struct orr_thread *t = threads; t; t = t->next)
        submitted -= orr_load_acquire(&orr_task_thread(t)->submitted_elsewhere);
    for (struct orr_thread *t = threads; t; t = t->next)
        submitted += orr_load_acquire(&orr_task_thread(t)->submitted);
    orr_threads_unlock();
    return (int64_t)(submitted - completed) > 0 ? submitted - completed : 0;
}
