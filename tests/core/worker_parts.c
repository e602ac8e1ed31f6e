/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parts of the worker layer by themselves, without threads of workers: a worker's own queue, the pool of job
 * lists against a search, what is asked of a worker, very many tags.
 * Threads: main. Owns: workers that never run, and a context for them. Not here: the same as programs see
 * them (workerorder.c, tests/sched/joblist.c, contexts.c, task_tags.c), sleeping (tests/models/park.pml).
 */
#include <orrery.h>
#include <starpu.h>
#include "core/worker/jobpool.h"
#include "core/worker/joblist.h"
#include "core/worker/member.h"
#include "core/worker/park.h"
#include "core/worker/serve.h"
#include "core/worker/worker.h"
#include "tests/helper.h"

enum { ID = 70 }; /* a worker that no machine of ours has, in the second word of sets */

static struct orr_worker *worker = &orr_workers[ID];

/* ---- a worker's own queue ---- */

enum { TASKS = 8 };

static struct orr_task tasks[TASKS];
static struct starpu_task said[TASKS];

static struct orr_task *nothing(void *instance UNUSED, struct orr_worker *w UNUSED)
{
    return NULL;
}

static struct orr_policy_ops empty = { .name = "empty", .pop = nothing };
static struct orr_ctx context = { .policy = &empty };

static void fresh_queue(void)
{
    memset(tasks, 0, sizeof tasks);
    memset(said, 0, sizeof said);
    memset(worker, 0, sizeof *worker);
    worker->id = ID;
    worker->next_order = 1;
    worker->ctx = &context;
    worker->in = 1;
    for (int i = 0; i < TASKS; i++) tasks[i].pub = &said[i];
}

/* The numbers of the tasks it takes, one digit each. */
static int taken(void)
{
    int n = 0;
    for (struct orr_task *t; (t = orr_worker_next(worker)) != NULL;) n = n * 10 + (int)(t - tasks) + 1;
    return n;
}

static void first_in_first_out(void)
{
    fresh_queue();
    for (int i = 0; i < 3; i++) orr_worker_push_local(worker, &tasks[i], false);
    orr_worker_push_local(worker, &tasks[3], true);
    is_int(worker->local_count, 4, "a worker's own queue counts its tasks");
    is_int(taken(), 4123, "they come out in order, but for one that was put in front");
    is_int(worker->local_count, 0, "and it is empty");
    orr_worker_push_local(worker, &tasks[0], true);
    orr_worker_push_local(worker, &tasks[1], false);
    is_int(taken(), 12, "one in front of an empty queue is its first and its last");
}

static void by_order(void)
{
    fresh_queue();
    static const unsigned order[] = { 3, 1, 5, 2 };
    for (int i = 0; i < 4; i++) {
        said[i].execute_on_a_specific_worker = 1;
        said[i].workerorder = order[i];
        orr_worker_push_local(worker, &tasks[i], false);
    }
    ok(orr_worker_order_is_taken(worker, 5), "an order that waits for its turn is taken");
    ok(!orr_worker_order_is_taken(worker, 4), "one between is not");
    is_int(taken(), 241, "orders 1, 2, 3 come out; 5 waits for 4");
    ok(orr_worker_order_is_taken(worker, 2), "one that has had its turn is taken for good");
    said[4].execute_on_a_specific_worker = 1;
    said[4].workerorder = 4;
    orr_worker_push_local(worker, &tasks[4], false);
    is_int(taken(), 53, "then 4 and 5 come");
}

static bool is_third(const struct orr_task *t, void *arg UNUSED)
{
    return t == &tasks[2];
}

static bool is_any(const struct orr_task *t UNUSED, void *arg UNUSED)
{
    return true;
}

static void taken_by_others(void)
{
    fresh_queue();
    said[0].execute_on_a_specific_worker = 1;
    tasks[1].flags = ORR_TF_TEAM;
    for (int i = 0; i < 4; i++) orr_worker_push_local(worker, &tasks[i], false);
    ok(orr_worker_take_local(worker, is_third, NULL) == &tasks[2], "others take a task from the middle");
    ok(orr_worker_take_local(worker, is_third, NULL) == NULL, "once");
    ok(orr_worker_take_local(worker, is_any, NULL) == &tasks[3], "and the last");
    ok(orr_worker_take_local(worker, is_any, NULL) == NULL,
       "never one that is bound to the worker, or a parallel task's");
    orr_worker_push_local(worker, &tasks[4], false);
    is_int(taken(), 125, "what is left, and comes, keeps its order");
}

static void together(void)
{
    fresh_queue();
    struct orr_worker *other = &orr_workers[ID + 1], *both[2] = { worker, other };
    *other = *worker;
    other->id = ID + 1;
    for (int i = 0; i < 4; i += 2) {
        struct orr_task *set[2] = { &tasks[i], &tasks[i + 1] };
        orr_worker_push_together(both, set, 2);
    }
    is_int(taken(), 13, "tasks given to several workers together are in one order");
    ok(all_of(orr_worker_next(other) == &tasks[1], orr_worker_next(other) == &tasks[3]), "in all queues");
}

/* ---- the pool of job lists ---- */

enum { LISTS = 60, STEPS = SCALED(4000, 1000), KIND = 1u << 30 };

static struct orrery_joblist *lists[LISTS];
static struct orr_jobpool_entry entries[LISTS];
static uint64_t versions[LISTS];

static uint64_t seed = 7;

static unsigned draw(unsigned bound)
{
    return random_below(&seed, bound);
}

/* List i says something new of itself; where: for our worker's kind, by its number, by a set, or for others.
 */
static void tell(int i)
{
    struct orr_jobpool_news news = { .version = ++versions[i], .waiting = 1, .left = 1 + draw(4) };
    struct orr_job_place *p = &news.place;
    p->ready = draw(4) > 0;
    p->bound = -1;
    p->where = KIND;
    p->priority = (int32_t)draw(2);
    unsigned kind = draw(5);
    if (kind == 1) p->where = (uint32_t)KIND << 1;
    if (kind == 2) p->bound = (int16_t)(ID + (int)draw(2));
    p->restricted = kind == 3;
    if (kind == 3) p->capable[(ID + 1) / 64] = UINT64_C(1) << ((ID + (int)draw(2)) % 64);
    if (kind == 3) p->capable[0] = draw(40); /* more sets than the pool has heaps for */
    orr_jobpool_hear(&entries[i], 0, &news);
}

static bool goes_before(const struct orr_jobpool_entry *a, const struct orr_jobpool_entry *b)
{
    if (a->place.priority != b->place.priority) return a->place.priority > b->place.priority;
    if (a->workers != b->workers) return a->workers < b->workers;
    if (a->work < b->work || a->work > b->work) return a->work > b->work;
    return a->serial < b->serial;
}

/* The list that the worker is to take up, found by looking at all. */
static struct orrery_joblist *searched(void)
{
    const struct orr_jobpool_entry *best = NULL;
    for (int i = 0; i < LISTS; i++) {
        const struct orr_jobpool_entry *e = &entries[i];
        if (e->root && orr_job_suits(&e->place, worker, true) && (!best || goes_before(e, best))) best = e;
    }
    return best ? best->list : NULL;
}

static int entry_of(const struct orrery_joblist *list)
{
    int i = 0;
    while (lists[i] != list) i++;
    return i;
}

static void pool_against_search(void)
{
    unsigned serving[LISTS] = { 0 };
    int wrong = 0, picked = 0, stale = 0;
    fresh_queue();
    orr_workers[ID + 1].id = ID + 1; /* who is woken for what is bound to it */
    worker->where = KIND;
    worker->serves[0].ctx = &orr_contexts[0];
    worker->serves_count = 1;
    for (int i = 0; i < LISTS; i++) {
        lists[i] = orrery_joblist_create(NULL, 0);
        orr_jobpool_open(&entries[i], lists[i]);
    }
    for (int step = 0; step < STEPS; step++) {
        int i = (int)draw(LISTS);
        tell(i);
        const struct orr_jobpool_news old = { .version = versions[i], .place = { .ready = true } };
        bool ready = entries[i].root != NULL;
        orr_jobpool_hear(&entries[i], 0, &old); /* it has overtaken nothing newer, and is no news */
        stale += (entries[i].root != NULL) != ready;
        struct orrery_joblist *expected = searched(), *list = orr_jobpool_pick(worker);
        wrong += list != expected;
        if (list) picked++, serving[entry_of(list)]++, orr_joblist_unref(list);
        i = (int)draw(LISTS);
        if (serving[i]) serving[i]--, orr_jobpool_leave(&entries[i], 0);
    }
    for (int i = 0; i < LISTS; i++) wrong += orr_jobpool_workers(&entries[i], 0) != serving[i];
    diag("%d times of %d there was a list", picked, STEPS);
    is_int(wrong, 0, "a worker takes up the list that a search of all finds, and workers are counted");
    is_int(stale, 0, "what is no newer than what the pool knows changes nothing");
    ok(orr_jobpool_backlog(worker) > 0, "jobs that wait are counted for a member");
    for (int i = 0; i < LISTS; i++) {
        orr_jobpool_close(&entries[i], 0);
        orrery_joblist_destroy(lists[i]);
    }
    is_int(orr_jobpool_backlog(worker), 0, "and none when all lists are closed");
    ok(orr_jobpool_pick(worker) == NULL, "of which none is taken up any more");
}

/* ---- what is asked of a worker ---- */

static void latest_counts(void)
{
    fresh_queue();
    worker->wanted = worker->going = 1;
    ok(orr_member_is_plain(worker), "a worker of the main context alone is plain");
    worker->changing = true; /* it is between two tasks: what is asked meanwhile is done later */
    orr_member_ask(worker, 4, 0);
    orr_member_ask(worker, 2, 4);
    is_int(orr_member_wanted(worker), 3, "of two requests the later one counts");
    ok(orr_member_called(worker), "it has yet to follow them");
    ok(orr_member_has_to_move(worker, 2, 0), "it has to join");
    ok(!orr_member_has_to_move(worker, 1, 4), "not where it is, nor to leave where it is not");
    orr_member_ask(worker, 0, 1);
    ok(orr_member_leaves(worker, 0), "it is to leave the main context");
    orr_member_capture(worker, 8, 0);
    ok(!orr_member_held(worker), "captured by a context that it is not to be in, it is not held");
    orr_member_capture(worker, 2, 8);
    ok(orr_member_held(worker), "by one that it is to be in, it is");
    orr_member_suspend(worker, 1);
    orr_member_capture(worker, 0, 2);
    ok(orr_member_held(worker), "and while it is suspended");
    orr_member_suspend(worker, -1);
    ok(!orr_member_held(worker), "not when it is resumed");
    orr_sub_seq(&orr_parking.attention, orr_load_relaxed(&worker->asked));
}

/* ---- tags ---- */

enum { TAGS = 3000 };

static void many_tags(void)
{
    static starpu_tag_t before[TAGS];
    struct starpu_task *task = starpu_task_create();
    for (int i = 0; i < TAGS; i++) before[i] = ((starpu_tag_t)i << 40) + (starpu_tag_t)(i % 7);
    starpu_tag_declare_deps_array(1, TAGS, before);
    task->use_tag = 1;
    task->tag_id = 1;
    task->detach = 0;
    task->destroy = 0;
    is_int(starpu_task_submit(task), 0, "a task with a tag that waits for %d others is submitted", TAGS);
    for (int i = TAGS - 1; i > 0; i--) starpu_tag_notify_from_apps(before[i]);
    ok(!starpu_task_finished(task), "it waits while one of them has not come");
    starpu_tag_notify_from_apps(before[0]);
    is_int(starpu_task_wait(task), 0, "and goes on after the last");
    starpu_task_destroy(task);
    for (int i = 0; i < TAGS; i++) starpu_tag_remove(before[i]);
    for (int i = 0; i < TAGS; i++) starpu_tag_notify_from_apps(before[i]);
    is_int(starpu_tag_wait_array(TAGS, before), 0, "tags that were removed are new ones, and each comes");
}

int main(void)
{
    struct starpu_conf conf;
    first_in_first_out();
    by_order();
    taken_by_others();
    together();
    memset(&orr_workers[ID], 0, 2 * sizeof orr_workers[ID]);
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    if (starpu_init(&conf)) skip_all("no worker");
    pool_against_search();
    latest_counts();
    many_tags();
    memset(&orr_workers[ID], 0, 2 * sizeof orr_workers[ID]);
    starpu_shutdown();
    return done_testing();
}
