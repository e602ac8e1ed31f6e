/* SPDX-License-Identifier: BSD-3-Clause */
/* dense.c: the methods of all interfaces of dense arrays, over their common view.
 * Threads: any, as the table says. Owns: nothing. Not here: where each structure keeps its sizes (vector.c,
 * matrix.c, ...).
 *
 * Copying, packing and unpacking are one operation: a copy between two layouts of one shape, either of which
 * may be packed. Leading dimensions without gaps in both layouts are merged first, so that most copies are
 * one run of bytes. */
#include "core/data/interfaces/dense.h"
#include "core/data/interfaces/pack.h"

#include <errno.h>
#include <string.h>

#include <starpu_hash.h>
#include <starpu_task.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/data/coherency.h"
#include "core/data/data.h"
#include "core/mem/node.h"

/* One line for each interface, so that none is forgotten and none is there twice. */
#define DENSE(ID, name, phrase) +1
#define ARRAYS DENSE
#define OTHER DENSE
_Static_assert(0
#include "core/data/interfaces/interfaces.def"
                   == STARPU_MAX_INTERFACE_ID,
               "interfaces.def has a line for each number of enum starpu_data_interface_id");
#undef DENSE
#undef ARRAYS
#undef OTHER

const struct orr_dense_kind *const orr_dense_kinds[STARPU_MAX_INTERFACE_ID] = {
#define DENSE(ID, name, phrase) [STARPU_##ID##_INTERFACE_ID] = &orr_##name##_kind,
#define ARRAYS(ID, name, phrase)
#define OTHER(ID, name, phrase)
#include "core/data/interfaces/interfaces.def"
#undef DENSE
#undef ARRAYS
#undef OTHER
};

const char *const orr_interface_phrases[STARPU_MAX_INTERFACE_ID] = {
#define DENSE(ID, name, phrase) [STARPU_##ID##_INTERFACE_ID] = phrase,
#define ARRAYS DENSE
#define OTHER DENSE
#include "core/data/interfaces/interfaces.def"
#undef DENSE
#undef ARRAYS
#undef OTHER
};

const struct orr_dense_kind *orr_dense_kind_of(const void *itf)
{
    int id = (int)((const struct orr_dense_head *)itf)->id;
    return id >= 0 && id < STARPU_MAX_INTERFACE_ID ? orr_dense_kinds[id] : NULL;
}

static void set(void *itf, uint16_t at, size_t value)
{
    *(size_t *)((char *)itf + at) = value;
}

/* What stays as it was registered: what asks for size and footprint does so while memory in another place is
 * allocated, which sets the leading dimensions. */
static void read_shape(const void *itf, struct orr_dense_view *v)
{
    const struct orr_dense_kind *k = orr_dense_kind_of(itf);
    const struct starpu_ndim_interface *n = itf;
    v->elemsize = orr_dense_member(itf, k->elemsize);
    v->ndim = k->by_pointer ? n->ndim : k->ndim;
    for (size_t i = 0; i < v->ndim; i++)
        v->nn[i] = k->by_pointer ? n->nn[i] : orr_dense_member(itf, k->nn[i]);
}

void orr_dense_read(const void *itf, struct orr_dense_view *v)
{
    const struct orr_dense_kind *k = orr_dense_kind_of(itf);
    const struct starpu_ndim_interface *n = itf;
    read_shape(itf, v);
    v->ld[0] = k->by_pointer && n->ndim > 0 && n->ldn[0] > 0 ? n->ldn[0] : 1;
    for (size_t i = 1; i < v->ndim; i++)
        v->ld[i] = k->by_pointer ? n->ldn[i] : orr_dense_member(itf, k->ld[i]);
}

/* The leading dimensions alone. */
static void write_ld(void *itf, const struct orr_dense_view *v)
{
    const struct orr_dense_kind *k = orr_dense_kind_of(itf);
    struct starpu_ndim_interface *n = itf;
    for (size_t i = 0; i < v->ndim; i++)
        if (k->by_pointer)
            n->ldn[i] = v->ld[i];
        else if (i > 0)
            set(itf, k->ld[i], v->ld[i]);
}

static void write_nn(void *itf, const struct orr_dense_view *v)
{
    const struct orr_dense_kind *k = orr_dense_kind_of(itf);
    struct starpu_ndim_interface *n = itf;
    for (size_t i = 0; i < v->ndim; i++)
        if (k->by_pointer)
            n->nn[i] = v->nn[i];
        else
            set(itf, k->nn[i], v->nn[i]);
}

/* Points an ndim structure at the room behind it. */
static void own_arrays(void *itf)
{
    struct starpu_ndim_interface *n = itf;
    n->nn = (size_t *)(n + 1);
    n->ldn = n->nn + ORR_DENSE_MAX_DIMS;
}

void orr_dense_write(void *itf, const struct orr_dense_view *v)
{
    const struct orr_dense_kind *k = orr_dense_kind_of(itf);
    if (k->by_pointer) {
        own_arrays(itf);
        ((struct starpu_ndim_interface *)itf)->ndim = v->ndim;
    }
    set(itf, k->elemsize, v->elemsize);
    write_nn(itf, v);
    write_ld(itf, v);
    if (k->allocsize) set(itf, k->allocsize, orr_dense_bytes(v));
}

void orr_dense_set_base(void *itf, size_t base)
{
    const struct orr_dense_kind *k = orr_dense_kind_of(itf);
    if (k->base) set(itf, k->base, base);
}

void orr_dense_set_shape(void *itf, const uint64_t *nn)
{
    struct orr_dense_view v;
    orr_dense_read(itf, &v);
    for (size_t i = 0; i < v.ndim; i++) v.nn[i] = nn[i];
    write_nn(itf, &v);
}

size_t orr_dense_bytes(const struct orr_dense_view *v)
{
    size_t bytes = v->elemsize;
    for (size_t i = 0; i < v->ndim; i++) bytes *= v->nn[i];
    return bytes;
}

void orr_dense_pack(struct orr_dense_view *v)
{
    v->ld[0] = 1;
    for (size_t i = 1; i < v->ndim; i++) v->ld[i] = v->ld[i - 1] * v->nn[i - 1];
}

/* Bytes from the first element to the end of the last. */
static size_t span_bytes(const struct orr_dense_view *v)
{
    size_t last = 0;
    for (size_t i = 0; i < v->ndim; i++) {
        if (v->nn[i] == 0) return 0;
        last += (v->nn[i] - 1) * v->ld[i];
    }
    return (last + 1) * v->elemsize;
}

/* Bytes of a buffer that the runtime allocates for it. Does not follow pointers: cached structures outlive
 * their handle. */
static size_t alloc_bytes(const void *itf)
{
    const struct orr_dense_kind *k = orr_dense_kind_of(itf);
    struct orr_dense_view v;
    if (k->allocsize) return orr_dense_member(itf, k->allocsize);
    read_shape(itf, &v);
    return orr_dense_bytes(&v);
}

/* ---- registration ---- */

/* Whether the packed array and, when it is strided in memory, its span fit into a size_t. */
static bool sizes_fit(const struct orr_dense_view *v, bool strided)
{
    size_t bytes = v->elemsize, last = 0, part;
    for (size_t i = 0; i < v->ndim; i++) {
        if (v->nn[i] == 0) return true;
        if (__builtin_mul_overflow(bytes, v->nn[i], &bytes)) return false;
        if (strided && (__builtin_mul_overflow(v->nn[i] - 1, v->ld[i], &part) ||
                        __builtin_add_overflow(last, part, &last)))
            return false;
    }
    return bytes <= PTRDIFF_MAX &&
           (!strided || (!__builtin_mul_overflow(last, v->elemsize, &last) && last <= PTRDIFF_MAX));
}

/* Writes "AxBxC" into text. */
static void sizes_text(const struct orr_dense_view *v, char *text, size_t bytes)
{
    size_t at = 0;
    text[0] = '\0';
    for (size_t i = 0; i < v->ndim && at < bytes; i++)
        at += (size_t)snprintf(text + at, bytes - at, "%s%zu", i ? "x" : "", v->nn[i]);
    if (v->ndim == 0) snprintf(text, bytes, "1");
}

/* Why a structure cannot be registered is said here, once. */
static bool check_sizes(const void *itf, int home_node, const char *fn)
{
    const struct orr_dense_kind *k = orr_dense_kind_of(itf);
    struct orr_dense_view v;
    char sizes[128];
    orr_dense_read(itf, &v);
    sizes_text(&v, sizes, sizeof sizes);
    bool in_place = home_node >= 0 && ((const struct orr_dense_head *)itf)->ptr;
    if (!sizes_fit(&v, in_place)) {
        orr_error(
            "%s: a %s of %s elements of %zu bytes%s is larger than the address space; check the sizes given",
            fn, k->name, sizes, v.elemsize, in_place && v.ndim > 1 ? ", with its leading dimensions," : "");
        return false;
    }
    for (size_t i = 1; in_place && i < v.ndim; i++)
        if (v.nn[i] > 1 && v.ld[i] < v.nn[0]) {
            orr_error("%s: leading dimension %zu is %zu, less than the %zu elements that lie in a row", fn, i,
                      v.ld[i], v.nn[0]);
            return false;
        }
    if (k->allocsize && orr_dense_member(itf, k->allocsize) > PTRDIFF_MAX) {
        orr_error("%s: allocsize is %zu bytes, larger than the address space; check the sizes given", fn,
                  orr_dense_member(itf, k->allocsize));
        return false;
    }
    if (k->allocsize && orr_dense_member(itf, k->allocsize) < orr_dense_bytes(&v)) {
        orr_error("%s: allocsize is %zu bytes, but %s elements of %zu bytes need %zu", fn,
                  orr_dense_member(itf, k->allocsize), sizes, v.elemsize, orr_dense_bytes(&v));
        return false;
    }
    return true;
}

void orr_dense_data_register(starpu_data_handle_t *handle_out, int home_node, void *itf,
                             struct starpu_data_interface_ops *ops, const char *fn)
{
    if (handle_out && !check_sizes(itf, home_node, fn)) {
        *handle_out = NULL;
        return;
    }
    starpu_data_register(handle_out, home_node, itf, ops);
}

void orr_dense_register_handle(starpu_data_handle_t h, unsigned home_node, void *itf)
{
    const struct orr_dense_kind *k = orr_dense_kind_of(itf);
    struct orr_dense_view given, packed;
    orr_dense_read(itf, &given);
    packed = given;
    orr_dense_pack(&packed);
    size_t plain = k->by_pointer ? sizeof(struct starpu_ndim_interface) : h->ops->interface_size;
    for (unsigned node = 0; node < h->nnodes; node++) {
        struct orr_dense_head *to = orr_data_interface(h, node);
        bool home = node == home_node;
        size_t allocsize = k->allocsize ? orr_dense_member(itf, k->allocsize) : 0;
        memcpy(to, itf, plain);
        orr_dense_write(to, home ? &given : &packed);
        if (k->allocsize) set(to, k->allocsize, allocsize);
        if (home) continue;
        to->ptr = to->dev_handle = 0;
        to->offset = 0;
    }
}

void orr_dense_ptr_register(starpu_data_handle_t h, unsigned node, uintptr_t ptr, uintptr_t dev_handle,
                            size_t offset, const size_t *ld, const struct orr_dense_kind *kind,
                            const char *fn)
{
    struct orr_dense_head *head = orr_data_interface(h, node);
    struct orr_dense_view v;
    if (!head || orr_dense_kind_of(head) != kind) {
        orr_error("%s: %s", fn,
                  !h      ? "the handle is NULL"
                  : !head ? "there is no such memory node"
                          : "the data has another interface");
        return;
    }
    orr_dense_read(head, &v);
    for (size_t i = 1; ld && i < v.ndim; i++) v.ld[i] = ld[i];
    write_ld(head, &v);
    head->ptr = ptr;
    head->dev_handle = dev_handle;
    head->offset = offset;
    starpu_data_ptr_register(h, node);
}

const void *orr_interface_get(starpu_data_handle_t h, enum starpu_data_interface_id id, bool local,
                              const char *fn)
{
    static const max_align_t zeros[16];
#define DENSE(ID, name, phrase)                                                                              \
    _Static_assert(sizeof zeros >= sizeof(struct starpu_##name##_interface),                                 \
                   "zeros stands for any interface");
#define ARRAYS DENSE
#define OTHER(ID, name, phrase)
#include "core/data/interfaces/interfaces.def"
#undef DENSE
#undef ARRAYS
#undef OTHER
    if (!orr_data_valid(h) || h->ops->interfaceid != id) {
        orr_error("%s: %s", fn,
                  !h                   ? "the handle is NULL"
                  : !orr_data_valid(h) ? "the handle is not a registered one"
                                       : "the data has another interface than this function reads");
        return zeros;
    }
    if (!local) return orr_data_interface(h, orr_node_home());
    return starpu_data_get_interface_on_node(h, orr_data_place(h, starpu_worker_get_local_memory_node()));
}

/* ---- memory ---- */

starpu_ssize_t orr_dense_allocate(void *itf, unsigned node)
{
    struct orr_dense_head *head = itf;
    struct orr_dense_view v;
    size_t bytes = alloc_bytes(itf);
    uintptr_t addr = starpu_malloc_on_node(node, bytes ? bytes : 1);
    if (!addr) return -ENOMEM;
    head->ptr = head->dev_handle = addr;
    head->offset = 0;
    orr_dense_read(itf, &v);
    orr_dense_pack(&v);
    write_ld(itf, &v);
    return (starpu_ssize_t)bytes;
}

void orr_dense_free(void *itf, unsigned node)
{
    struct orr_dense_head *head = itf;
    size_t bytes = alloc_bytes(itf);
    starpu_free_on_node(node, head->dev_handle, bytes ? bytes : 1);
    head->ptr = head->dev_handle = 0;
}

/* ---- mapping: the device sees the elements where main memory has them, gaps and all ---- */

int orr_dense_map(void *from, unsigned from_node, void *to, unsigned to_node)
{
    struct orr_dense_head *src = from, *dst = to;
    struct orr_dense_view v;
    int r;
    orr_dense_read(from, &v);
    uintptr_t there =
        starpu_interface_map(src->dev_handle, src->offset, from_node, to_node, span_bytes(&v), &r);
    if (r) return r;
    dst->ptr = dst->dev_handle = there;
    dst->offset = 0;
    write_ld(to, &v);
    return 0;
}

int orr_dense_unmap(void *from, unsigned from_node, void *to, unsigned to_node)
{
    struct orr_dense_head *src = from, *dst = to;
    struct orr_dense_view v;
    orr_dense_read(to, &v);
    int r = starpu_interface_unmap(src->dev_handle, src->offset, from_node, dst->dev_handle, to_node,
                                   span_bytes(&v));
    dst->ptr = dst->dev_handle = 0;
    return r;
}

int orr_dense_update_map(void *from, unsigned from_node, void *to, unsigned to_node)
{
    struct orr_dense_head *src = from, *dst = to;
    struct orr_dense_view v;
    orr_dense_read(from, &v);
    return starpu_interface_update_map(src->dev_handle, src->offset, from_node, dst->dev_handle, dst->offset,
                                       to_node, span_bytes(&v));
}

/* Moves the addresses; the layout is packed, as of all memory of ours. */
void orr_dense_cache(void *cached, void *itf, unsigned node)
{
    (void)node;
    struct orr_dense_head *to = cached, *from = itf;
    to->ptr = from->ptr;
    to->dev_handle = from->dev_handle;
    to->offset = from->offset;
    from->ptr = from->dev_handle = 0;
    from->offset = 0;
}

void orr_dense_reuse(void *itf, const void *cached, unsigned node)
{
    (void)node;
    struct orr_dense_head *to = itf;
    const struct orr_dense_head *from = cached;
    struct orr_dense_view v;
    to->ptr = from->ptr;
    to->dev_handle = from->dev_handle;
    to->offset = from->offset;
    orr_dense_read(itf, &v);
    orr_dense_pack(&v);
    write_ld(itf, &v);
}

void *orr_dense_to_pointer(void *itf, unsigned node)
{
    (void)node;
    return (void *)((struct orr_dense_head *)itf)->ptr;
}

int orr_dense_pointer_is_inside(void *itf, unsigned node, void *ptr)
{
    (void)node;
    struct orr_dense_view v;
    uintptr_t begin = ((struct orr_dense_head *)itf)->ptr;
    orr_dense_read(itf, &v);
    return begin && (uintptr_t)ptr >= begin && (uintptr_t)ptr - begin < span_bytes(&v);
}

/* ---- shape ---- */

static void *main_interface(starpu_data_handle_t h)
{
    return orr_data_interface(h, orr_node_home());
}

size_t orr_dense_get_size(starpu_data_handle_t h)
{
    struct orr_dense_view v;
    read_shape(main_interface(h), &v);
    return orr_dense_bytes(&v);
}

size_t orr_dense_get_alloc_size(starpu_data_handle_t h)
{
    return alloc_bytes(main_interface(h));
}

starpu_ssize_t orr_dense_get_max_size(starpu_data_handle_t h)
{
    return (starpu_ssize_t)alloc_bytes(main_interface(h));
}

uint32_t orr_dense_footprint(starpu_data_handle_t h)
{
    struct orr_dense_view v;
    read_shape(main_interface(h), &v);
    uint32_t sum = starpu_hash_crc32c_be((uint32_t)h->ops->interfaceid, 0);
    sum = starpu_hash_crc32c_be_n(&v.elemsize, sizeof v.elemsize, sum);
    return starpu_hash_crc32c_be_n(v.nn, v.ndim * sizeof v.nn[0], sum);
}

uint32_t orr_dense_alloc_footprint(starpu_data_handle_t h)
{
    size_t bytes = alloc_bytes(main_interface(h));
    return starpu_hash_crc32c_be_n(&bytes, sizeof bytes, (uint32_t)h->ops->interfaceid);
}

int orr_dense_compare(void *a, void *b)
{
    struct orr_dense_view va, vb;
    if (orr_dense_kind_of(a) != orr_dense_kind_of(b)) return 0;
    orr_dense_read(a, &va);
    orr_dense_read(b, &vb);
    return va.ndim == vb.ndim && va.elemsize == vb.elemsize &&
           memcmp(va.nn, vb.nn, va.ndim * sizeof va.nn[0]) == 0;
}

int orr_dense_alloc_compare(void *a, void *b)
{
    return orr_dense_kind_of(a) == orr_dense_kind_of(b) && alloc_bytes(a) == alloc_bytes(b);
}

starpu_ssize_t orr_dense_describe(void *itf, char *buf, size_t size)
{
    struct orr_dense_view v;
    char sizes[32 * ORR_DENSE_MAX_DIMS];
    orr_dense_read(itf, &v);
    sizes_text(&v, sizes, sizeof sizes);
    return snprintf(buf, size, "%c%sx%zu", orr_dense_kind_of(itf)->letter, sizes, v.elemsize);
}

void orr_dense_display(starpu_data_handle_t h, FILE *f)
{
    char text[32 * ORR_DENSE_MAX_DIMS];
    orr_dense_describe(main_interface(h), text, sizeof text);
    fprintf(f, "%s\t", text);
}

/* ---- bytes ---- */

/* Where the elements of a layout are. */
struct place {
    uintptr_t addr;
    size_t offset;
    unsigned node;
};

static struct place place_of(const void *itf, unsigned node)
{
    const struct orr_dense_head *head = itf;
    return (struct place){ head->dev_handle, head->offset, node };
}

/* Makes room in front for a dimension of one element. */
static void add_run(struct orr_dense_view *v)
{
    memmove(v->nn + 1, v->nn, v->ndim * sizeof v->nn[0]);
    memmove(v->ld + 1, v->ld, v->ndim * sizeof v->ld[0]);
    v->nn[0] = v->ld[0] = 1;
    v->ndim++;
}

/* Merges the leading dimensions that have no gaps in either layout, and those of one element. */
static void merge(struct orr_dense_view *a, struct orr_dense_view *b)
{
    size_t kept = 0;
    size_t run = 1; /* elements in a row in both */
    if (a->ndim > 0 && (a->ld[0] != 1 || b->ld[0] != 1)) {
        add_run(a);
        add_run(b);
    }
    for (size_t i = 0; i < a->ndim; i++) {
        if (a->nn[i] == 1) continue;
        if (kept == 0 && a->ld[i] == run && b->ld[i] == run) {
            run *= a->nn[i];
            continue;
        }
        if (kept == 0) kept = 1; /* place 0 is the run */
        a->nn[kept] = a->nn[i];
        a->ld[kept] = a->ld[i];
        b->ld[kept++] = b->ld[i];
    }
    a->nn[0] = run;
    a->ld[0] = b->ld[0] = 1;
    a->ndim = b->ndim = kept ? kept : 1;
}

/* Copies the elements of one layout into another of the same shape. 0, or -EAGAIN when it goes on behind
 * async_data. */
static int copy(struct orr_dense_view *from, struct place src, struct orr_dense_view *to, struct place dst,
                void *async_data)
{
    if (orr_dense_bytes(from) == 0) return 0;
    merge(from, to);
    size_t run = from->nn[0] * from->elemsize;
    if (from->ndim == 1)
        return starpu_interface_copy(src.addr, src.offset, src.node, dst.addr, dst.offset, dst.node, run,
                                     async_data);
    if (from->ndim == 2)
        return starpu_interface_copy2d(src.addr, src.offset, src.node, dst.addr, dst.offset, dst.node, run,
                                       from->nn[1], from->ld[1] * from->elemsize, to->ld[1] * from->elemsize,
                                       async_data);
    return starpu_interface_copynd(src.addr, src.offset, src.node, dst.addr, dst.offset, dst.node,
                                   from->elemsize, from->ndim, from->nn, from->ld, to->ld, async_data);
}

static bool is_packed(const struct orr_dense_view *v)
{
    bool packed = v->ld[0] == 1;
    for (size_t i = 1; i < v->ndim; i++) packed &= v->ld[i] == v->ld[i - 1] * v->nn[i - 1];
    return packed;
}

/* Whether the layout has each element once, within so many bytes. */
static bool lies_within(const struct orr_dense_view *v, size_t bytes)
{
    bool ordered = true;
    for (size_t i = 1; i < v->ndim; i++) ordered &= v->ld[i] >= v->ld[i - 1] * v->nn[i - 1];
    return ordered && sizes_fit(v, true) && span_bytes(v) <= bytes;
}

static int shape_refused(const struct orr_dense_view *from, const struct orr_dense_view *to, size_t room,
                         const char *name)
{
    char sizes[128], own[128];
    sizes_text(from, sizes, sizeof sizes);
    sizes_text(to, own, sizeof own);
    orr_error(
        "copying %s elements of %zu bytes into a %s of %s elements of %zu bytes: they do not fit into its "
        "%zu bytes; register it with a larger allocsize, or without leading dimensions of its own",
        sizes, from->elemsize, name, own, to->elemsize, room);
    return -EINVAL;
}

/* A task may have changed the shape within allocsize: the copy takes the shape of its source. It keeps its
 * leading dimensions where all elements lie in its buffer then, or else has none if it had none: what is
 * between the elements of the program's own layout is not ours. */
static int follow_shape(const struct orr_dense_view *from, void *dst_itf, struct orr_dense_view *to)
{
    const struct orr_dense_kind *k = orr_dense_kind_of(dst_itf);
    bool same_ndim = from->ndim == to->ndim, same_elements = from->elemsize == to->elemsize;
    if (same_ndim && same_elements && memcmp(from->nn, to->nn, from->ndim * sizeof from->nn[0]) == 0)
        return 0;
    size_t room = span_bytes(to), allocated = alloc_bytes(dst_itf);
    if (room < allocated) room = allocated;
    struct orr_dense_view next = *to;
    memcpy(next.nn, from->nn, from->ndim * sizeof from->nn[0]);
    next.elemsize = from->elemsize;
    if (!same_elements || !lies_within(&next, room)) {
        if (!is_packed(to)) return shape_refused(from, to, room, k->name);
        orr_dense_pack(&next);
    }
    if (!same_ndim || !lies_within(&next, room)) return shape_refused(from, to, room, k->name);
    *to = next;
    write_nn(dst_itf, to);
    write_ld(dst_itf, to);
    set(dst_itf, k->elemsize, to->elemsize);
    return 0;
}

static int any_to_any(void *src, unsigned src_node, void *dst, unsigned dst_node, void *async_data)
{
    struct orr_dense_view from, to;
    orr_dense_read(src, &from);
    orr_dense_read(dst, &to);
    int r = follow_shape(&from, dst, &to);
    if (r) return r;
    return copy(&from, place_of(src, src_node), &to, place_of(dst, dst_node), async_data);
}

bool orr_dense_may_take(const void *itf, const void *other)
{
    struct orr_dense_view to, from;
    orr_dense_read(itf, &to);
    orr_dense_read(other, &from);
    return to.ndim == from.ndim && is_packed(&to);
}

const struct starpu_data_copy_methods orr_dense_copy_methods = { .any_to_any = any_to_any };

int orr_dense_pack_data(starpu_data_handle_t h, unsigned node, void **ptr, starpu_ssize_t *count)
{
    void *itf = orr_data_interface(h, node);
    struct orr_dense_view from, to;
    orr_dense_read(itf, &from);
    size_t bytes = orr_dense_bytes(&from);
    *count = (starpu_ssize_t)bytes;
    if (!ptr) return 0;
    to = from;
    orr_dense_pack(&to);
    uintptr_t buffer = starpu_malloc_on_node_flags(node, bytes, 0);
    if (!buffer && bytes > 0) return -ENOMEM;
    return orr_pack_end(copy(&from, place_of(itf, node), &to, (struct place){ buffer, 0, node }, NULL), node,
                        buffer, bytes, ptr);
}

int orr_dense_peek_data(starpu_data_handle_t h, unsigned node, void *ptr, size_t count)
{
    void *itf = orr_data_interface(h, node);
    struct orr_dense_view from, to;
    orr_dense_read(itf, &to);
    if (count != orr_dense_bytes(&to)) {
        orr_error("unpacking a %s: %zu bytes were given, but it takes %zu", orr_dense_kind_of(itf)->name,
                  count, orr_dense_bytes(&to));
        return -EINVAL;
    }
    from = to;
    orr_dense_pack(&from);
    return copy(&from, (struct place){ (uintptr_t)ptr, 0, node }, &to, place_of(itf, node), NULL);
}

int orr_dense_unpack_data(starpu_data_handle_t h, unsigned node, void *ptr, size_t count)
{
    int status = orr_dense_peek_data(h, node, ptr, count);
    starpu_free_on_node_flags(node, (uintptr_t)ptr, count, 0);
    return status;
}

/* ---- the shape as bytes: interface id, dimensions, element size, buffer size, elements of each dimension
 * ---- */

enum { META_ID, META_NDIM, META_ELEMSIZE, META_ALLOCSIZE, META_NN };

int orr_dense_pack_meta(void *itf, void **ptr, starpu_ssize_t *count)
{
    struct orr_dense_view v;
    orr_dense_read(itf, &v);
    *count = (starpu_ssize_t)((META_NN + v.ndim) * sizeof(uint64_t));
    uint64_t *words = (uint64_t *)starpu_malloc_on_node_flags(orr_node_home(), (size_t)*count, 0);
    if (!words) return -ENOMEM;
    words[META_ID] = ((struct orr_dense_head *)itf)->id;
    words[META_NDIM] = v.ndim;
    words[META_ELEMSIZE] = v.elemsize;
    words[META_ALLOCSIZE] = alloc_bytes(itf);
    for (size_t i = 0; i < v.ndim; i++) words[META_NN + i] = v.nn[i];
    *ptr = words;
    return 0;
}

int orr_dense_unpack_meta(void **itf_out, void *ptr, starpu_ssize_t *count)
{
    const uint64_t *words = ptr;
    const struct orr_dense_kind *k =
        words[META_ID] < STARPU_MAX_INTERFACE_ID ? orr_dense_kinds[words[META_ID]] : NULL;
    if (!k || words[META_NDIM] > ORR_DENSE_MAX_DIMS || (!k->by_pointer && words[META_NDIM] != k->ndim))
        return -EINVAL;
    /* room for any of the structures, and for the arrays of the largest */
    struct orr_dense_head *head = orr_calloc(1, starpu_interface_ndim_ops.interface_size);
    struct orr_dense_view v = { .ndim = words[META_NDIM], .elemsize = words[META_ELEMSIZE], .ld = { 1 } };
    if (!head) return -ENOMEM;
    for (size_t i = 0; i < v.ndim; i++) v.nn[i] = words[META_NN + i];
    orr_dense_pack(&v);
    head->id = (enum starpu_data_interface_id)words[META_ID];
    orr_dense_write(head, &v);
    if (k->allocsize) set(head, k->allocsize, words[META_ALLOCSIZE]);
    *count = (starpu_ssize_t)((META_NN + v.ndim) * sizeof(uint64_t));
    *itf_out = head;
    return 0;
}

int orr_dense_free_meta(void *itf)
{
    orr_free(itf);
    return 0;
}
