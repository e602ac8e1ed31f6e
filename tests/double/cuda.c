/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A test double of CUDA's driver library: devices whose memory is host memory apart, streams that are queues
 * worked off by a thread each, the default stream in order with all but those that do not block. Copies of
 * memory that is not registered keep their caller waiting, as CUDA's do. What CUDA leaves undefined or
 * refuses ends the process here: copies out of bounds or of freed memory, use without a context or after the
 * end, host memory where a device's is due. Faults come from the environment, read at the first call and by
 * double_cuda_reset (tests/double/cuda.h says which).
 * Threads: any, as CUDA's. Owns: devices, memory, streams, counters. Not here: what tests ask of it (cuda.h).
 */
#include "tests/double/cuda.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drivers/cuda/api.h"

#define API __attribute__((visibility("default")))

enum { DEVICES_MAX = 8, GUARD = 256, POISON = 0xdb, GUARD_BYTE = 0x5a, CONTEXTS_DEEP = 32, PAGE = 4096 };

static pthread_mutex_t lock =
    PTHREAD_MUTEX_INITIALIZER; /* protects the tables; not held while a stream works */

/* ---- what the environment asks for ---- */

static long number(const char *name, long usual)
{
    const char *s = getenv(name);
    return s && *s ? atol(s) : usual;
}

static struct {
    int devices, peers;
    size_t memory;
    long fail_first, fail_last, gone_at;
    _Atomic long delay_us, hang_at, hang_copy_at, spoil_at; /* read by streams, which may outlive a run */
    char fail_name[64];
} asked;
static atomic_long calls, named_calls, kernels, copies;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void read_environment(void)
{
    asked.devices = (int)number("ORR_DOUBLE_CUDA_DEVICES", 2);
    asked.peers = (int)number("ORR_DOUBLE_CUDA_PEERS", 1);
    asked.memory = (size_t)number("ORR_DOUBLE_CUDA_MEM_KB", 65536) << 10;
    asked.delay_us = number("ORR_DOUBLE_CUDA_DELAY_US", 0);
    asked.hang_at = number("ORR_DOUBLE_CUDA_HANG", 0);
    asked.hang_copy_at = number("ORR_DOUBLE_CUDA_HANG_COPY", 0);
    asked.spoil_at = number("ORR_DOUBLE_CUDA_SPOIL", 0);
    asked.gone_at = number("ORR_DOUBLE_CUDA_GONE", 0);
    asked.fail_first = asked.fail_last = 0;
    asked.fail_name[0] = '\0';
    const char *s = getenv("ORR_DOUBLE_CUDA_FAIL");
    if (!s || !*s) return;
    const char *colon = strchr(s, ':');
    if (colon) snprintf(asked.fail_name, sizeof asked.fail_name, "%.*s", (int)(colon - s), s);
    int n = sscanf(colon ? colon + 1 : s, "%ld-%ld", &asked.fail_first, &asked.fail_last);
    if (n == 1) asked.fail_last = asked.fail_first;
}

API void double_cuda_reset(void)
{
    pthread_mutex_lock(&lock);
    read_environment();
    atomic_store(&calls, 0);
    atomic_store(&named_calls, 0);
    atomic_store(&kernels, 0);
    atomic_store(&copies, 0);
    pthread_mutex_unlock(&lock);
}

API long double_cuda_calls(void)
{
    return atomic_load(&calls);
}

API int double_cuda_runs_cpu_functions(void)
{
    return number("ORR_DOUBLE_CUDA_RUN_CPU_FUNCS", 0) == 1;
}

__attribute__((format(printf, 1, 2), noreturn)) static void misuse(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fprintf(stderr, "double of CUDA: ");
    vfprintf(stderr, fmt, args);
    fprintf(stderr, "\n");
    va_end(args);
    abort();
}

static atomic_bool initialised;

/* Counts a call: what it is to fail with, or CUDA_OK. */
static int fault(const char *name)
{
    pthread_once(&once, read_environment);
    long n = atomic_fetch_add(&calls, 1) + 1;
    if (asked.gone_at && n >= asked.gone_at) return CUDA_GONE;
    if (strcmp(name, "cuInit") != 0 && !atomic_load(&initialised)) misuse("%s before cuInit", name);
    if (asked.fail_name[0]) {
        if (strcmp(name, asked.fail_name) != 0) return CUDA_OK;
        n = atomic_fetch_add(&named_calls, 1) + 1;
    }
    return asked.fail_first <= n && n <= asked.fail_last ? CUDA_UNKNOWN : CUDA_OK;
}
#define MAY_FAIL                                                                                             \
    do {                                                                                                     \
        int fault_ = fault(__func__);                                                                        \
        if (fault_ != CUDA_OK) return fault_;                                                                \
    } while (0)

/* ---- devices and contexts ---- */

struct CUctx_st {
    int device, retained;
    size_t used;
    int streams, events, blocks;
    unsigned peers;                       /* bit: it has access to that device's memory */
    struct CUstream_st *usual, *blocking; /* the default stream; those that are in order with it */
    atomic_bool spoilt;                   /* a kernel went wrong: all that is asked of it fails from now on */
};
static struct CUctx_st contexts[DEVICES_MAX];
static __thread struct CUctx_st *stack[CONTEXTS_DEEP];
static __thread int depth;

static struct CUctx_st *current(void)
{
    return depth ? stack[depth - 1] : NULL;
}

static struct CUctx_st *needed(const char *name)
{
    struct CUctx_st *c = current();
    if (!c) misuse("%s without a context", name);
    if (c->retained == 0) misuse("%s in a context that was given back", name);
    return c;
}

/* An error that stays: every later call in the context answers it. */
#define MAY_BE_SPOILT(context)                                                                               \
    do {                                                                                                     \
        if (atomic_load(&(context)->spoilt)) return CUDA_BAD_ADDRESS;                                        \
    } while (0)

API int cuInit(unsigned flags)
{
    MAY_FAIL;
    if (flags) misuse("cuInit: flags %u", flags);
    if (number("ORR_DOUBLE_CUDA_SAY", 0)) fprintf(stderr, "CUDA's double is used\n");
    if (asked.devices <= 0) return CUDA_NO_DEVICE;
    atomic_store(&initialised, true);
    return CUDA_OK;
}

API int cuGetErrorName(int error, const char **out)
{
    *out = error == CUDA_UNKNOWN     ? "CUDA_ERROR_UNKNOWN"
           : error == CUDA_NO_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
                                     : "CUDA_ERROR";
    return CUDA_OK;
}

API int cuGetErrorString(int error, const char **out)
{
    *out = error == CUDA_UNKNOWN ? "unknown error" : "an error of the double's";
    return CUDA_OK;
}

API int cuDeviceGetCount(int *out)
{
    MAY_FAIL;
    *out = asked.devices < DEVICES_MAX ? asked.devices : DEVICES_MAX;
    return CUDA_OK;
}

API int cuDeviceGet(cuda_device_handle *out, int n)
{
    MAY_FAIL;
    if (n < 0 || n >= asked.devices) return 101;
    *out = 100 + n; /* a handle, and no number */
    return CUDA_OK;
}

static int index_of(cuda_device_handle d)
{
    if (d < 100 || d >= 100 + DEVICES_MAX) misuse("%d is no device", d);
    return d - 100;
}

API int cuDeviceGetName(char *out, int bytes, cuda_device_handle d)
{
    MAY_FAIL;
    snprintf(out, (size_t)bytes, "Double %d", index_of(d));
    return CUDA_OK;
}

API int cuDeviceGetPCIBusId(char *out, int bytes, cuda_device_handle d)
{
    MAY_FAIL;
    snprintf(out, (size_t)bytes, "0000:%02X:00.0", 32 * (index_of(d) + 1)); /* in capitals, as CUDA has it */
    return CUDA_OK;
}

API int cuDeviceCanAccessPeer(int *out, cuda_device_handle d, cuda_device_handle to)
{
    MAY_FAIL;
    *out = asked.peers && index_of(d) != index_of(to);
    return CUDA_OK;
}

API int cuDevicePrimaryCtxRetain(cuda_context *out, cuda_device_handle d)
{
    MAY_FAIL;
    pthread_mutex_lock(&lock);
    struct CUctx_st *c = &contexts[index_of(d)];
    c->device = index_of(d);
    c->retained++;
    pthread_mutex_unlock(&lock);
    *out = c;
    return CUDA_OK;
}

API int cuDevicePrimaryCtxRelease_v2(cuda_device_handle d)
{
    MAY_FAIL;
    pthread_mutex_lock(&lock);
    struct CUctx_st *c = &contexts[index_of(d)];
    if (c->retained <= 0) misuse("the context of device %d is given back twice", c->device);
    if (--c->retained == 0) {
        c->peers = 0;
        atomic_store(&c->spoilt, false);
    }
    pthread_mutex_unlock(&lock);
    return CUDA_OK;
}

API int cuCtxGetCurrent(cuda_context *out)
{
    MAY_FAIL;
    *out = current();
    return CUDA_OK;
}

API int cuCtxSetCurrent(cuda_context c)
{
    MAY_FAIL;
    if (depth) depth--;
    if (c) stack[depth++] = c;
    return CUDA_OK;
}

API int cuCtxPushCurrent_v2(cuda_context c)
{
    MAY_FAIL;
    if (depth == CONTEXTS_DEEP) misuse("contexts are pushed and not popped");
    stack[depth++] = c;
    return CUDA_OK;
}

API int cuCtxPopCurrent_v2(cuda_context *out)
{
    if (depth == 0) misuse("a context is popped that nobody pushed");
    *out = stack[--depth];
    return CUDA_OK;
}

API int cuCtxEnablePeerAccess(cuda_context to, unsigned flags)
{
    MAY_FAIL;
    struct CUctx_st *c = needed(__func__);
    MAY_BE_SPOILT(c);
    if (flags || !to || !to->retained || to == c) misuse("cuCtxEnablePeerAccess: no context, or flags");
    if (!asked.peers) return 217;
    pthread_mutex_lock(&lock);
    bool already = c->peers >> to->device & 1;
    c->peers |= 1u << to->device;
    pthread_mutex_unlock(&lock);
    return already ? CUDA_PEER_ALREADY : CUDA_OK;
}

/* ---- memory ---- */

struct block {
    struct block *next;
    struct CUctx_st *context; /* NULL: registered host memory */
    uintptr_t at;
    size_t bytes;
    unsigned char *whole;
};
static struct block *blocks; /* [lock] */

static struct block *block_at_locked(uintptr_t at, size_t bytes)
{
    struct block *b = blocks;
    while (b && !(b->at < at + bytes && at < b->at + b->bytes)) b = b->next;
    return b;
}

static void add_locked(struct CUctx_st *c, uintptr_t at, size_t bytes, unsigned char *whole)
{
    struct block *b = malloc(sizeof *b);
    *b = (struct block){ .next = blocks, .context = c, .at = at, .bytes = bytes, .whole = whole };
    blocks = b;
}

static struct block *take_locked(uintptr_t at, bool host)
{
    struct block **to = &blocks;
    while (*to && !((*to)->at == at && !(*to)->context == host)) to = &(*to)->next;
    struct block *b = *to;
    if (b) *to = b->next;
    return b;
}

API int cuMemGetInfo_v2(size_t *free_out, size_t *total_out)
{
    MAY_FAIL;
    struct CUctx_st *c = needed(__func__);
    MAY_BE_SPOILT(c);
    pthread_mutex_lock(&lock);
    *total_out = asked.memory;
    *free_out = asked.memory - c->used;
    pthread_mutex_unlock(&lock);
    return CUDA_OK;
}

API int cuMemAlloc_v2(cuda_address *out, size_t bytes)
{
    MAY_FAIL;
    struct CUctx_st *c = needed(__func__);
    MAY_BE_SPOILT(c);
    if (bytes == 0) misuse("cuMemAlloc of nothing");
    pthread_mutex_lock(&lock);
    bool fits = bytes <= asked.memory - c->used;
    if (fits) c->used += bytes;
    pthread_mutex_unlock(&lock);
    if (!fits) return CUDA_NO_MEMORY;
    unsigned char *whole = aligned_alloc(GUARD, (bytes + 3 * GUARD - 1) / GUARD * GUARD);
    memset(whole, GUARD_BYTE, GUARD);
    memset(whole + GUARD, POISON, bytes);
    memset(whole + GUARD + bytes, GUARD_BYTE, GUARD);
    pthread_mutex_lock(&lock);
    c->blocks++;
    add_locked(c, (uintptr_t)(whole + GUARD), bytes, whole);
    pthread_mutex_unlock(&lock);
    *out = (uintptr_t)(whole + GUARD);
    return CUDA_OK;
}

API int cuMemFree_v2(cuda_address p)
{
    MAY_FAIL;
    struct CUctx_st *c = needed(__func__);
    MAY_BE_SPOILT(c);
    pthread_mutex_lock(&lock);
    struct block *b = take_locked((uintptr_t)p, false);
    if (!b || b->context != c)
        misuse("cuMemFree of %p, which is no memory of device %d", (void *)(uintptr_t)p, c->device);
    c->used -= b->bytes;
    c->blocks--;
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < GUARD; i++)
        if (b->whole[i] != GUARD_BYTE || b->whole[GUARD + b->bytes + (size_t)i] != GUARD_BYTE)
            misuse("something was written beside the %zu bytes at %p", b->bytes, (void *)b->at);
    memset(b->whole, POISON, b->bytes + 2 * GUARD);
    free(b->whole);
    free(b);
    return CUDA_OK;
}

API int cuMemHostRegister_v2(void *p, size_t bytes, unsigned flags)
{
    MAY_FAIL;
    MAY_BE_SPOILT(needed(__func__));
    if (flags != CUDA_REGISTER_PORTABLE || bytes == 0)
        misuse("cuMemHostRegister: %zu bytes, flags %u", bytes, flags);
    uintptr_t first = (uintptr_t)p / PAGE * PAGE, last = ((uintptr_t)p + bytes + PAGE - 1) / PAGE * PAGE;
    int r = CUDA_OK;
    pthread_mutex_lock(&lock);
    for (struct block *b = blocks; b; b = b->next)
        if (!b->context && b->at / PAGE * PAGE < last && first < (b->at + b->bytes + PAGE - 1) / PAGE * PAGE)
            r = CUDA_ALREADY_REGISTERED;
    if (r == CUDA_OK) add_locked(NULL, (uintptr_t)p, bytes, NULL);
    pthread_mutex_unlock(&lock);
    return r;
}

API int cuMemHostUnregister(void *p)
{
    MAY_FAIL;
    MAY_BE_SPOILT(needed(__func__));
    pthread_mutex_lock(&lock);
    struct block *b = take_locked((uintptr_t)p, true);
    pthread_mutex_unlock(&lock);
    free(b);
    return b ? CUDA_OK : CUDA_NOT_REGISTERED;
}

API int cuMemHostAlloc(void **out, size_t bytes, unsigned flags)
{
    MAY_FAIL;
    struct CUctx_st *c = needed(__func__);
    MAY_BE_SPOILT(c);
    if (flags != CUDA_ALLOC_PORTABLE || bytes == 0)
        misuse("cuMemHostAlloc: %zu bytes, flags %u", bytes, flags);
    unsigned char *p = aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE);
    pthread_mutex_lock(&lock);
    add_locked(NULL, (uintptr_t)p, bytes, p);
    c->blocks++;
    pthread_mutex_unlock(&lock);
    *out = p;
    return CUDA_OK;
}

API int cuMemFreeHost(void *p)
{
    MAY_FAIL;
    struct CUctx_st *c = needed(__func__);
    MAY_BE_SPOILT(c);
    pthread_mutex_lock(&lock);
    struct block *b = take_locked((uintptr_t)p, true);
    if (!b || !b->whole) misuse("cuMemFreeHost of %p, which is no such memory", p);
    c->blocks--;
    pthread_mutex_unlock(&lock);
    free(b->whole);
    free(b);
    return CUDA_OK;
}

API int cuPointerGetAttribute(void *out, int attribute, cuda_address p)
{
    MAY_FAIL;
    if (attribute != CUDA_POINTER_MEMORY) misuse("%s: attribute %d", __func__, attribute);
    pthread_mutex_lock(&lock);
    struct block *b = block_at_locked((uintptr_t)p, 1);
    if (b) *(unsigned *)out = b->context ? CUDA_DEVICE_MEMORY : CUDA_HOST_MEMORY;
    pthread_mutex_unlock(&lock);
    return b ? CUDA_OK : 1;
}

API size_t double_cuda_pinned(const void *p)
{
    size_t bytes = 0;
    pthread_mutex_lock(&lock);
    for (struct block *b = blocks; b; b = b->next)
        if (!b->context && (!p || (b->at <= (uintptr_t)p && (uintptr_t)p < b->at + b->bytes)))
            bytes += b->bytes;
    pthread_mutex_unlock(&lock);
    return bytes;
}

API int double_cuda_left(void)
{
    int left = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < DEVICES_MAX; i++)
        left += contexts[i].retained + contexts[i].streams + contexts[i].events + contexts[i].blocks;
    pthread_mutex_unlock(&lock);
    return left;
}

/* Whether bytes at an address may be used as memory of a device, or of the host (context NULL). */
static void check(const struct CUctx_st *c, uintptr_t at, size_t bytes, const char *when)
{
    pthread_mutex_lock(&lock);
    struct block *b = block_at_locked(at, bytes);
    if (c && (!b || b->context != c || at < b->at || at + bytes > b->at + b->bytes))
        misuse("%zu bytes at %p are not memory of device %d (%s)", bytes, (void *)at, c->device, when);
    while (!c && b && !b->context) b = NULL; /* registered */
    if (!c && b && b->context)
        misuse("%zu bytes at %p are memory of a device, and not the host's (%s)", bytes, (void *)at, when);
    pthread_mutex_unlock(&lock);
}

/* Whether copies of host memory go on behind the caller's back: it is registered, all of it. */
static bool is_registered(uintptr_t at, size_t bytes)
{
    bool all = false;
    pthread_mutex_lock(&lock);
    for (struct block *b = blocks; b && !all; b = b->next)
        all = !b->context && b->at <= at && at + bytes <= b->at + b->bytes;
    pthread_mutex_unlock(&lock);
    return all;
}

/* ---- streams ---- */

struct CUevent_st {
    struct CUctx_st *context;
    atomic_long recorded, reached, users;
    atomic_bool destroyed;
    struct CUevent_st *next; /* of those that are not destroyed [lock] */
};
static struct CUevent_st *events; /* so that what the driver may not destroy any more is no leak [lock] */

struct place {
    struct CUctx_st *context; /* NULL: the host */
    uintptr_t at;
    size_t row, plane;
};

struct item {
    struct item *next;
    enum { COPY, CALL, MARK, AWAIT } what;
    struct place src, dst;
    size_t bytes, rows, planes;
    void (*fn)(void *);
    void *data;
    struct CUevent_st *event;
    long number;
};

struct CUstream_st {
    struct CUctx_st *context;
    struct CUstream_st *next; /* of the context's that block [the tables' lock] */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    struct item *first, *last; /* [lock] */
    bool busy, ends;           /* [lock] */
    unsigned flags;
};

static void leave_event(struct CUevent_st *e)
{
    if (atomic_fetch_sub(&e->users, 1) == 1) free(e);
}

static void check_box(const struct place *p, const struct item *i, const char *when)
{
    for (size_t plane = 0; plane < i->planes; plane++)
        for (size_t row = 0; row < i->rows; row++)
            check(p->context, p->at + plane * p->plane + row * p->row, i->bytes, when);
}

static void copy_box(const struct item *i)
{
    check_box(&i->src, i, "when it is read");
    check_box(&i->dst, i, "when it is written");
    for (size_t plane = 0; plane < i->planes; plane++)
        for (size_t row = 0; row < i->rows; row++)
            memcpy((void *)(i->dst.at + plane * i->dst.plane + row * i->dst.row),
                   (const void *)(i->src.at + plane * i->src.plane + row * i->src.row), i->bytes);
}

/* Takes its time, or never ends; whether it goes wrong, and the context with it. */
static bool dawdle(bool kernel)
{
    static atomic_uint seed;
    long n = atomic_fetch_add(kernel ? &kernels : &copies, 1) + 1;
    long delay_us = asked.delay_us;
    if (delay_us > 0) {
        unsigned x = atomic_fetch_add(&seed, 0x9e3779b9u);
        x ^= x >> 15;
        x *= 0x85ebca6bu;
        usleep((x >> 8) % (unsigned)delay_us);
    }
    while (n == (kernel ? asked.hang_at : asked.hang_copy_at)) pause();
    return kernel && n == asked.spoil_at;
}

static pthread_mutex_t mark_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t mark_reached = PTHREAD_COND_INITIALIZER;

static void reach_mark(struct CUevent_st *e, long n)
{
    pthread_mutex_lock(&mark_lock);
    atomic_store(&e->reached, n);
    pthread_cond_broadcast(&mark_reached);
    pthread_mutex_unlock(&mark_lock);
}

static void await_mark(struct CUevent_st *e, long n)
{
    pthread_mutex_lock(&mark_lock);
    while (atomic_load(&e->reached) < n) pthread_cond_wait(&mark_reached, &mark_lock);
    pthread_mutex_unlock(&mark_lock);
}

static void work(struct CUctx_st *c, struct item *i)
{
    if ((i->what == COPY || i->what == CALL) && dawdle(i->what == CALL)) atomic_store(&c->spoilt, true);
    if (i->what == COPY && !atomic_load(&c->spoilt)) copy_box(i);
    if (i->what == CALL) i->fn(i->data);
    if (i->what == MARK) reach_mark(i->event, i->number);
    if (i->what == AWAIT) await_mark(i->event, i->number);
    if (i->event) leave_event(i->event);
}

static void *stream_thread(void *arg)
{
    struct CUstream_st *s = arg;
    pthread_mutex_lock(&s->lock);
    for (;;) {
        while (!s->first && !s->ends) pthread_cond_wait(&s->moved, &s->lock);
        struct item *i = s->first;
        if (!i) break;
        s->first = i->next;
        s->busy = true;
        pthread_mutex_unlock(&s->lock);
        work(s->context, i);
        free(i);
        pthread_mutex_lock(&s->lock);
        s->busy = false;
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

static struct CUstream_st *stream_new(struct CUctx_st *c, unsigned flags)
{
    struct CUstream_st *s = calloc(1, sizeof *s);
    s->context = c;
    s->flags = flags;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->moved, NULL);
    pthread_create(&s->thread, NULL, stream_thread, s);
    return s;
}

/* A stream of the calling thread's context, or its default stream for NULL. */
static struct CUstream_st *stream_of(cuda_stream s, const char *name)
{
    struct CUctx_st *c = needed(name);
    if (s && s->context != c)
        misuse("%s: a stream of device %d in the context of device %d", name, s->context->device, c->device);
    if (s && s->ends) misuse("%s: a stream that was destroyed", name);
    if (s) return s;
    pthread_mutex_lock(&lock);
    if (!c->usual) c->usual = stream_new(c, CUDA_STREAM_DEFAULT);
    pthread_mutex_unlock(&lock);
    return c->usual;
}

API int cuStreamCreate(cuda_stream *out, unsigned flags)
{
    MAY_FAIL;
    struct CUctx_st *c = needed(__func__);
    MAY_BE_SPOILT(c);
    if (flags > CUDA_STREAM_NON_BLOCKING) misuse("cuStreamCreate: flags %u", flags);
    struct CUstream_st *s = stream_new(c, flags);
    pthread_mutex_lock(&lock);
    c->streams++;
    if (flags == CUDA_STREAM_DEFAULT) {
        s->next = c->blocking;
        c->blocking = s;
    }
    pthread_mutex_unlock(&lock);
    *out = s;
    return CUDA_OK;
}

static struct CUstream_st *graves; /* destroyed streams, so that their use is noticed [lock] */

API int cuStreamDestroy_v2(cuda_stream s)
{
    MAY_FAIL;
    struct CUctx_st *c = stream_of(s, __func__)->context;
    pthread_mutex_lock(&lock);
    struct CUstream_st **to = &c->blocking;
    while (*to && *to != s) to = &(*to)->next;
    if (*to) *to = s->next;
    s->next = graves;
    graves = s;
    c->streams--;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&s->lock);
    s->ends = true;
    pthread_cond_signal(&s->moved);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    return CUDA_OK;
}

static void put_alone(struct CUstream_st *s, const struct item *like)
{
    struct item *i = malloc(sizeof *i);
    *i = *like;
    i->next = NULL;
    if (i->event) atomic_fetch_add(&i->event->users, 1);
    pthread_mutex_lock(&s->lock);
    if (s->first)
        s->last->next = i;
    else
        s->first = i;
    s->last = i;
    pthread_cond_signal(&s->moved);
    pthread_mutex_unlock(&s->lock);
}

/* What then is put into one stream comes after all that is in the other now. */
static void put_after(struct CUstream_st *s, struct CUstream_st *before)
{
    struct CUevent_st *e = calloc(1, sizeof *e);
    atomic_store(&e->users, 1);
    put_alone(before, &(struct item){ .what = MARK, .event = e, .number = 1 });
    put_alone(s, &(struct item){ .what = AWAIT, .event = e, .number = 1 });
    leave_event(e);
}

/* What the default stream is given comes after all that blocking streams have, and before what comes later.
 */
static void put(struct CUstream_st *s, const struct item *like)
{
    struct CUctx_st *c = s->context;
    if (s != c->usual) {
        put_alone(s, like);
        return;
    }
    pthread_mutex_lock(&lock);
    for (struct CUstream_st *b = c->blocking; b; b = b->next) put_after(s, b);
    put_alone(s, like);
    for (struct CUstream_st *b = c->blocking; b; b = b->next) put_after(b, s);
    pthread_mutex_unlock(&lock);
}

/* Waits until the stream has come as far as it is filled now. */
static void drain(struct CUstream_st *s)
{
    struct CUevent_st *e = calloc(1, sizeof *e);
    atomic_store(&e->users, 1);
    put_alone(s, &(struct item){ .what = MARK, .event = e, .number = 1 });
    await_mark(e, 1);
    leave_event(e);
}

API int cuStreamQuery(cuda_stream stream)
{
    MAY_FAIL;
    struct CUstream_st *s = stream_of(stream, __func__);
    MAY_BE_SPOILT(s->context);
    pthread_mutex_lock(&s->lock);
    bool idle = !s->first && !s->busy;
    pthread_mutex_unlock(&s->lock);
    return idle ? CUDA_OK : CUDA_NOT_READY;
}

API int cuLaunchHostFunc(cuda_stream stream, void (*fn)(void *), void *data)
{
    MAY_FAIL;
    MAY_BE_SPOILT(needed(__func__));
    put(stream_of(stream, __func__), &(struct item){ .what = CALL, .fn = fn, .data = data });
    return CUDA_OK;
}

/* ---- events ---- */

API int cuEventCreate(cuda_event *out, unsigned flags)
{
    MAY_FAIL;
    struct CUctx_st *c = needed(__func__);
    MAY_BE_SPOILT(c);
    if (flags != CUDA_EVENT_NO_TIMING) misuse("cuEventCreate: flags %u", flags);
    struct CUevent_st *e = calloc(1, sizeof *e);
    e->context = c;
    atomic_store(&e->users, 1);
    pthread_mutex_lock(&lock);
    c->events++;
    e->next = events;
    events = e;
    pthread_mutex_unlock(&lock);
    *out = e;
    return CUDA_OK;
}

API int cuEventDestroy_v2(cuda_event e)
{
    MAY_FAIL;
    if (atomic_exchange(&e->destroyed, true)) misuse("%s: an event that was destroyed", __func__);
    pthread_mutex_lock(&lock);
    e->context->events--;
    struct CUevent_st **to = &events;
    while (*to != e) to = &(*to)->next;
    *to = e->next;
    pthread_mutex_unlock(&lock);
    leave_event(e);
    return CUDA_OK;
}

API int cuEventRecord(cuda_event e, cuda_stream stream)
{
    MAY_FAIL;
    struct CUstream_st *s = stream_of(stream, __func__);
    MAY_BE_SPOILT(s->context);
    if (e->context != s->context) misuse("cuEventRecord: an event and a stream of two contexts");
    if (atomic_load(&e->destroyed)) misuse("%s: an event that was destroyed", __func__);
    put(s, &(struct item){ .what = MARK, .event = e, .number = atomic_fetch_add(&e->recorded, 1) + 1 });
    return CUDA_OK;
}

API int cuEventQuery(cuda_event e)
{
    MAY_FAIL;
    MAY_BE_SPOILT(e->context);
    if (atomic_load(&e->destroyed)) misuse("%s: an event that was destroyed", __func__);
    if (atomic_load(&e->recorded) == 0) misuse("%s: an event that was never recorded", __func__);
    return atomic_load(&e->reached) == atomic_load(&e->recorded) ? CUDA_OK : CUDA_NOT_READY;
}

/* ---- copies ---- */

static int copy(cuda_stream stream, struct item i, const char *name)
{
    struct CUstream_st *s = stream_of(stream, name);
    MAY_BE_SPOILT(s->context);
    i.what = COPY;
    check_box(&i.src, &i, name);
    check_box(&i.dst, &i, name);
    put(s, &i);
    const struct place *host = !i.src.context ? &i.src : !i.dst.context ? &i.dst : NULL;
    size_t reach = host ? (i.planes - 1) * host->plane + (i.rows - 1) * host->row + i.bytes : 0;
    if (host && !is_registered(host->at, reach)) drain(s);
    return CUDA_OK;
}

static int copy_row(cuda_stream s, struct CUctx_st *to, uintptr_t dst, struct CUctx_st *from, uintptr_t src,
                    size_t bytes, const char *name)
{
    return copy(
        s,
        (struct item){
            .src = { from, src, 0, 0 }, .dst = { to, dst, 0, 0 }, .bytes = bytes, .rows = 1, .planes = 1 },
        name);
}

API int cuMemcpyHtoDAsync_v2(cuda_address dst, const void *src, size_t bytes, cuda_stream s)
{
    MAY_FAIL;
    return copy_row(s, needed(__func__), (uintptr_t)dst, NULL, (uintptr_t)src, bytes, __func__);
}

API int cuMemcpyDtoHAsync_v2(void *dst, cuda_address src, size_t bytes, cuda_stream s)
{
    MAY_FAIL;
    return copy_row(s, NULL, (uintptr_t)dst, needed(__func__), (uintptr_t)src, bytes, __func__);
}

API int cuMemcpyDtoDAsync_v2(cuda_address dst, cuda_address src, size_t bytes, cuda_stream s)
{
    MAY_FAIL;
    struct CUctx_st *c = needed(__func__);
    return copy_row(s, c, (uintptr_t)dst, c, (uintptr_t)src, bytes, __func__);
}

API int cuMemcpyPeerAsync(cuda_address dst, cuda_context to, cuda_address src, cuda_context from,
                          size_t bytes, cuda_stream s)
{
    MAY_FAIL;
    if (!to || !from || !to->retained || !from->retained) misuse("%s: without a context", __func__);
    MAY_BE_SPOILT(to);
    MAY_BE_SPOILT(from);
    return copy_row(s, to, (uintptr_t)dst, from, (uintptr_t)src, bytes, __func__);
}

static struct place place_of(const struct cuda_end *e, const struct cuda_copy3d *c, struct CUctx_st *context)
{
    if (e->x_bytes || e->y || e->z || e->level || e->array)
        misuse("a copy of a box with an offset or an array");
    if (e->memory != CUDA_HOST_MEMORY && e->memory != CUDA_DEVICE_MEMORY)
        misuse("a copy of a box: memory %u", e->memory);
    if (e->pitch < c->width_bytes || (c->depth > 1 && e->height < c->height))
        misuse("a copy of a box whose rows overlap");
    if (c->width_bytes == 0 || c->height == 0 || c->depth == 0) misuse("a copy of an empty box");
    return (struct place){ .context = e->memory == CUDA_DEVICE_MEMORY ? context : NULL,
                           .at = e->memory == CUDA_DEVICE_MEMORY ? (uintptr_t)e->device : (uintptr_t)e->host,
                           .row = e->pitch,
                           .plane = e->pitch * e->height };
}

static int copy3d(const struct cuda_copy3d *c, struct CUctx_st *from, struct CUctx_st *to, cuda_stream s,
                  const char *name)
{
    return copy(s,
                (struct item){ .src = place_of(&c->src, c, from),
                               .dst = place_of(&c->dst, c, to),
                               .bytes = c->width_bytes,
                               .rows = c->height,
                               .planes = c->depth },
                name);
}

API int cuMemcpy3DAsync_v2(const struct cuda_copy3d *c, cuda_stream s)
{
    MAY_FAIL;
    struct CUctx_st *context = needed(__func__);
    if (c->src.context || c->dst.context) misuse("%s: reserved fields are set", __func__);
    return copy3d(c, context, context, s, __func__);
}

API int cuMemcpy3DPeerAsync(const struct cuda_copy3d *c, cuda_stream s)
{
    MAY_FAIL;
    if (!c->src.context || !c->dst.context) misuse("%s: without a context", __func__);
    return copy3d(c, c->src.context, c->dst.context, s, __func__);
}
