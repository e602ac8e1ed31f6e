/* SPDX-License-Identifier: BSD-3-Clause */
/* arrays.c: the methods of all interfaces made of several contiguous arrays.
 * Threads: any, as the table says. Owns: nothing. Not here: where each structure keeps them (csr.c, bcsr.c,
 * ...). */
#include "core/data/interfaces/arrays.h"
#include "core/data/interfaces/pack.h"

#include <errno.h>
#include <string.h>

#include <starpu_hash.h>
#include <starpu_task.h>

#include "core/base/log.h"
#include "core/data/data.h"
#include "core/mem/node.h"

static const struct orr_arrays_kind *const kinds[STARPU_MAX_INTERFACE_ID] = {
#define ARRAYS(ID, name, phrase) [STARPU_##ID##_INTERFACE_ID] = &orr_##name##_kind,
#define DENSE(ID, name, phrase)
#define OTHER(ID, name, phrase)
#include "core/data/interfaces/interfaces.def"
#undef DENSE
#undef ARRAYS
#undef OTHER
};

static const struct orr_arrays_kind *kind_of(const void *itf)
{
    return kinds[*(const enum starpu_data_interface_id *)itf];
}

static uintptr_t get_addr(const void *itf, unsigned i)
{
    uintptr_t addr;
    memcpy(&addr, (const char *)itf + kind_of(itf)->addr[i], sizeof addr);
    return addr;
}

static void set_addr(void *itf, unsigned i, uintptr_t addr)
{
    memcpy((char *)itf + kind_of(itf)->addr[i], &addr, sizeof addr);
}

/* Where the same array is in main memory, for those who keep that. */
static void set_ram(void *itf, unsigned i, uintptr_t addr)
{
    if (kind_of(itf)->ram[i]) memcpy((char *)itf + kind_of(itf)->ram[i], &addr, sizeof addr);
}

size_t orr_bytes_times(size_t a, size_t b)
{
    size_t product;
    return __builtin_mul_overflow(a, b, &product) ? SIZE_MAX : product;
}

size_t orr_bytes_plus(size_t a, size_t b)
{
    size_t sum;
    return __builtin_add_overflow(a, b, &sum) ? SIZE_MAX : sum;
}

static size_t total_bytes(const void *itf, unsigned node, size_t bytes_out[ORR_ARRAYS_MAX])
{
    size_t total = 0;
    kind_of(itf)->bytes(itf, node, bytes_out);
    for (unsigned i = 0; i < ORR_ARRAYS_MAX; i++) total = orr_bytes_plus(total, bytes_out[i]);
    return total;
}

void orr_arrays_data_register(starpu_data_handle_t *handle_out, int home_node, void *itf,
                              struct starpu_data_interface_ops *ops, const char *fn)
{
    size_t bytes[ORR_ARRAYS_MAX];
    if (handle_out && total_bytes(itf, orr_node_home(), bytes) > PTRDIFF_MAX) {
        orr_error("%s: the arrays of the %s are larger than the address space; check the sizes given", fn,
                  kind_of(itf)->name);
        *handle_out = NULL;
        return;
    }
    starpu_data_register(handle_out, home_node, itf, ops);
}

void orr_arrays_register_handle(starpu_data_handle_t h, unsigned home_node, void *itf)
{
    for (unsigned node = 0; node < h->nnodes; node++) {
        void *to = starpu_data_get_interface_on_node(h, node);
        memcpy(to, itf, h->ops->interface_size);
        if (kind_of(itf)->shared && node != home_node) /* no piece's place */
            memset((char *)to + kind_of(itf)->shared, 0, sizeof(uint32_t));
        for (unsigned i = 0; i < ORR_ARRAYS_MAX; i++) {
            set_ram(to, i, (int)home_node >= 0 && orr_node_is_cpu(home_node) ? get_addr(itf, i) : 0);
            if (node != home_node) set_addr(to, i, 0);
        }
    }
}

/* ---- memory ---- */

static void free_first(void *itf, unsigned node, unsigned count)
{
    size_t bytes[ORR_ARRAYS_MAX];
    kind_of(itf)->bytes(itf, node, bytes);
    for (unsigned i = 0; i < count; i++) {
        if (get_addr(itf, i)) starpu_free_on_node(node, get_addr(itf, i), bytes[i]);
        set_addr(itf, i, 0);
    }
}

starpu_ssize_t orr_arrays_allocate(void *itf, unsigned node)
{
    size_t bytes[ORR_ARRAYS_MAX], total = total_bytes(itf, node, bytes);
    for (unsigned i = 0; i < ORR_ARRAYS_MAX; i++) {
        uintptr_t addr = bytes[i] ? starpu_malloc_on_node(node, bytes[i]) : 0;
        set_addr(itf, i, addr);
        if (bytes[i] && !addr) {
            free_first(itf, node, i);
            return -ENOMEM;
        }
        if (orr_node_is_cpu(node)) set_ram(itf, i, addr);
    }
    return (starpu_ssize_t)total;
}

void orr_arrays_free(void *itf, unsigned node)
{
    free_first(itf, node, ORR_ARRAYS_MAX);
}

/* ---- mapping ---- */

static void unmap_first(void *from, unsigned from_node, void *to, unsigned to_node, unsigned count)
{
    size_t bytes[ORR_ARRAYS_MAX];
    kind_of(from)->bytes(from, to_node, bytes);
    for (unsigned i = 0; i < count; i++) {
        if (get_addr(to, i))
            starpu_interface_unmap(get_addr(from, i), 0, from_node, get_addr(to, i), to_node, bytes[i]);
        set_addr(to, i, 0);
    }
}

int orr_arrays_map(void *from, unsigned from_node, void *to, unsigned to_node)
{
    size_t bytes[ORR_ARRAYS_MAX];
    kind_of(from)->bytes(from, to_node, bytes);
    for (unsigned i = 0; i < ORR_ARRAYS_MAX; i++) {
        int r = 0;
        if (bytes[i] == 0) continue;
        set_addr(to, i, starpu_interface_map(get_addr(from, i), 0, from_node, to_node, bytes[i], &r));
        if (r) {
            unmap_first(from, from_node, to, to_node, i);
            return r;
        }
    }
    return 0;
}

int orr_arrays_unmap(void *from, unsigned from_node, void *to, unsigned to_node)
{
    unmap_first(from, from_node, to, to_node, ORR_ARRAYS_MAX);
    return 0;
}

int orr_arrays_update_map(void *from, unsigned from_node, void *to, unsigned to_node)
{
    size_t bytes[ORR_ARRAYS_MAX];
    int r = 0;
    kind_of(from)->bytes(from, to_node, bytes);
    for (unsigned i = 0; i < ORR_ARRAYS_MAX && r == 0; i++)
        if (bytes[i])
            r = starpu_interface_update_map(get_addr(from, i), 0, from_node, get_addr(to, i), 0, to_node,
                                            bytes[i]);
    return r;
}

void *orr_arrays_to_pointer(void *itf, unsigned node)
{
    (void)node;
    return (void *)get_addr(itf, 0);
}

int orr_arrays_pointer_is_inside(void *itf, unsigned node, void *ptr)
{
    size_t bytes[ORR_ARRAYS_MAX];
    kind_of(itf)->bytes(itf, node, bytes);
    for (unsigned i = 0; i < ORR_ARRAYS_MAX; i++) {
        uintptr_t begin = get_addr(itf, i);
        if (begin && (uintptr_t)ptr >= begin && (uintptr_t)ptr - begin < bytes[i]) return 1;
    }
    return 0;
}

/* ---- shape ---- */

static void *main_interface(starpu_data_handle_t h)
{
    return starpu_data_get_interface_on_node(h, orr_node_home());
}

size_t orr_arrays_get_size(starpu_data_handle_t h)
{
    size_t bytes[ORR_ARRAYS_MAX];
    return total_bytes(main_interface(h), orr_node_home(), bytes);
}

uint32_t orr_arrays_footprint(starpu_data_handle_t h)
{
    size_t numbers[ORR_ARRAYS_MAX_SHAPE];
    void *itf = main_interface(h);
    unsigned count = kind_of(itf)->shape(itf, numbers);
    return starpu_hash_crc32c_be_n(numbers, count * sizeof numbers[0],
                                   starpu_hash_crc32c_be((uint32_t)h->ops->interfaceid, 0));
}

int orr_arrays_compare(void *a, void *b)
{
    size_t na[ORR_ARRAYS_MAX_SHAPE], nb[ORR_ARRAYS_MAX_SHAPE];
    if (kind_of(a) != kind_of(b)) return 0;
    unsigned count = kind_of(a)->shape(a, na);
    kind_of(b)->shape(b, nb);
    return memcmp(na, nb, count * sizeof na[0]) == 0;
}

starpu_ssize_t orr_arrays_describe(void *itf, char *buf, size_t size)
{
    size_t numbers[ORR_ARRAYS_MAX_SHAPE];
    char text[32 * ORR_ARRAYS_MAX_SHAPE];
    int at = 0;
    unsigned count = kind_of(itf)->shape(itf, numbers);
    for (unsigned i = 0; i < count; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "%c%zu", i ? 'x' : kind_of(itf)->letter,
                       numbers[i]);
    return snprintf(buf, size, "%s", text);
}

void orr_arrays_display(starpu_data_handle_t h, FILE *f)
{
    char text[32 * ORR_ARRAYS_MAX_SHAPE];
    orr_arrays_describe(main_interface(h), text, sizeof text);
    fprintf(f, "%s\t", text);
}

/* ---- bytes ---- */

/* How much, at both ends of array i, is not to be written on a node: the row pointers that a piece has in
 * common with its neighbours, where it lies in its parent. */
static size_t kept_at_ends(const void *itf, unsigned node, unsigned i)
{
    const struct orr_arrays_kind *k = kind_of(itf);
    uint32_t shares = 0;
    if (k->shared && i == ORR_ARRAYS_MAX - 1 && orr_node_is_cpu(node))
        memcpy(&shares, (const char *)itf + k->shared, sizeof shares);
    return shares ? sizeof(uint32_t) : 0;
}

/* Copies the arrays that both nodes have. Each is as long as the shape says: another shape does not fit. */
static int any_to_any(void *src, unsigned src_node, void *dst, unsigned dst_node, void *async_data)
{
    size_t from[ORR_ARRAYS_MAX], to[ORR_ARRAYS_MAX];
    int whole = 0;
    if (!orr_arrays_compare(src, dst)) {
        orr_error(
            "copying a %s into one of another shape: their arrays have other lengths; register both alike",
            kind_of(src)->name);
        return -EINVAL;
    }
    kind_of(src)->bytes(src, src_node, from);
    kind_of(dst)->bytes(dst, dst_node, to);
    for (unsigned i = 0; i < ORR_ARRAYS_MAX; i++) {
        size_t kept = kept_at_ends(dst, dst_node, i);
        if (from[i] <= 2 * kept || to[i] == 0) continue;
        int r = starpu_interface_copy(get_addr(src, i), kept, src_node, get_addr(dst, i), kept, dst_node,
                                      from[i] - 2 * kept, async_data);
        if (whole == 0 || whole == -EAGAIN) whole = r ? r : whole;
    }
    return whole;
}

const struct starpu_data_copy_methods orr_arrays_copy_methods = { .any_to_any = any_to_any };

/* Copies all arrays of a structure, one after the other: to a buffer on the same node, or, with `into`, from
 * it into them. */
static int copy_flat(void *itf, unsigned node, uintptr_t flat, bool into)
{
    size_t bytes[ORR_ARRAYS_MAX], at = 0;
    kind_of(itf)->bytes(itf, node, bytes);
    for (unsigned i = 0; i < ORR_ARRAYS_MAX; at += bytes[i++]) {
        size_t kept = into ? kept_at_ends(itf, node, i) : 0;
        if (bytes[i] <= 2 * kept) continue;
        uintptr_t addr = get_addr(itf, i);
        int r =
            into ? starpu_interface_copy(flat, at + kept, node, addr, kept, node, bytes[i] - 2 * kept, NULL)
                 : starpu_interface_copy(addr, 0, node, flat, at, node, bytes[i], NULL);
        if (r) return r;
    }
    return 0;
}

int orr_arrays_pack_data(starpu_data_handle_t h, unsigned node, void **ptr, starpu_ssize_t *count)
{
    void *itf = starpu_data_get_interface_on_node(h, node);
    size_t bytes[ORR_ARRAYS_MAX], total = total_bytes(itf, node, bytes);
    *count = (starpu_ssize_t)total;
    if (!ptr) return 0;
    uintptr_t buffer = starpu_malloc_on_node_flags(node, total, 0);
    if (!buffer && total > 0) return -ENOMEM;
    return orr_pack_end(copy_flat(itf, node, buffer, false), node, buffer, total, ptr);
}

int orr_arrays_peek_data(starpu_data_handle_t h, unsigned node, void *ptr, size_t count)
{
    void *itf = starpu_data_get_interface_on_node(h, node);
    size_t bytes[ORR_ARRAYS_MAX], total = total_bytes(itf, node, bytes);
    if (count != total) {
        orr_error("unpacking a %s: %zu bytes were given, but it takes %zu", kind_of(itf)->name, count, total);
        return -EINVAL;
    }
    return copy_flat(itf, node, (uintptr_t)ptr, true);
}

int orr_arrays_unpack_data(starpu_data_handle_t h, unsigned node, void *ptr, size_t count)
{
    int status = orr_arrays_peek_data(h, node, ptr, count);
    starpu_free_on_node_flags(node, (uintptr_t)ptr, count, 0);
    return status;
}
