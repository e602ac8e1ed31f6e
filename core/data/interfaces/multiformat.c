/* SPDX-License-Identifier: BSD-3-Clause */
/* multiformat.c: the interface of elements that have one layout for each kind of device. Every node holds the
 * CPU layout, which is the one that travels; a device's node also has room for the device's own.
 * Threads: any. Owns: its method table. Not here: the methods (arrays.c); running the codelets that convert
 * (a driver). */
#include "core/data/interfaces/arrays.h"

#include "core/base/log.h"

typedef struct starpu_multiformat_interface multiformat_itf;

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
    enum starpu_node_kind kind = starpu_node_get_kind(node);
    unsigned n = 0;
#define IS_HELD(memory) ((memory) == STARPU_CPU_RAM || (memory) == kind)
#define FORMAT(NAME, name)                                                                                   \
    out[n++] = IS_HELD(STARPU_##NAME##_RAM) ? orr_bytes_times(m->nx, m->ops->name##_elemsize) : 0;
#include "core/base/kind.def"
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

static struct starpu_multiformat_data_interface_ops *get_formats(void *itf)
{
    return ((multiformat_itf *)itf)->ops;
}

static struct starpu_data_interface_ops multiformat_ops = {
    ORR_ARRAYS_METHODS,
    .interfaceid = STARPU_MULTIFORMAT_INTERFACE_ID,
    .interface_size = sizeof(multiformat_itf),
    .is_multiformat = 1,
    .get_mf_ops = get_formats,
    .name = (char *)"STARPU_MULTIFORMAT_INTERFACE",
};

void starpu_multiformat_data_register(starpu_data_handle_t *handle, int home_node, void *ptr, size_t nx,
                                      struct starpu_multiformat_data_interface_ops *format_ops)
{
    multiformat_itf m = {
        .id = STARPU_MULTIFORMAT_INTERFACE_ID, .cpu_ptr = ptr, .nx = nx, .ops = format_ops
    };
    if (!format_ops) {
        orr_error("starpu_multiformat_data_register: the table of formats is NULL");
        if (handle) *handle = NULL;
        return;
    }
    orr_arrays_data_register(handle, home_node, &m, &multiformat_ops, __func__);
}
