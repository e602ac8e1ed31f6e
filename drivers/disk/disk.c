/* SPDX-License-Identifier: BSD-3-Clause */
/* disk.c: memory nodes in storages that a table of functions describes (starpu_disk.h), and their copies.
 * Threads: any; a storage is added by one at a time. Owns: the storages of this run.
 * Not here: files (files.c), the threads (jobs.c), what goes there and when (core/data/eviction.c).
 *
 * A copy to or from main memory is cut into requests of the storage where it has some, else it is a job for a
 * thread of jobs.c, which calls the storage's read and write. What belongs to one datum is one batch, to
 * which the event points: it has ended when all parts have. */
#include <errno.h>
#include <sched.h>
#include <string.h>

#include <starpu.h>

#include "core/base/alloc.h"
#include "core/base/env.h"
#include "core/base/log.h"
#include "core/base/sync.h"
#include "core/mem/node.h"
#include "drivers/disk/disk.h"

enum { GATHER_BYTES = 1 << 20, MOST_AT_ONCE = 1 << 30 };

struct disk {
    struct starpu_disk_ops ops;
    void *base;
    unsigned node;
    _Atomic bool told; /* that it fails */
};

static ORR_MUTEX(disks) disks_lock = PTHREAD_MUTEX_INITIALIZER; /* protects adding one */
static struct disk *disks[STARPU_MAXNODES]; /* [const from when the node is known to when it is forgotten] */

/* ---- bytes ---- */

/* Rows of bytes between main memory and an object. */
struct piece {
    struct disk *disk;
    void *obj;
    size_t offset; /* in the object */
    char *memory;
    struct orr_box box; /* sizes; distances are those below */
    size_t row, plane;  /* in memory */
    size_t object_row, object_plane;
    bool writes;
};

static struct piece piece_of(const struct orr_location *src, const struct orr_location *dst,
                             const struct orr_box *box)
{
    bool writes = disks[dst->node] != NULL;
    const struct orr_location *there = writes ? dst : src, *here = writes ? src : dst;
    return (struct piece){ .disk = disks[there->node],
                           .obj = (void *)there->base,
                           .offset = there->offset,
                           .memory = (char *)here->base + here->offset,
                           .box = *box,
                           .row = writes ? box->src_row : box->dst_row,
                           .plane = writes ? box->src_plane : box->dst_plane,
                           .object_row = writes ? box->dst_row : box->src_row,
                           .object_plane = writes ? box->dst_plane : box->src_plane,
                           .writes = writes };
}

static void say_failed(struct disk *d, bool writes, size_t bytes, int r)
{
    if (orr_exchange_acq_rel(&d->told, true)) return;
    orr_error("%s: %s %zu bytes failed (%s); is it full, or damaged? What could not be written stays in main "
              "memory (this is said once)",
              orr_nodes[d->node].name, writes ? "writing" : "reading", bytes,
              r < 0 && r > -4096 ? strerror(-r) : "less was moved than was asked for");
}

/* 0 or -EIO. */
static int move_some(const struct piece *p, char *memory, size_t at, size_t bytes)
{
    const struct starpu_disk_ops *ops = &p->disk->ops;
    int r;
    bool well;
    if (p->writes) {
        r = ops->write(p->disk->base, p->obj, memory, (off_t)at, bytes);
        well = r == 0;
    } else {
        r = ops->read(p->disk->base, p->obj, memory, (off_t)at, bytes);
        well = r == (int)bytes;
    }
    if (!well) say_failed(p->disk, p->writes, bytes, r);
    return well ? 0 : -EIO;
}

/* Their methods answer with an int. */
static int move_row(const struct piece *p, char *memory, size_t at, size_t bytes)
{
    int r = 0;
    for (size_t done = 0; done < bytes && r == 0; done += MOST_AT_ONCE)
        r = move_some(p, memory + done, at + done, bytes - done < MOST_AT_ONCE ? bytes - done : MOST_AT_ONCE);
    return r;
}

static char *row_of(const struct piece *p, size_t plane, size_t row)
{
    return p->memory + plane * p->plane + row * p->row;
}

/* Rows that are apart in memory and not in the object go through a buffer: one call for many rows. */
static int move_gathered(const struct piece *p, char *buffer, size_t plane, size_t first, size_t rows)
{
    size_t bytes = p->box.bytes, at = p->offset + plane * p->object_plane + first * p->object_row;
    for (size_t i = 0; p->writes && i < rows; i++)
        memcpy(buffer + i * bytes, row_of(p, plane, first + i), bytes);
    int r = move_row(p, buffer, at, rows * bytes);
    for (size_t i = 0; !p->writes && i < rows; i++)
        memcpy(row_of(p, plane, first + i), buffer + i * bytes, bytes);
    return r;
}

static int move_plane(const struct piece *p, char *buffer, size_t plane, size_t at_once)
{
    int r = 0;
    for (size_t i = 0; i < p->box.rows && r == 0; i += at_once) {
        size_t left = p->box.rows - i, rows = left < at_once ? left : at_once;
        r = buffer ? move_gathered(p, buffer, plane, i, rows)
                   : move_row(p, row_of(p, plane, i), p->offset + plane * p->object_plane + i * p->object_row,
                              p->box.bytes);
    }
    return r;
}

static int move(const struct piece *p)
{
    size_t bytes = p->box.bytes, at_once = 1;
    char *buffer = NULL;
    int r = 0;
    if (p->box.rows > 1 && p->object_row == bytes && bytes <= GATHER_BYTES / 2) {
        at_once = GATHER_BYTES / bytes < p->box.rows ? GATHER_BYTES / bytes : p->box.rows;
        buffer = orr_malloc_aligned(ORR_CACHE_LINE, at_once * bytes);
        if (!buffer) at_once = 1;
    }
    for (size_t i = 0; i < p->box.planes && r == 0; i++) r = move_plane(p, buffer, i, at_once);
    orr_free(buffer);
    return r;
}

/* ---- copies that go on ---- */

struct request {
    struct request *next;
    struct disk *disk;
    void *channel;
};

struct batch {
    _Atomic unsigned left; /* jobs; its last one publishes the bytes */
    _Atomic int error;
    struct request *requests; /* [own: who starts the copies, then who tests them] */
};

struct job {
    struct orr_disk_job job; /* first */
    struct batch *batch;
    struct piece piece;
};

static void run_job(struct orr_disk_job *job)
{
    struct job *j = (struct job *)job;
    struct batch *b = j->batch;
    int r = move(&j->piece);
    if (r) orr_store_relaxed(&b->error, r);
    orr_free(j);
    orr_sub_acq_rel(&b->left, 1u); /* pairs with disk_test; b may be gone */
}

/* Hands p to the storage as a request. False: it has none for that. */
static bool request(const struct piece *p, struct batch *b)
{
    const struct starpu_disk_ops *ops = &p->disk->ops;
    void *(*start)(void *, void *, void *, off_t, size_t) = p->writes ? ops->async_write : ops->async_read;
    if (p->box.rows * p->box.planes != 1 || !start || !ops->test_request) return false;
    struct request *q = orr_malloc(sizeof *q);
    if (!q) return false;
    *q = (struct request){ b->requests, p->disk, NULL };
    q->channel = start(p->disk->base, p->obj, p->memory, (off_t)p->offset, p->box.bytes);
    if (!q->channel) {
        orr_free(q);
        return false;
    }
    b->requests = q;
    return true;
}

/* -EAGAIN: it goes on. */
static int start(const struct piece *p, struct batch *b)
{
    if (request(p, b)) return -EAGAIN;
    struct job *j = orr_malloc(sizeof *j);
    if (!j) return move(p);
    *j = (struct job){ .job.run = run_job, .batch = b, .piece = *p };
    orr_add_relaxed(&b->left, 1u);
    orr_disk_run(&j->job);
    return -EAGAIN;
}

static int disk_copy_box(const struct orr_location *src, const struct orr_location *dst,
                         const struct orr_box *box, struct orr_copy_event *event)
{
    struct piece p = piece_of(src, dst, box);
    if (!event) return move(&p);
    struct batch *b = (struct batch *)(uintptr_t)event->words[0];
    bool first = !b;
    if (first && !(b = orr_calloc(1, sizeof *b))) return move(&p);
    int r = start(&p, b);
    if (r == -EAGAIN)
        event->words[0] = (uintptr_t)b;
    else if (first)
        orr_free(b);
    return r;
}

static int disk_copy(const struct orr_location *src, const struct orr_location *dst, size_t bytes,
                     struct orr_copy_event *event)
{
    return disk_copy_box(src, dst, &(struct orr_box){ .bytes = bytes, .rows = 1, .planes = 1 }, event);
}

static void test_requests(struct batch *b)
{
    for (struct request **at = &b->requests; *at;) {
        struct request *q = *at;
        const struct starpu_disk_ops *ops = &q->disk->ops;
        int r = ops->test_request(q->channel);
        if (r == 0) {
            at = &q->next;
            continue;
        }
        if (r < 0) orr_store_relaxed(&b->error, -EIO);
        if (ops->free_request) ops->free_request(q->channel);
        *at = q->next;
        orr_free(q);
    }
}

static int disk_test(struct orr_copy_event *event)
{
    struct batch *b = (struct batch *)(uintptr_t)event->words[0];
    test_requests(b);
    if (b->requests || orr_load_acquire(&b->left) > 0) return -EAGAIN;
    int r = orr_load_relaxed(&b->error);
    event->words[0] = 0;
    orr_free(b);
    return r;
}

/* ---- memory ---- */

static uintptr_t disk_alloc(unsigned node, size_t bytes)
{
    struct disk *d = disks[node];
    return (uintptr_t)d->ops.alloc(d->base, bytes);
}

static void disk_free(unsigned node, uintptr_t obj, size_t bytes)
{
    struct disk *d = disks[node];
    d->ops.free(d->base, (void *)obj, bytes);
}

static const struct orr_node_ops disk_node_ops = {
    .name = "disk",
    .alloc = disk_alloc,
    .free = disk_free,
    .copy = disk_copy,
    .copy_box = disk_copy_box,
    .test = disk_test,
};

/* ---- life ---- */

/* The node, or -ENOSPC. Called with the lock held. */
static int add_locked(struct disk *d, starpu_ssize_t size)
{
    char name[32];
    unsigned node = orr_node_count, number = starpu_memory_nodes_get_count_by_kind(STARPU_DISK_RAM);
    if (node >= STARPU_MAXNODES)
        return orr_node_register(STARPU_DISK_RAM, (int)number, &disk_node_ops, 0, "a disk");
    snprintf(name, sizeof name, "Disk %u", number);
    d->node = node;
    disks[node] = d;
    return orr_node_register(STARPU_DISK_RAM, (int)number, &disk_node_ops, size < 0 ? 0 : (size_t)size, name);
}

static int plug(struct starpu_disk_ops *func, void *parameter, starpu_ssize_t size)
{
    struct disk *d = orr_calloc(1, sizeof *d);
    if (!d || !orr_disk_threads_start()) {
        orr_free(d);
        return -ENOMEM;
    }
    d->ops = *func;
    d->base = func->plug(parameter, size);
    int node = d->base ? add_locked(d, size) : -ENODEV;
    if (node >= 0) return node;
    if (d->base) func->unplug(d->base);
    orr_free(d);
    return node;
}

static const char *why_not(const struct starpu_disk_ops *f, starpu_ssize_t size)
{
    if (!f) return "there is no table of functions";
    if (!f->plug || !f->unplug || !f->alloc || !f->free || !f->read || !f->write)
        return "the table lacks one of plug, unplug, alloc, free, read and write";
    if (size >= 0 && size < STARPU_DISK_SIZE_MIN)
        return "the size is less than STARPU_DISK_SIZE_MIN, 16 MiB; a negative one is none";
    return NULL;
}

int starpu_disk_register(struct starpu_disk_ops *func, void *parameter, starpu_ssize_t size)
{
    const char *why = starpu_is_initialized() ? why_not(func, size) : "starpu_init was not called";
    if (why) {
        orr_error("starpu_disk_register: %s", why);
        return -EINVAL;
    }
    pthread_mutex_lock(&disks_lock);
    int node = plug(func, parameter, size);
    pthread_mutex_unlock(&disks_lock);
    if (node < 0)
        orr_error("starpu_disk_register: the storage cannot be used (%s)",
                  node == -ENODEV ? "its plug method returned NULL" : strerror(-node));
    return node;
}

static struct disk *disk_at(unsigned node, const char *fn)
{
    struct disk *d = node < orr_node_count ? disks[node] : NULL;
    if (!d) orr_error("%s: memory node %u is no disk; use what starpu_disk_register returned", fn, node);
    return d;
}

void *starpu_disk_open(unsigned node, void *pos, size_t size)
{
    struct disk *d = disk_at(node, "starpu_disk_open");
    if (!d) return NULL;
    void *obj = d->ops.open ? d->ops.open(d->base, pos, size) : NULL;
    if (!obj)
        orr_error("starpu_disk_open: %s: %s", orr_nodes[node].name,
                  d->ops.open ? "its open method returned NULL" : "its table has no open method");
    return obj;
}

void starpu_disk_close(unsigned node, void *obj, size_t size)
{
    struct disk *d = disk_at(node, "starpu_disk_close");
    if (d && obj && d->ops.close) d->ops.close(d->base, obj, size);
}

/* ---- the one that the environment asks for ---- */

int starpu_disk_swap_node = -1;

static struct starpu_disk_ops *ops_named(const char *name)
{
    static const struct {
        const char *name;
        struct starpu_disk_ops *ops;
    } known[] = { { "unistd", &starpu_disk_unistd_ops },
                  { "stdio", &starpu_disk_stdio_ops },
                  { "unistd_o_direct", &starpu_disk_unistd_o_direct_ops },
                  { "hdf5", &starpu_disk_hdf5_ops } };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i].name) == 0) return known[i].ops;
    return NULL;
}

/* What cannot be had is said, and the runtime starts without. */
static int disks_open(void)
{
    const char *folder = orr_env_string(ORR_SETTING(STARPU_DISK_SWAP));
    const char *name = orr_env_string(ORR_SETTING(STARPU_DISK_SWAP_BACKEND));
    double mb = orr_env_double(ORR_SETTING(STARPU_DISK_SWAP_SIZE), -1, -1, 1e12);
    if (!folder || !*folder) return 0;
    struct starpu_disk_ops *ops = ops_named(name ? name : "unistd");
    const char *why = ops ? why_not(ops, mb < 0 ? -1 : (starpu_ssize_t)(mb * 1048576.))
                          : "STARPU_DISK_SWAP_BACKEND is none of unistd, stdio, unistd_o_direct, hdf5";
    int node = why ? -EINVAL : plug(ops, (void *)folder, mb < 0 ? -1 : (starpu_ssize_t)(mb * 1048576.));
    if (node >= 0)
        starpu_disk_swap_node = node;
    else
        orr_warn("STARPU_DISK_SWAP=%s is not used: %s", folder, why ? why : strerror(-node));
    return 0;
}

static void disks_close(void)
{
    orr_disk_threads_stop();
    starpu_disk_swap_node = -1;
    for (unsigned n = 0; n < STARPU_MAXNODES; n++) {
        struct disk *d = disks[n];
        if (!d) continue;
        disks[n] = NULL;
        d->ops.unplug(d->base);
        orr_free(d);
    }
}

const struct orr_store_ops orr_disk_store = { .open = disks_open, .close = disks_close };
