/* SPDX-License-Identifier: BSD-3-Clause */
/* checkpoint.c: see checkpoint.h. Threads: see checkpoint.h. Owns: see checkpoint.h. Not here: see
 * checkpoint.h.
 *
 * Submitting reads each of this rank's data where the stream is: an access in its queue; when it is granted
 * the value is copied, and let go of. A thread writes the copies. Data that changed their owner since are
 * brought to the one they had when the template was frozen: so all instances have the same entries in the
 * same files, and a run that starts again finds them where it registers them. When a rank has its file, or
 * cannot, it reports to rank 0; when all have, rank 0 tells all that the instance is settled. Only then is an
 * older one removed: so there is always one of which all ranks have their files. */
#include "mpi/value/checkpoint.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/base/thread.h"
#include "core/data/coherency.h"
#include "core/mem/node.h"
#include "mpi/value/cache.h"
#include "mpi/value/crc32c.h"
#include "mpi/value/exchange.h"
#include "mpi/value/moves.h"
#include "mpi/value/redux.h"
#include "mpi/wire/coll.h"

enum { NAP_US = 300, CANDIDATES = 32, WHY = 256 };

/* One checkpoint of this rank that is being written. */
struct instance {
    struct orr_checkpoint *template;
    struct orr_snapshot_when when;
    unsigned left; /* values to come; with the beginning itself */
    int status;
    bool open;
    struct orr_snapshot_out out;
};

enum job_kind { BEGIN, WRITE, TELL, PRUNE };

struct orr_checkpoint_job {
    struct orr_access access; /* first; WRITE: to the datum */
    struct orr_fetch fetch;
    struct orr_checkpoint_job *next;
    enum job_kind kind;
    int status;                      /* WRITE: there is no value; TELL: how it went */
    struct orr_checkpoint *template; /* PRUNE */
    struct instance *instance;       /* BEGIN, WRITE */
    unsigned entry;                  /* WRITE */
    void *data;
    starpu_ssize_t bytes;
    bool packed;
    int64_t key; /* TELL: which template, which instance */
    uint64_t number;
};

/* Rank 0: who has reported. */
struct orr_checkpoint_tally {
    struct orr_checkpoint_tally *next;
    int64_t key;
    uint64_t number;
    int heard, status;
};

static int64_t key_of(const struct orr_checkpoint *t)
{
    return (int64_t)((uint64_t)(uint32_t)t->id << 32 | (uint32_t)t->domain);
}

static struct orr_snapshot_head head_of(const struct orr_checkpoint *t, const struct orr_snapshot_when *when)
{
    const struct orr_cluster *cl = t->all->cluster;
    struct orr_snapshot_head h = { .shape = t->shape,
                                   .id = t->id,
                                   .domain = t->domain,
                                   .rank = cl->rank,
                                   .ranks = cl->size,
                                   .blocks = t->local };
    if (when) h.when = *when;
    snprintf(h.program, sizeof h.program, "%s", program_invocation_short_name);
    return h;
}

/* Whether this rank has the entry in its files. */
static bool is_local(const struct orr_checkpoint *t, const struct orr_checkpoint_entry *e)
{
    return e->kind == ORR_CHECKPOINT_VALUE || e->writer == t->all->cluster->rank ||
           e->writer == ORR_RANK_PER_NODE;
}

/* Whether the entry's datum is still the one that was put into the template; says it. */
static bool is_there(const struct orr_checkpoint *t, const struct orr_checkpoint_entry *e)
{
    if (orr_data_valid(e->handle) && orr_owned_tag(e->handle) == e->tag) return true;
    orr_error("checkpoint %d.%d: the datum with tag %" PRId64
              " was unregistered, or has another tag now; a template needs its data until "
              "starpu_mpi_checkpoint_shutdown",
              t->id, t->domain, e->tag);
    return false;
}

/* ---- what is said ---- */

static void report(struct orr_checkpoints *all, int peer, int64_t key, enum orr_control what, uint64_t number,
                   int status)
{
    enum { TRIES = 10000 };
    for (int i = 0; i < TRIES; i++) {
        if (orr_control_send(all->controls, peer, what, key, number, (uint32_t)-status, NULL, 0)) return;
        usleep(1000);
    }
    orr_error("checkpoint: rank %d could not be told of instance %" PRIu64, peer, number);
}

static void push_locked(struct orr_checkpoints *all, struct orr_checkpoint_job *j)
{
    j->next = NULL;
    *all->last = j;
    all->last = &j->next;
    pthread_cond_signal(&all->news);
}

static void push(struct orr_checkpoints *all, struct orr_checkpoint_job *j)
{
    pthread_mutex_lock(&all->lock);
    push_locked(all, j);
    pthread_mutex_unlock(&all->lock);
}

/* Rank 0: one more rank is through with an instance. Called with the lock held. */
static void count_locked(struct orr_checkpoints *all, int64_t key, uint64_t number, int status)
{
    struct orr_checkpoint_tally **p = &all->tallies, *y;
    while (*p && ((*p)->key != key || (*p)->number != number)) p = &(*p)->next;
    if (!*p && (*p = orr_calloc(1, sizeof **p)) != NULL) {
        (*p)->key = key;
        (*p)->number = number;
    }
    if (!(y = *p)) return; /* never settled: who waits is told by the watchdogs */
    if (status) y->status = status;
    if (++y->heard < all->cluster->size) return;
    struct orr_checkpoint_job *j = orr_calloc(1, sizeof *j);
    if (!j) return;
    *j = (struct orr_checkpoint_job){ .kind = TELL, .key = key, .number = number, .status = y->status };
    push_locked(all, j);
    *p = y->next;
    orr_free(y);
}

/* All ranks are through with an instance. Called with the lock held. */
static void settle_locked(struct orr_checkpoints *all, int64_t key, uint64_t number, int status)
{
    struct orr_checkpoint *t = all->templates;
    while (t && key_of(t) != key) t = t->next;
    if (!t) return;
    t->settled++;
    if (status) t->failed = status;
    struct orr_snapshot_when now = { t->run, number }, *kept = t->kept;
    if (!status && (t->nkept == 0 || orr_snapshot_compare(&now, &kept[0]) < 0)) {
        kept[1] = kept[0];
        kept[0] = now;
        if (t->nkept < 2) t->nkept++;
    } else if (!status && (t->nkept == 1 || orr_snapshot_compare(&now, &kept[1]) < 0)) {
        kept[1] = now;
        t->nkept = 2;
    }
    struct orr_checkpoint_job *j = orr_calloc(1, sizeof *j);
    if (!j) return; /* old files stay until the next */
    *j = (struct orr_checkpoint_job){ .kind = PRUNE, .template = t, .number = number, .status = status };
    push_locked(all, j);
}

/* A control message came: WRITTEN at rank 0, SETTLED everywhere. */
static void heard(void *arg, int source, const struct orr_wire_header *h, const void *none)
{
    struct orr_checkpoints *all = arg;
    (void)source;
    (void)none;
    pthread_mutex_lock(&all->lock);
    if (h->type == ORR_CONTROL_WRITTEN)
        count_locked(all, h->tag, h->id, -(int)h->bulk_tag);
    else
        settle_locked(all, h->tag, h->id, -(int)h->bulk_tag);
    pthread_mutex_unlock(&all->lock);
}

/* ---- the writer ---- */

static void open_file(struct instance *i)
{
    const struct orr_snapshot_head h = head_of(i->template, &i->when);
    i->status = orr_snapshot_create(&i->out, i->template->all->folder, &h);
    i->open = i->status == 0;
}

static void write_value(struct instance *i, const struct orr_checkpoint_job *j)
{
    const struct orr_checkpoint_entry *e = &i->template->entries[j->entry];
    if (!i->status) i->status = j->status;
    if (!i->status)
        i->status = orr_snapshot_add(&i->out, j->entry, e->kind, e->tag, j->data, (size_t)j->bytes);
}

/* The last value is there. */
static void close_file(struct instance *i)
{
    struct orr_checkpoint *t = i->template;
    if (i->open && i->status) orr_snapshot_abandon(&i->out);
    if (i->open && !i->status) i->status = orr_snapshot_close(&i->out);
    bool its_data = i->status == -ENODATA || i->status == -EBUSY;
    if (i->status)
        orr_error(
            "checkpoint %d.%d, instance %" PRIu64 ": %s could not be written (%s); it is given up on all "
            "ranks, those before it are kept; %s",
            t->id, t->domain, i->when.instance, i->open ? i->out.path : t->all->folder,
            i->status == -ENODATA ? "nobody has written a datum of it" : strerror(-i->status),
            its_data ? "its data must have values, and not be partitioned"
                     : "see to room and rights in that folder, or name another (ORRERY_CHECKPOINT_DIR)");
    report(t->all, 0, key_of(t), ORR_CONTROL_WRITTEN, i->when.instance, i->status);
    orr_free(i);
}

static void free_value(struct orr_checkpoint_job *j)
{
    if (j->packed)
        starpu_free_on_node_flags(orr_node_home(), (uintptr_t)j->data, (size_t)j->bytes, 0);
    else
        orr_free(j->data);
}

/* Old files go; of an instance that was given up, this rank's, too. */
static void prune(struct orr_checkpoint *t, int status, uint64_t number)
{
    struct orr_snapshot_when kept[2];
    pthread_mutex_lock(&t->all->lock);
    unsigned n = t->nkept;
    memcpy(kept, t->kept, sizeof kept);
    pthread_mutex_unlock(&t->all->lock);
    const struct orr_snapshot_when gone = { t->run, number };
    struct orr_snapshot_head h = head_of(t, &gone);
    char path[PATH_MAX];
    orr_snapshot_path(t->all->folder, &h, path, sizeof path);
    if (status)
        unlink(path);
    else if (n == 2)
        orr_snapshot_remove_before(t->all->folder, &h, &kept[1]);
}

static void do_job(struct orr_checkpoints *all, struct orr_checkpoint_job *j)
{
    if (j->kind == TELL)
        for (int r = 0; r < all->cluster->size; r++)
            report(all, r, j->key, ORR_CONTROL_SETTLED, j->number, j->status);
    if (j->kind == PRUNE) prune(j->template, j->status, j->number);
    if (j->kind == BEGIN) open_file(j->instance);
    if (j->kind == WRITE) write_value(j->instance, j);
    if (j->kind == WRITE) free_value(j);
    if ((j->kind == BEGIN || j->kind == WRITE) && --j->instance->left == 0) close_file(j->instance);
    orr_free(j);
}

static void *write_all(void *arg)
{
    struct orr_checkpoints *all = arg;
    orr_thread_is_internal();
    pthread_mutex_lock(&all->lock);
    while (all->first || !all->ends) {
        struct orr_checkpoint_job *j = all->first;
        if (!j) {
            pthread_cond_wait(&all->news, ORR_PLAIN_MUTEX(&all->lock));
            continue;
        }
        if (!(all->first = j->next)) all->last = &all->first;
        pthread_mutex_unlock(&all->lock);
        orr_acting_begin(); /* a slow disk is no deadlock */
        do_job(all, j);
        orr_acting_end();
        pthread_mutex_lock(&all->lock);
    }
    pthread_mutex_unlock(&all->lock);
    return NULL;
}

/* ---- beginning and end ---- */

void orr_checkpoints_init(struct orr_checkpoints *all, struct orr_cluster *cl, struct orr_controls *controls)
{
    all->cluster = cl;
    all->controls = controls;
    all->first = NULL;
    all->last = &all->first;
    all->runs = all->ends = false;
    orr_control_listen(controls, ORR_CONTROL_WRITTEN, ORR_CONTROL_SETTLED, heard, all);
}

int orr_checkpoints_start(struct orr_checkpoints *all, const char *folder, const char *from)
{
    struct orr_cluster *cl = all->cluster;
    if (all->runs) return 0;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int status =
        strlen(folder) < sizeof all->folder && (!from || strlen(from) < sizeof all->from) ? 0 : -ENAMETOOLONG;
    if (status)
        orr_error("checkpoints: the name of the folder is longer than %zu bytes", sizeof all->folder - 1);
    all->ends = false;
    if (!status && orr_thread_start(&all->writer, write_all, all, "orr-checkpoint") != 0) {
        orr_error("checkpoints: there is no thread to write them");
        status = -EAGAIN;
    }
    int64_t v[ORR_COLL_VALUES] = { cl->rank ? 0 : (int64_t)now.tv_sec * 1000000000 + now.tv_nsec, status != 0,
                                   from != NULL };
    bool mine = status == 0;
    int r = orr_coll_sum(cl->comm, v);
    if (!r && !v[1] && v[2] % cl->size) {
        orr_error("checkpoints: ORRERY_CHECKPOINT_RESTART is set on %lld of %d ranks; set it for all or none",
                  (long long)v[2], cl->size);
        r = -EIO;
    }
    if (!status) status = r ? r : v[1] ? -EIO : 0;
    if (!status) {
        strcpy(all->folder, folder);
        strcpy(all->from, from ? from : "");
        all->run = (uint64_t)v[0];
        all->runs = true;
        return 0;
    }
    if (!mine) return status;
    pthread_mutex_lock(&all->lock);
    all->ends = true;
    pthread_cond_signal(&all->news);
    pthread_mutex_unlock(&all->lock);
    pthread_join(all->writer, NULL);
    return status;
}

int orr_checkpoints_stop(struct orr_checkpoints *all)
{
    int status = 0;
    if (!all->runs) return 0;
    for (struct orr_checkpoint *t = all->templates; t; t = t->next) {
        int r = orr_checkpoint_wait(t);
        if (r) status = r;
    }
    pthread_mutex_lock(&all->lock);
    all->ends = true;
    pthread_cond_signal(&all->news);
    pthread_mutex_unlock(&all->lock);
    pthread_join(all->writer, NULL);
    pthread_mutex_lock(&all->lock);
    struct orr_checkpoint *t = all->templates;
    all->templates = NULL;
    for (struct orr_checkpoint_tally *y; (y = all->tallies) != NULL; orr_free(y)) all->tallies = y->next;
    pthread_mutex_unlock(&all->lock);
    for (struct orr_checkpoint *next; t; t = next) {
        next = t->next;
        orr_free(t->entries);
        orr_free(t);
    }
    all->runs = false;
    return status;
}

/* ---- templates ---- */

struct orr_checkpoint *orr_checkpoint_create(struct orr_checkpoints *all, int id, int domain)
{
    struct orr_checkpoint *t = orr_calloc(1, sizeof *t), *other;
    if (!t) return NULL;
    *t = (struct orr_checkpoint){ .all = all, .id = id, .domain = domain, .run = all->run };
    pthread_mutex_lock(&all->lock);
    for (other = all->templates; other && (other->id != id || other->domain != domain);) other = other->next;
    if (!other) {
        t->next = all->templates;
        all->templates = t;
    }
    pthread_mutex_unlock(&all->lock);
    if (!other) return t;
    orr_error("starpu_mpi_checkpoint_template: there is one with number %d in domain %d already", id, domain);
    orr_free(t);
    return NULL;
}

int orr_checkpoint_add(struct orr_checkpoint *t, const struct orr_checkpoint_entry *e)
{
    for (unsigned i = 0; i < t->count; i++)
        if (t->entries[i].kind == e->kind && t->entries[i].tag == e->tag) {
            orr_error("starpu_mpi_checkpoint_template %d: tag %" PRId64
                      " is in it twice; each %s has its own",
                      t->id, e->tag, e->kind == ORR_CHECKPOINT_DATA ? "datum" : "value");
            return -EINVAL;
        }
    if (t->count == t->room) {
        unsigned room = t->room ? 2 * t->room : 16;
        void *more = orr_realloc(t->entries, room * sizeof *t->entries);
        if (!more) return -ENOMEM;
        t->entries = more;
        t->room = room;
    }
    t->entries[t->count++] = *e;
    return 0;
}

void orr_checkpoint_freeze(struct orr_checkpoint *t)
{
    t->local = 0;
    t->shape = t->count;
    for (unsigned i = 0; i < t->count; i++) {
        struct orr_checkpoint_entry *e = &t->entries[i];
        bool data = e->kind == ORR_CHECKPOINT_DATA;
        e->writer = data ? orr_owned_rank(t->all->cluster->comm, e->handle) : -1;
        const int64_t says[] = { e->kind, e->tag,
                                 (int64_t)(data ? starpu_data_get_size(e->handle) : e->bytes), e->writer,
                                 data ? (int64_t)starpu_data_get_interface_id(e->handle) : -1 };
        t->shape = orr_crc32c(t->shape, says, sizeof says);
        t->local += is_local(t, e);
    }
    t->frozen = true;
}

/* ---- submitting ---- */

/* The access is granted, and the value is there, or is not (status): it is copied, and let go of. */
static void take_value(struct orr_checkpoint_job *j, int status, bool fetched)
{
    struct orr_checkpoint *t = j->instance->template;
    struct orr_data *h = t->entries[j->entry].handle;
    unsigned home = orr_node_home();
    if (!status) status = starpu_data_pack_node(h, home, &j->data, &j->bytes);
    if (fetched) orr_fetch_end(h, home, STARPU_R);
    j->status = status;
    j->packed = status == 0;
    if (status) j->data = NULL;
    orr_data_leave(h, &j->access);
    push(t->all, j);
}

static void fetched(struct orr_fetch *f, int status)
{
    take_value(f->arg, status, status == 0);
}

static void granted(struct orr_waiter *w)
{
    struct orr_checkpoint_job *j = (struct orr_checkpoint_job *)w;
    struct orr_data *h = j->instance->template->entries[j->entry].handle;
    j->fetch = (struct orr_fetch){
        .done = fetched, .handle = h, .node = (uint16_t)orr_node_home(), .mode = STARPU_R, .arg = j
    };
    bool alone = orr_load_acquire(&h->ready_interface) != NULL; /* it is there, and stays */
    int r = alone ? 0 : orr_fetch_start(&j->fetch);
    if (alone || r) take_value(j, r < 0 ? r : 0, r > 0);
}

/* Joins the queue of the entry's datum. 0 or a negative errno. */
static int read_datum(struct orr_checkpoint_job *j, struct orr_data *h)
{
    if (orr_load_relaxed(&h->partitioned)) return -EBUSY;
    j->access.waiter.granted = granted;
    j->access.group = ORR_GROUP_READ;
    orr_data_announce(h, STARPU_R);
    int r = orr_data_join(h, &j->access);
    if (r > 0) granted(&j->access.waiter);
    return r < 0 ? r : 0;
}

static void submit_entry(struct instance *i, unsigned entry, struct orr_checkpoint_job *j)
{
    const struct orr_checkpoint_entry *e = &i->template->entries[entry];
    *j = (struct orr_checkpoint_job){ .kind = WRITE, .instance = i, .entry = entry };
    if (e->kind == ORR_CHECKPOINT_DATA) {
        int r = read_datum(j, e->handle);
        if (!r) return; /* j may be gone */
        j->status = r;
    } else {
        j->data = orr_malloc(e->bytes ? e->bytes : 1);
        j->bytes = (starpu_ssize_t)e->bytes;
        j->status = j->data ? 0 : -ENOMEM;
        if (j->data) memcpy(j->data, e->memory, e->bytes);
    }
    push(i->template->all, j);
}

/* What is needed for an instance: its jobs as a list, the beginning first. NULL: out of memory. */
static struct orr_checkpoint_job *jobs_create(unsigned count)
{
    struct orr_checkpoint_job *list = NULL;
    for (unsigned k = 0; k < count; k++) {
        struct orr_checkpoint_job *j = orr_calloc(1, sizeof *j);
        if (j) j->next = list;
        for (struct orr_checkpoint_job *next; !j && list; list = next) {
            next = list->next;
            orr_free(list);
        }
        if (!j) return NULL;
        list = j;
    }
    return list;
}

/* Brings the entry's value to who writes it. 0 or a negative errno. */
static int bring(const struct orr_checkpoint *t, const struct orr_checkpoint_entry *e, int priority)
{
    struct orr_comm *c = t->all->cluster->comm;
    if (!is_there(t, e)) return -EINVAL;
    int r = orr_redux_gather(c, e->handle, priority, 0), owner = orr_owned_rank(c, e->handle);
    if (!r) r = orr_moves_home(c, e->handle);
    if (r || owner == e->writer || owner == ORR_RANK_PER_NODE) return r;
    if (owner < 0 || e->writer < 0) {
        orr_error("checkpoint %d.%d: the datum with tag %" PRId64
                  " changed its owner from %d to %d; only changes from rank to rank are possible",
                  t->id, t->domain, e->tag, e->writer, owner);
        return -EINVAL;
    }
    return orr_moves_get(c, e->handle, e->writer, &r)
               ? r
               : orr_exchange_get(c, e->handle, e->writer, priority, NULL, NULL);
}

int orr_checkpoint_submit(struct orr_checkpoint *t, int priority)
{
    int status = 0;
    for (unsigned i = 0; i < t->count; i++) {
        int r = t->entries[i].kind == ORR_CHECKPOINT_DATA ? bring(t, &t->entries[i], priority) : 0;
        if (r) status = r;
    }
    t->submitted++;
    t->asked++;
    struct instance *i = status ? NULL : orr_malloc(sizeof *i);
    struct orr_checkpoint_job *jobs = i ? jobs_create(t->local + 1) : NULL;
    if (!jobs) {
        orr_free(i);
        if (!status) status = -ENOMEM;
        report(t->all, 0, key_of(t), ORR_CONTROL_WRITTEN, t->submitted, status);
        return status;
    }
    i->template = t;
    i->when = (struct orr_snapshot_when){ t->run, t->submitted };
    i->left = t->local + 1;
    i->status = 0;
    i->open = false;
    struct orr_checkpoint_job *begin = jobs;
    jobs = jobs->next;
    *begin = (struct orr_checkpoint_job){ .kind = BEGIN, .instance = i };
    push(t->all, begin);
    for (unsigned k = 0; k < t->count; k++) {
        if (!is_local(t, &t->entries[k])) continue;
        struct orr_checkpoint_job *j = jobs;
        jobs = jobs->next;
        submit_entry(i, k, j);
    }
    return 0;
}

/* Whether all are through with what was submitted; then *failed_out is what became of it, once. */
static bool is_settled(struct orr_checkpoint *t, int *failed_out)
{
    pthread_mutex_lock(&t->all->lock);
    bool over = t->settled == t->asked;
    *failed_out = t->failed;
    if (over) t->failed = 0;
    pthread_mutex_unlock(&t->all->lock);
    return over;
}

int orr_checkpoint_wait(struct orr_checkpoint *t)
{
    int failed;
    if (is_settled(t, &failed)) return failed;
    orr_thread_blocked_begin();
    while (!is_settled(t, &failed)) {
        orr_thread_looks_again();
        if (!orr_progress_turn(&t->all->cluster->progress)) usleep(NAP_US);
    }
    orr_thread_looks_end();
    orr_thread_blocked_end();
    return failed;
}

int orr_checkpoint_discard(struct orr_checkpoint *t)
{
    int status = orr_checkpoint_wait(t);
    struct orr_snapshot_head h = head_of(t, NULL);
    pthread_mutex_lock(&t->all->lock);
    t->nkept = 0;
    pthread_mutex_unlock(&t->all->lock);
    const struct orr_snapshot_when end = { UINT64_MAX, UINT64_MAX };
    orr_snapshot_remove_before(t->all->folder, &h, &end);
    return status;
}

/* ---- restarting ---- */

/* The value in a file, and what it is to be. */
static int fits(void *arg, const struct orr_snapshot_block *b, const void *data, char *why, size_t bytes)
{
    const struct orr_checkpoint *t = arg;
    const struct orr_checkpoint_entry *e = b->entry < t->count ? &t->entries[b->entry] : NULL;
    starpu_ssize_t wanted = e ? (starpu_ssize_t)e->bytes : 0;
    (void)data;
    if (e && e->kind == b->kind && e->tag == b->tag && is_local(t, e)) {
        if (e->kind == ORR_CHECKPOINT_DATA && starpu_data_pack(e->handle, NULL, &wanted) != 0) return 0;
        if (wanted == (starpu_ssize_t)b->bytes) return 0;
    }
    if (e)
        snprintf(why, bytes,
                 "it is of a program with other data: entry %u has tag %" PRId64 " and %" PRIu64
                 " bytes in it, tag %" PRId64 " and %lld bytes here",
                 b->entry, b->tag, b->bytes, e->tag, (long long)wanted);
    else
        snprintf(why, bytes, "it is of a program with other data: it has entry %u, there are %u here",
                 b->entry, t->count);
    return -EINVAL;
}

static int restore(void *arg, const struct orr_snapshot_block *b, const void *data, char *why, size_t bytes)
{
    const struct orr_checkpoint *t = arg;
    const struct orr_checkpoint_entry *e = &t->entries[b->entry];
    if (e->kind == ORR_CHECKPOINT_VALUE) {
        memcpy(e->memory, data, e->bytes);
        return 0;
    }
    int r = starpu_data_acquire(e->handle, STARPU_W);
    if (!r) {
        r = starpu_data_peek(e->handle, (void *)(uintptr_t)data, b->bytes);
        starpu_data_release(e->handle);
    }
    if (r)
        snprintf(why, bytes, "the datum with tag %" PRId64 " does not take its value (%s)", e->tag,
                 strerror(-r));
    return r;
}

/* Whether this rank's file of that time can be used; why not is said. */
static bool is_usable(struct orr_checkpoint *t, const struct orr_snapshot_when *when)
{
    char why[WHY] = "", path[PATH_MAX];
    struct orr_snapshot_head h = head_of(t, when);
    if (orr_snapshot_read(t->all->from, &h, fits, t, why, sizeof why) == 0) return true;
    orr_snapshot_path(t->all->from, &h, path, sizeof path);
    orr_warn("checkpoint %s is not used: %s", path, why);
    return false;
}

/* Asks the ranks for each that rank 0 has, the latest first. True: all can use it. status_out: they do not
 * hear each other. */
static bool find_last(struct orr_checkpoint *t, struct orr_snapshot_when *when_out, int *status_out)
{
    struct orr_cluster *cl = t->all->cluster;
    struct orr_snapshot_when list[CANDIDATES];
    struct orr_snapshot_head h = head_of(t, NULL);
    unsigned count = cl->rank ? 0 : orr_snapshot_list(t->all->from, &h, list, CANDIDATES);
    for (unsigned i = 0;; i++) {
        int64_t v[ORR_COLL_VALUES] = { 0 };
        if (i < count) v[0] = (int64_t)list[i].run, v[1] = (int64_t)list[i].instance;
        *status_out = orr_coll_sum(cl->comm, v);
        if (*status_out || v[1] == 0) return false;
        *when_out = (struct orr_snapshot_when){ (uint64_t)v[0], (uint64_t)v[1] };
        int64_t able[ORR_COLL_VALUES] = { is_usable(t, when_out) };
        *status_out = orr_coll_sum(cl->comm, able);
        if (*status_out || able[0] == cl->size) return !*status_out;
    }
}

/* Whether its data are there, and owned as the files have them: alike on all ranks. Says it. */
static bool all_are_home(const struct orr_checkpoint *t)
{
    for (unsigned i = 0; i < t->count; i++) {
        const struct orr_checkpoint_entry *e = &t->entries[i];
        if (e->kind != ORR_CHECKPOINT_DATA) continue;
        if (!is_there(t, e)) return false;
        int owner = orr_owned_rank(t->all->cluster->comm, e->handle);
        if (owner == e->writer) continue;
        orr_error("orrery_mpi_checkpoint_restart: template %d: the datum with tag %" PRId64
                  " changed its owner from %d to %d since the template was frozen; restart first, then move "
                  "data",
                  t->id, e->tag, e->writer, owner);
        return false;
    }
    return true;
}

int orr_checkpoint_restart(struct orr_checkpoint *t, uint64_t *instance_out)
{
    struct orr_checkpoints *all = t->all;
    struct orr_snapshot_when when;
    int status;
    *instance_out = 0;
    if (!all->from[0]) return 0;
    if (!all_are_home(t)) return -EINVAL;
    if (!find_last(t, &when, &status)) {
        if (status) return status;
        orr_error(
            "checkpoint %d.%d: there is none in %s that all ranks can use (each says above why it cannot); "
            "name the folder of a run of this program with %d ranks, or start without "
            "ORRERY_CHECKPOINT_RESTART",
            t->id, t->domain, all->from, all->cluster->size);
        return -ENODATA;
    }
    for (unsigned i = 0; i < t->count; i++)
        if (t->entries[i].kind == ORR_CHECKPOINT_DATA)
            if (!orr_moves_flush_one(all->cluster->comm, t->entries[i].handle))
                orr_cache_flush(all->cluster->comm, t->entries[i].handle);
    char why[WHY] = "";
    struct orr_snapshot_head h = head_of(t, &when);
    status = orr_snapshot_read(all->from, &h, restore, t, why, sizeof why);
    if (status) orr_error("checkpoint %d.%d, instance %" PRIu64 ": %s", t->id, t->domain, when.instance, why);
    int64_t failed[ORR_COLL_VALUES] = { status != 0 };
    int r = orr_coll_sum(all->cluster->comm, failed);
    if (!status && (r || failed[0])) status = r ? r : -EIO;
    if (status) return status;
    t->submitted = *instance_out = when.instance;
    if (!t->asked && t->run <= when.run) t->run = when.run + 1; /* it is later, whatever the clock says */
    pthread_mutex_lock(&all->lock);
    t->kept[0] = when;
    t->nkept = 1;
    pthread_mutex_unlock(&all->lock);
    return 0;
}
