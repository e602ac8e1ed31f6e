/* SPDX-License-Identifier: BSD-3-Clause */
/* multiformat.c: the interface of elements that have one layout for CPUs and one for each kind of device, and
 * the layouts of interfaces of the program that say is_multiformat.
 * Threads: any, as the tables say. Owns: its method table, and in which layouts each copy is. Not here: the
 * methods of all interfaces of several arrays (arrays.c), converting (core/data/layouts.h).
 *
 * Every node has room for the CPU's layout, and a device for its own. In main memory a device's layout gets
 * room when the first copy comes in it, and keeps that until main memory's copy, or the data, is freed.
 * Messages, packed data and what the program sees in main memory are in the CPU's. */
#include <errno.h>
#include <string.h>

#include "core/base/kind.h"
#include "core/base/log.h"
#include "core/data/interfaces/arrays.h"
#include "core/data/interfaces/pack.h"
#include "core/data/layouts.h"
#include "core/mem/node.h"

typedef struct starpu_multiformat_interface multiformat_itf;

/* The layouts, the CPU's first: the order of bits in sets and of arrays. */
enum {
#define FORMAT(NAME, name) FORMAT_##NAME,
#include "core/base/kind.def"
    FORMATS
};

static const struct format {
    enum starpu_node_kind memory;
    size_t bytes, pointer;  /* offsets in the table of formats and in the interface */
    size_t to_cpu, to_this; /* of the codelets in the table; 0: the CPU's */
} formats[FORMATS] = {
#define LAYOUT(NAME, name)                                                                                   \
    .memory = STARPU_##NAME##_RAM,                                                                           \
    .bytes = offsetof(struct starpu_multiformat_data_interface_ops, name##_elemsize),                        \
    .pointer = offsetof(multiformat_itf, name##_ptr)
#define FORMAT(NAME, name) { LAYOUT(NAME, name) },
#define DEVICE_FORMAT(NAME, name)                                                                            \
    { LAYOUT(NAME, name),                                                                                    \
      .to_cpu = offsetof(struct starpu_multiformat_data_interface_ops, name##_to_cpu_cl),                    \
      .to_this = offsetof(struct starpu_multiformat_data_interface_ops, cpu_to_##name##_cl) },
#include "core/base/kind.def"
};

/* What a handle keeps for each node. Filters of the program see, and write, the first member. */
struct copy {
    multiformat_itf itf;
    _Atomic uint8_t layouts; /* bits by format; 0: the CPU's. Set after the bytes, looked at by copies */
    void *room[FORMATS];     /* of devices' layouts in main memory, NULL until needed */
};

static size_t element_bytes(const struct starpu_multiformat_data_interface_ops *table, unsigned format)
{
    size_t element;
    memcpy(&element, (const char *)table + formats[format].bytes, sizeof element);
    return element;
}

static size_t bytes_of(const multiformat_itf *m, unsigned format)
{
    return orr_bytes_times(m->nx, element_bytes(m->ops, format));
}

static void *array_of(const multiformat_itf *m, unsigned format)
{
    void *array;
    memcpy(&array, (const char *)m + formats[format].pointer, sizeof array);
    return array;
}

static void set_array(multiformat_itf *m, unsigned format, void *array)
{
    memcpy((char *)m + formats[format].pointer, &array, sizeof array);
}

/* The layout that workers of a node use: the CPU's where there is no other for them. */
static unsigned format_on(const struct starpu_multiformat_data_interface_ops *table, unsigned node)
{
    enum starpu_node_kind memory = starpu_node_get_kind(node);
    for (unsigned f = 1; table && f < FORMATS; f++)
        if (formats[f].memory == memory && element_bytes(table, f)) return f;
    return FORMAT_CPU;
}

static unsigned own_format(const multiformat_itf *m, unsigned node)
{
    return m->nx > 0 ? format_on(m->ops, node) : (unsigned)FORMAT_CPU;
}

static unsigned shape(const void *itf, size_t numbers[ORR_ARRAYS_MAX_SHAPE])
{
    const multiformat_itf *m = itf;
    unsigned n = 0;
    numbers[n++] = m->nx;
#define FORMAT(NAME, name) numbers[n++] = m->ops->name##_elemsize;
#include "core/base/kind.def"
    return n;
}

static void bytes(const void *itf, unsigned node, size_t out[ORR_ARRAYS_MAX])
{
    const multiformat_itf *m = itf;
    unsigned own = own_format(m, node);
    for (unsigned f = 0; f < FORMATS; f++) out[f] = f == FORMAT_CPU || f == own ? bytes_of(m, f) : 0;
}

const struct orr_arrays_kind orr_multiformat_kind = {
    .name = "multiformat vector",
    .letter = 'F',
    .addr = {
#define FORMAT(NAME, name) offsetof(multiformat_itf, name##_ptr),
#include "core/base/kind.def"
    },
    .shape = shape,
    .bytes = bytes,
};

/* ---- layouts ---- */

static struct starpu_data_interface_ops multiformat_ops;

bool orr_layouts_by_program(const struct orr_data *h)
{
    return h->ops != &multiformat_ops;
}

/* NULL: the program gave none. */
static const struct starpu_multiformat_data_interface_ops *table_of(const struct orr_data *h)
{
    return h->ops->get_mf_ops(h->replicates[orr_node_home()].interface);
}

/* Where it is kept in which layouts a copy is. */
static _Atomic uint8_t *layouts_at(const struct orr_data *h, unsigned node)
{
    struct orr_replicate *r = &h->replicates[node];
    return orr_layouts_by_program(h) ? &r->layouts : &((struct copy *)r->interface)->layouts;
}

static unsigned read_layouts(_Atomic uint8_t *at)
{
    uint8_t layouts = orr_load_acquire(at);
    return layouts ? layouts : ORR_LAYOUT_CPU;
}

static unsigned layouts_of(struct copy *c)
{
    return read_layouts(&c->layouts);
}

unsigned orr_layout_of_node(const struct orr_data *h, unsigned node)
{
    if (orr_layouts_by_program(h)) return 1u << format_on(table_of(h), node);
    return 1u << own_format(h->replicates[node].interface, node);
}

const char *orr_layout_title(unsigned layout)
{
    const struct orr_kind *k = orr_kind_of_memory(formats[__builtin_ctz(layout)].memory);
    return k ? k->title : "unknown";
}

unsigned orr_layouts(const struct orr_data *h, unsigned node)
{
    return read_layouts(layouts_at(h, node));
}

void orr_layouts_set(struct orr_data *h, unsigned node, unsigned layouts)
{
    orr_store_release(layouts_at(h, node), (uint8_t)layouts);
}

void orr_layouts_copied(struct orr_data *h, unsigned src, unsigned dst)
{
    bool up = orr_node_is_cpu(src);
    if (orr_layouts_by_program(h))
        orr_layouts_set(h, dst, up ? (unsigned)ORR_LAYOUT_CPU : orr_layout_of_node(h, src));
}

struct starpu_codelet *orr_layout_codelet(const struct orr_data *h, unsigned from, unsigned to)
{
    const struct starpu_multiformat_data_interface_ops *table = table_of(h);
    bool to_cpu = to == ORR_LAYOUT_CPU;
    if (!table || (!to_cpu && !(from & ORR_LAYOUT_CPU))) return NULL;
    const struct format *f = &formats[__builtin_ctz(to_cpu ? from & ~(unsigned)ORR_LAYOUT_CPU : to)];
    struct starpu_codelet *cl;
    memcpy(&cl, (const char *)table + (to_cpu ? f->to_cpu : f->to_this), sizeof cl);
    return cl;
}

/* ---- memory ---- */

/* Room for a device's layout in main memory. */
static bool find_room(struct copy *c, unsigned node, unsigned f)
{
    size_t size = bytes_of(&c->itf, f);
    if (!c->room[f]) c->room[f] = (void *)starpu_malloc_on_node(node, size);
    set_array(&c->itf, f, c->room[f]);
    return c->room[f];
}

static void free_rooms(struct copy *c, unsigned node)
{
    for (unsigned f = 1; f < FORMATS; f++) {
        if (c->room[f]) starpu_free_on_node(node, (uintptr_t)c->room[f], bytes_of(&c->itf, f));
        c->room[f] = NULL;
        set_array(&c->itf, f, NULL);
    }
}

static void free_on_node(void *itf, unsigned node)
{
    if (orr_node_is_cpu(node)) free_rooms(itf, node);
    orr_arrays_free(itf, node);
}

size_t orr_layouts_bytes(const struct orr_data *h, unsigned node)
{
    const multiformat_itf *m = h->replicates[node].interface;
    if (orr_layouts_by_program(h)) return h->ops->get_size ? h->ops->get_size((struct orr_data *)h) : 1;
    unsigned own = own_format(m, node);
    return orr_bytes_plus(bytes_of(m, FORMAT_CPU), own == FORMAT_CPU ? 0 : bytes_of(m, own));
}

static void register_handle(starpu_data_handle_t h, unsigned home_node, void *itf)
{
    orr_arrays_register_handle(h, home_node, itf);
    for (unsigned n = 0; n < h->nnodes; n++) { /* what it was made after has more than a shape */
        struct copy *c = h->replicates[n].interface;
        orr_layouts_set(h, n, ORR_LAYOUT_CPU);
        for (unsigned f = 1; f < FORMATS; f++) {
            c->room[f] = NULL;
            set_array(&c->itf, f, NULL);
        }
    }
}

static void unregister_handle(starpu_data_handle_t h)
{
    for (unsigned n = 0; n < h->nnodes && n < orr_node_count; n++)
        if (orr_node_is_cpu(n)) free_rooms(h->replicates[n].interface, n);
}

static void *to_pointer(void *itf, unsigned node)
{
    return array_of(itf, own_format(itf, node));
}

/* ---- bytes ---- */

/* The layout in which the source's copy is best brought to a node; -1: the node has room for none. */
static int format_to_bring(struct copy *src, unsigned dst_node)
{
    unsigned have = layouts_of(src), own = own_format(&src->itf, dst_node);
    if (have >> own & 1) return (int)own;
    if (have & ORR_LAYOUT_CPU) return FORMAT_CPU;
    return orr_node_is_cpu(dst_node) ? __builtin_ctz(have) : -1;
}

static int copy_any(void *src_itf, unsigned src_node, void *dst_itf, unsigned dst_node, void *async)
{
    struct copy *src = src_itf, *dst = dst_itf;
    int format = format_to_bring(src, dst_node);
    if (format < 0 || !orr_arrays_compare(src, dst)) {
        orr_error("copying multiformat data into data of another shape, or from one kind of device to "
                  "another; register both alike, and go through main memory");
        return -EINVAL;
    }
    unsigned f = (unsigned)format;
    size_t size = bytes_of(&src->itf, f);
    if (f != FORMAT_CPU && orr_node_is_cpu(dst_node) && !find_room(dst, dst_node, f)) return -ENOMEM;
    uintptr_t from = (uintptr_t)array_of(&src->itf, f), to = (uintptr_t)array_of(&dst->itf, f);
    orr_store_release(&dst->layouts, (uint8_t)(1u << f)); /* nobody uses dst before the copy has ended */
    return starpu_interface_copy(from, 0, src_node, to, 0, dst_node, size, async);
}

static const struct starpu_data_copy_methods copy_methods = { .any_to_any = copy_any };

static int pack(starpu_data_handle_t h, unsigned node, void **ptr, starpu_ssize_t *count)
{
    struct copy *c = starpu_data_get_interface_on_node(h, node);
    size_t size = bytes_of(&c->itf, 0);
    *count = (starpu_ssize_t)size;
    if (!ptr) return 0;
    if (!(layouts_of(c) & ORR_LAYOUT_CPU)) {
        orr_error("packing multiformat data on memory node %u, where it is in the layout of a device only; "
                  "acquire and pack it in main memory",
                  node);
        return -EINVAL;
    }
    uintptr_t buffer = starpu_malloc_on_node_flags(node, size, 0);
    if (!buffer && size > 0) return -ENOMEM;
    int r = starpu_interface_copy((uintptr_t)c->itf.cpu_ptr, 0, node, buffer, 0, node, size, NULL);
    return orr_pack_end(r, node, buffer, size, ptr);
}

static int peek(starpu_data_handle_t h, unsigned node, void *ptr, size_t count)
{
    struct copy *c = starpu_data_get_interface_on_node(h, node);
    size_t size = bytes_of(&c->itf, 0);
    if (count != size) {
        orr_error("unpacking multiformat data: %zu bytes were given, but it takes %zu", count, size);
        return -EINVAL;
    }
    orr_layouts_set(h, node, ORR_LAYOUT_CPU);
    return starpu_interface_copy((uintptr_t)ptr, 0, node, (uintptr_t)c->itf.cpu_ptr, 0, node, size, NULL);
}

static int unpack(starpu_data_handle_t h, unsigned node, void *ptr, size_t count)
{
    int status = peek(h, node, ptr, count);
    starpu_free_on_node_flags(node, (uintptr_t)ptr, count, 0);
    return status;
}

/* ---- the table ---- */

static struct starpu_multiformat_data_interface_ops *get_formats(void *itf)
{
    return ((multiformat_itf *)itf)->ops;
}

static struct starpu_data_interface_ops multiformat_ops = {
    .register_data_handle = register_handle,
    .unregister_data_handle = unregister_handle,
    .allocate_data_on_node = orr_arrays_allocate,
    .free_data_on_node = free_on_node,
    .copy_methods = &copy_methods,
    .to_pointer = to_pointer,
    .pointer_is_inside = orr_arrays_pointer_is_inside,
    .get_size = orr_arrays_get_size,
    .footprint = orr_arrays_footprint,
    .compare = orr_arrays_compare,
    .display = orr_arrays_display,
    .describe = orr_arrays_describe,
    .pack_data = pack,
    .peek_data = peek,
    .unpack_data = unpack,
    .interfaceid = STARPU_MULTIFORMAT_INTERFACE_ID,
    .interface_size = sizeof(struct copy),
    .is_multiformat = 1,
    .get_mf_ops = get_formats,
    .name = (char *)"STARPU_MULTIFORMAT_INTERFACE",
};

/* Whether all layouts together can be counted: main memory may come to hold each. */
static bool layouts_fit(const multiformat_itf *m)
{
    size_t total = 0;
    for (unsigned f = 0; f < FORMATS; f++) total = orr_bytes_plus(total, bytes_of(m, f));
    return total <= PTRDIFF_MAX;
}

void starpu_multiformat_data_register(starpu_data_handle_t *handle, int home_node, void *ptr, size_t nx,
                                      struct starpu_multiformat_data_interface_ops *format_ops)
{
    struct copy c = {
        .itf = { .id = STARPU_MULTIFORMAT_INTERFACE_ID, .cpu_ptr = ptr, .nx = nx, .ops = format_ops }
    };
    if (!format_ops || home_node > (int)orr_node_home() || !layouts_fit(&c.itf)) {
        orr_error("starpu_multiformat_data_register: %s",
                  !format_ops ? "the table of formats is NULL"
                  : !layouts_fit(&c.itf)
                      ? "the layouts are larger than the address space; check the sizes given"
                      : "the home node is a device's, where there is no room for all layouts; use "
                        "STARPU_MAIN_RAM, or -1 for data that the runtime allocates");
        if (handle) *handle = NULL;
        return;
    }
    orr_arrays_data_register(handle, home_node, &c, &multiformat_ops, __func__);
}
