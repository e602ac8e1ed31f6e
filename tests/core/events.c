/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The spine of events by itself: who is told of what, observers that come and go while others tell, and the
 * recorder's rings.
 * Threads: main, and some that tell or record as fast as they can.
 * Owns: the observers of the cases.
 * Not here: what the runtime tells of (events_runtime.c).
 */
#include <pthread.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/event.h"
#include "core/base/recorder.h"
#include "core/base/thread.h"
#include "tests/helper.h"

enum { TELLERS = 2, ROUNDS = 40, EVENTS = 20000 };

/* ---- observers ---- */

static _Atomic long seen, seen_wrong;

static void count(struct orr_observer *o, const struct orr_seen *e)
{
    if (!(o->kinds >> e->kind & 1)) atomic_fetch_add(&seen_wrong, 1);
    atomic_fetch_add(&seen, 1);
}

static void who_wants_is_told(void)
{
    struct orr_observer o = { .name = "count", .see = count, .kinds = ORR_EVENT_BIT(USER_NUMBER) };
    int evaluated = 0;
    seen = 0;
    ORR_EVENT(USER_NUMBER, NULL, ++evaluated, 0, 0);
    ok(all_of(seen == 0, evaluated == 0),
       "while nobody wants a kind, nobody is told, and values are not computed");
    orr_observer_add(&o);
    ORR_EVENT(USER_NUMBER, NULL, ++evaluated, 0, 0);
    ORR_EVENT(ITERATION_STARTED, NULL, ++evaluated, 0, 0);
    ok(all_of(seen == 1, evaluated == 1), "an observer is told of what it wants alone");
    orr_observer_want(&o, ORR_EVENT_BIT(ITERATION_STARTED));
    ORR_EVENT(USER_NUMBER, NULL, 1, 0, 0);
    ORR_EVENT(ITERATION_STARTED, NULL, 1, 0, 0);
    is_int(seen, 2, "it may change its mind");
    ok(orr_observer_remove(&o), "it goes");
    ORR_EVENT(ITERATION_STARTED, NULL, 1, 0, 0);
    ok(all_of(seen == 2, !orr_events_wanted(~UINT64_C(0))), "is told no more, and leaves no flag behind");
    orr_observer_want(&o, ORR_EVENT_BIT(USER_NUMBER));
    ok(!orr_events_wanted(~UINT64_C(0)), "what it wants then matters once it is added again");
    orr_observer_add(&o);
    ORR_EVENT(USER_NUMBER, NULL, 1, 0, 0);
    orr_observer_remove(&o);
    is_int(seen, 3, "and is told of from then on");
    is_int(orr_events_of(ORR_EVENTS_USER) & ORR_EVENT_BIT(USER_TEXT), ORR_EVENT_BIT(USER_TEXT),
           "groups have their kinds");
}

static char order[8];
static int ordered;

static void note_order(struct orr_observer *o, const struct orr_seen *e)
{
    if (e->subject == &ordered && e->a == 1 && e->b == (uint64_t)-2 && e->c == 3)
        order[ordered++] = o->name[0];
}

static void told_in_order(void)
{
    struct orr_observer a = { .name = "a", .see = note_order, .kinds = ORR_EVENT_BIT(USER_TEXT) }, b = a,
                        c = a;
    b.name = "b", c.name = "c";
    orr_observer_add(&a);
    orr_observer_add(&b);
    orr_observer_add(&c);
    ORR_EVENT(USER_TEXT, &ordered, 1, -2, 3);
    ok(strcmp(order, "abc") == 0, "observers are told in the order in which they came, with all values (%s)",
       order);
    orr_observer_remove(&b);
    orr_observer_remove(&a);
    orr_observer_remove(&c);
}

static void places_are_limited(void)
{
    static struct orr_observer many[40];
    int added = 0;
    for (int i = 0; i < 40; i++) {
        many[i] = (struct orr_observer){ .name = "many", .see = count, .kinds = ORR_EVENT_BIT(USER_NUMBER) };
        added += orr_observer_add(&many[i]) == 0;
    }
    is_int(added, 32, "32 observers can be added, more are refused");
    seen = 0;
    ORR_EVENT(USER_NUMBER, NULL, 1, 0, 0);
    is_int(seen, 32, "all of them are told");
    for (int i = 0; i < 40; i++) orr_observer_remove(&many[i]);
    ORR_EVENT(USER_NUMBER, NULL, 1, 0, 0);
    is_int(seen, 32, "and none once they are removed");
}

/* ---- inside of one ---- */

static void recurse(struct orr_observer *o, const struct orr_seen *e)
{
    count(o, e);
    if (e->a < 5) ORR_EVENT(USER_NUMBER, NULL, e->a + 1, 0, 0);
}

static void not_told_of_itself(void)
{
    struct orr_observer first = { .name = "first", .see = recurse, .kinds = ORR_EVENT_BIT(USER_NUMBER) },
                        second = first;
    orr_observer_add(&first);
    seen = 0;
    ORR_EVENT(USER_NUMBER, NULL, 0, 0, 0);
    is_int(seen, 1, "an observer is not told of what it causes itself");
    orr_observer_add(&second);
    seen = 0;
    ORR_EVENT(USER_NUMBER, NULL, 0, 0, 0);
    is_int(seen, 4, "but the others are, and so on until all are inside");
    orr_observer_remove(&first);
    orr_observer_remove(&second);
}

static int removed_inside = -1;
static struct orr_observer *also;

static void remove_itself(struct orr_observer *o, const struct orr_seen *e)
{
    count(o, e);
    removed_inside = orr_observer_remove(o);
    if (also) orr_observer_add(also); /* takes the same place, or another */
    ORR_EVENT(USER_NUMBER, NULL, e->a + 1, 0, 0);
}

static void removes_itself(void)
{
    struct orr_observer o = { .name = "itself", .see = remove_itself, .kinds = ORR_EVENT_BIT(USER_NUMBER) },
                        next = { .name = "next", .see = count, .kinds = ORR_EVENT_BIT(USER_NUMBER) };
    also = &next;
    orr_observer_add(&o);
    seen = 0;
    ORR_EVENT(USER_NUMBER, NULL, 0, 0, 0);
    ORR_EVENT(USER_NUMBER, NULL, 0, 0, 0);
    ok(all_of(removed_inside == 0, seen >= 2, seen <= 3),
       "an observer can remove itself and add another; it is told that it may not go away yet");
    ok(orr_observer_remove(&o), "and it may, when that is asked for outside");
    orr_observer_remove(&next);
    ORR_EVENT(USER_NUMBER, NULL, 0, 0, 0);
    ok(!orr_events_wanted(ORR_EVENT_BIT(USER_NUMBER)), "both are gone");
}

/* ---- observers that come and go ---- */

static _Atomic bool stop;

static void *tell_until_stopped(void *arg UNUSED)
{
    long told = 0;
    while (!atomic_load(&stop)) {
        ORR_EVENT(USER_NUMBER, NULL, told, 0, 0);
        ORR_EVENT(ITERATION_STARTED, NULL, told, 0, 0);
        if (++told % 16 == 0) sched_yield();
    }
    return NULL;
}

struct short_lived {
    struct orr_observer observer; /* first */
    _Atomic long told;
    long canary;
};

static void live_shortly(struct orr_observer *o, const struct orr_seen *e UNUSED)
{
    struct short_lived *s = (struct short_lived *)o;
    long canary = s->canary;
    atomic_fetch_add(&s->told, 1);
    sched_yield(); /* who removes it has to wait */
    if (canary == 0 || s->canary != canary) atomic_fetch_add(&seen_wrong, 1);
}

static _Atomic long last_canary;

static void *come_and_go(void *arg UNUSED)
{
    enum { PATIENCE_NS = 100000000 };
    long idle = 0;
    for (int i = 0; i < ROUNDS; i++) {
        struct short_lived *s = malloc(sizeof *s);
        *s = (struct short_lived){
            .observer = { .name = "short", .see = live_shortly, .kinds = ORR_EVENT_BIT(USER_NUMBER) },
            .canary = ++last_canary
        };
        orr_observer_add(&s->observer);
        /* on a busy machine yields alone give those who tell no core; some go untold nevertheless */
        uint64_t until = i % 3 ? orr_clock_ns() + PATIENCE_NS : 0;
        for (int k = 0; (k < 200 || orr_clock_ns() < until) && !atomic_load(&s->told); k++) sched_yield();
        if (i % 3 == 0) orr_observer_want(&s->observer, ORR_EVENT_BIT(ITERATION_STARTED));
        idle += !atomic_load(&s->told);
        orr_observer_remove(&s->observer);
        memset(s, 0, sizeof *s);
        free(s);
    }
    return (void *)idle;
}

static void come_and_go_under_way(void)
{
    pthread_t tellers[TELLERS], changers[2];
    void *idle[2];
    atomic_store(&stop, false);
    seen_wrong = 0;
    for (int i = 0; i < TELLERS; i++) pthread_create(&tellers[i], NULL, tell_until_stopped, NULL);
    for (int i = 0; i < 2; i++) pthread_create(&changers[i], NULL, come_and_go, NULL);
    for (int i = 0; i < 2; i++) pthread_join(changers[i], &idle[i]);
    atomic_store(&stop, true);
    for (int i = 0; i < TELLERS; i++) pthread_join(tellers[i], NULL);
    is_int(seen_wrong, 0, "observers come and go while others tell; none is called once it is removed");
    ok((long)idle[0] + (long)idle[1] < ROUNDS, "most were told of something meanwhile");
    ok(!orr_events_wanted(~UINT64_C(0)), "and nobody looks any more");
}

static void remove_each_other(struct orr_observer *o, const struct orr_seen *e UNUSED)
{
    struct orr_observer *other = also == o ? NULL : also;
    if (other) orr_observer_remove(other);
    orr_observer_remove(o);
}

/* Two observers remove each other on two threads: neither waits for the other. */
static void nobody_waits_inside(void)
{
    static struct orr_observer a, b;
    pthread_t tellers[TELLERS];
    atomic_store(&stop, false);
    for (int i = 0; i < TELLERS; i++) pthread_create(&tellers[i], NULL, tell_until_stopped, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        a = (struct orr_observer){ .name = "a",
                                   .see = remove_each_other,
                                   .kinds = ORR_EVENT_BIT(USER_NUMBER) };
        b = (struct orr_observer){ .name = "b",
                                   .see = remove_each_other,
                                   .kinds = ORR_EVENT_BIT(ITERATION_STARTED) };
        also = &b;
        orr_observer_add(&a);
        orr_observer_add(&b);
        for (int k = 0; k < 20; k++) sched_yield();
        while (!orr_observer_remove(&a) || !orr_observer_remove(&b)) sched_yield();
    }
    atomic_store(&stop, true);
    for (int i = 0; i < TELLERS; i++) pthread_join(tellers[i], NULL);
    ok(!orr_events_wanted(~UINT64_C(0)),
       "observers that remove each other on several threads wait for nobody");
}

/* ---- the recorder ---- */

struct drained {
    uint64_t next[TELLERS]; /* by thread: the number that is to come at least */
    size_t records, gaps, torn;
};

/* Every word follows from the number and the thread. */
static void look(const struct orr_record *r, void *arg)
{
    struct drained *d = arg;
    unsigned who = (unsigned)(r->b & 0xff);
    d->records++;
    if (who >= TELLERS || r->kind != ORR_EVENT_USER_NUMBER || r->b >> 8 != r->a * 3 || r->c != ~r->a ||
        r->subject != r->a || r->ticks == 0) {
        d->torn++;
        return;
    }
    if (r->a < d->next[who]) d->torn++;
    if (r->a > d->next[who]) d->gaps++;
    d->next[who] = r->a + 1;
}

static struct drained drained;

static void drain_it(struct orr_recorder *r)
{
    orr_recorder_drain(r, look, &drained);
}

static atomic_int recorders_left;

static void *record_numbers(void *arg)
{
    uint64_t who = (uintptr_t)arg;
    for (uint64_t n = 0; n < EVENTS; n++)
        ORR_EVENT(USER_NUMBER, (void *)(uintptr_t)n, n, n * 3 << 8 | who, ~n);
    atomic_fetch_sub(&recorders_left, 1);
    return NULL;
}

static void record(struct orr_recorder *r, bool drain_meanwhile)
{
    pthread_t threads[TELLERS];
    drained = (struct drained){ 0 };
    atomic_store(&recorders_left, TELLERS);
    orr_recorder_start(r);
    for (uintptr_t i = 0; i < TELLERS; i++) pthread_create(&threads[i], NULL, record_numbers, (void *)i);
    while (drain_meanwhile && atomic_load(&recorders_left)) orr_recorder_drain(r, look, &drained);
    for (int i = 0; i < TELLERS; i++) pthread_join(threads[i], NULL);
    orr_recorder_stop(r);
    orr_recorder_drain(r, look, &drained);
}

static void handed_over(void)
{
    struct orr_recorder r = { .observer = { .name = "rings", .kinds = ORR_EVENT_BIT(USER_NUMBER) },
                              .records = 256,
                              .full = drain_it };
    record(&r, false);
    is_int((long long)drained.records, (long long)TELLERS * EVENTS,
           "rings that are drained when full keep every record");
    ok(all_of(drained.torn == 0, drained.gaps == 0, orr_recorder_lost(&r) == 0),
       "in the order of each thread, none torn, none lost");
    orr_recorder_free(&r);
}

static void overwritten(void)
{
    struct orr_recorder r = { .observer = { .name = "rings", .kinds = ORR_EVENT_BIT(USER_NUMBER) },
                              .records = 16 };
    record(&r, true);
    ok(all_of(drained.torn == 0, drained.records >= 16),
       "rings that go round, read while they are written: each record whole and in order (%zu of %d)",
       drained.records, TELLERS * EVENTS);
    is_int((long long)(drained.records + orr_recorder_lost(&r)), (long long)TELLERS * EVENTS,
           "what was overwritten is counted");
    orr_recorder_free(&r);
}

static void *record_one(void *arg UNUSED)
{
    ORR_EVENT(USER_NUMBER, NULL, 0, 0, -1);
    return NULL;
}

static void count_records(const struct orr_record *r UNUSED, void *arg)
{
    ++*(size_t *)arg;
}

static void threads_that_end(void)
{
    struct orr_recorder r = { .observer = { .name = "rings", .kinds = ORR_EVENT_BIT(USER_NUMBER) },
                              .records = 64 },
                        more[4];
    size_t records = 0;
    orr_recorder_start(&r);
    for (int i = 0; i < 50; i++) {
        pthread_t t;
        pthread_create(&t, NULL, record_one, NULL);
        pthread_join(t, NULL);
    }
    orr_recorder_drain(&r, count_records, &records);
    is_int((long long)records, 50, "threads that end leave what they recorded");
    orr_alloc_fail_after(0, true);
    ORR_EVENT(USER_NUMBER, NULL, 1, 0, 0);
    orr_alloc_fail_after(-1, false);
    is_int((long long)orr_recorder_lost(&r), 0, "and their ring to the next one: no memory is needed");
    int started = 0;
    for (int i = 0; i < 4; i++) {
        more[i] = r;
        started += orr_recorder_start(&more[i]) == 0;
    }
    is_int(started, 3, "four recorders at a time");
    orr_alloc_fail_after(0, true);
    ORR_EVENT(USER_NUMBER, NULL, 2, 0, 0);
    orr_alloc_fail_after(-1, false);
    ok(all_of(orr_recorder_lost(&more[0]) == 1, orr_recorder_lost(&r) == 0),
       "without memory a record is lost, and counted");
    for (int i = 0; i < 4; i++) {
        if (i < 3) orr_recorder_stop(&more[i]);
        if (i < 3) orr_recorder_free(&more[i]);
    }
    orr_recorder_stop(&r);
    orr_recorder_free(&r);
}

static void keep_text(const struct orr_record *r, void *arg)
{
    memcpy(arg, &r->a, 24);
}

static void texts(void)
{
    struct orr_recorder r = { .observer = { .name = "rings", .kinds = ORR_EVENT_BIT(USER_TEXT) },
                              .records = 3 };
    char text[25] = "";
    is_int(orr_recorder_start(&r), -EINVAL, "a ring has a power of two of records");
    r.records = 4;
    orr_recorder_start(&r);
    ORR_EVENT(USER_TEXT, "factorisation begins", 0, 0, 0);
    orr_recorder_stop(&r);
    orr_recorder_drain(&r, keep_text, text);
    ok(strcmp(text, "factorisation begins") == 0, "a text is kept with its record (%s)", text);
    orr_recorder_free(&r);
}

int main(void)
{
    who_wants_is_told();
    told_in_order();
    places_are_limited();
    not_told_of_itself();
    removes_itself();
    come_and_go_under_way();
    nobody_waits_inside();
    handed_over();
    overwritten();
    threads_that_end();
    texts();
    return done_testing();
}
