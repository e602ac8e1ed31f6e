/* SPDX-License-Identifier: BSD-3-Clause */
/* void.c: the interface of data without bytes: it only orders tasks.
 * Threads: any. Owns: its method table. Not here: anything to copy. */
#include <starpu_data_interfaces.h>
#include <starpu_task.h>
#include <stdio.h>

#include "core/mem/node.h"

static void register_handle(starpu_data_handle_t h, unsigned home_node, void *itf)
{
    (void)h;
    (void)home_node;
    (void)itf;
}

static starpu_ssize_t allocate(void *itf, unsigned node)
{
    (void)itf;
    (void)node;
    return 0;
}

static void free_nothing(void *itf, unsigned node)
{
    (void)itf;
    (void)node;
}

static size_t get_size(starpu_data_handle_t h)
{
    (void)h;
    return 0;
}

static uint32_t footprint(starpu_data_handle_t h)
{
    (void)h;
    return 0;
}

static int compare(void *a, void *b)
{
    (void)a;
    (void)b;
    return 1;
}

static void display(starpu_data_handle_t h, FILE *f)
{
    (void)h;
    fprintf(f, "void\t");
}

static starpu_ssize_t describe(void *itf, char *buf, size_t size)
{
    (void)itf;
    return snprintf(buf, size, "0");
}

static int any_to_any(void *src, unsigned src_node, void *dst, unsigned dst_node, void *async_data)
{
    (void)src;
    (void)src_node;
    (void)dst;
    (void)dst_node;
    (void)async_data;
    return 0;
}

static const struct starpu_data_copy_methods copy_methods = { .any_to_any = any_to_any };

static int pack_data(starpu_data_handle_t h, unsigned node, void **ptr, starpu_ssize_t *count)
{
    (void)h;
    (void)node;
    *count = 0;
    if (ptr) *ptr = NULL;
    return 0;
}

static int unpack_data(starpu_data_handle_t h, unsigned node, void *ptr, size_t count)
{
    (void)h;
    if (ptr) starpu_free_on_node_flags(node, (uintptr_t)ptr, count, 0);
    return 0;
}

static int peek_data(starpu_data_handle_t h, unsigned node, void *ptr, size_t count)
{
    (void)h;
    (void)node;
    (void)ptr;
    (void)count;
    return 0;
}

struct starpu_data_interface_ops starpu_interface_void_ops = {
    .register_data_handle = register_handle,
    .allocate_data_on_node = allocate,
    .free_data_on_node = free_nothing,
    .copy_methods = &copy_methods,
    .get_size = get_size,
    .footprint = footprint,
    .compare = compare,
    .display = display,
    .describe = describe,
    .pack_data = pack_data,
    .peek_data = peek_data,
    .unpack_data = unpack_data,
    .interfaceid = STARPU_VOID_INTERFACE_ID,
    .interface_size = sizeof(enum starpu_data_interface_id),
    .name = (char *)"STARPU_VOID_INTERFACE",
};

void starpu_void_data_register(starpu_data_handle_t *handle)
{
    enum starpu_data_interface_id id = STARPU_VOID_INTERFACE_ID;
    starpu_data_register(handle, orr_node_home(), &id, &starpu_interface_void_ops);
}
