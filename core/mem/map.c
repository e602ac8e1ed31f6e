/* SPDX-License-Identifier: BSD-3-Clause */
/* map.c: using main memory in place from a device that sees it, for the map methods of interfaces.
 * Threads: any. Owns: whether programs want it. Not here: which data is mapped, and when (core/data/map.c).
 */
#include <errno.h>

#include <starpu.h>

#include "core/base/log.h"
#include "core/mem/node.h"

bool orr_map_wanted;

int starpu_map_enabled(void)
{
    return orr_map_wanted;
}

bool orr_node_maps(unsigned node)
{
    return orr_map_wanted && orr_main_memories == 1 && orr_nodes[node].ops && orr_nodes[node].ops->map;
}

/* The ops by which the second node sees main memory, the first; NULL: it does not. */
static const struct orr_node_ops *ops_of(unsigned main_memory, unsigned node, const char *fn)
{
    if (main_memory >= orr_node_count || node >= orr_node_count) {
        orr_error("%s: there is no memory node %u", fn, node < orr_node_count ? main_memory : node);
        return NULL;
    }
    return orr_node_is_cpu(main_memory) && orr_node_maps(node) ? orr_nodes[node].ops : NULL;
}

uintptr_t starpu_interface_map(uintptr_t src, size_t src_offset, unsigned src_node, unsigned dst_node,
                               size_t size, int *ret)
{
    const struct orr_node_ops *ops = ops_of(src_node, dst_node, __func__);
    const struct orr_location from = { src, src_offset, src_node };
    uintptr_t there = ops ? ops->map(&from, dst_node, size) : 0;
    if (ret) *ret = there ? 0 : ops ? -EIO : -ENOSYS;
    return there;
}

int starpu_interface_unmap(uintptr_t src, size_t src_offset, unsigned src_node, uintptr_t dst,
                           unsigned dst_node, size_t size)
{
    const struct orr_node_ops *ops = ops_of(src_node, dst_node, __func__);
    const struct orr_location from = { src, src_offset, src_node };
    if (!ops) return -ENOSYS;
    if (ops->unmap) ops->unmap(&from, dst_node, dst, size);
    return 0;
}

/* Either side may be main memory. */
int starpu_interface_update_map(uintptr_t src, size_t src_offset, unsigned src_node, uintptr_t dst,
                                size_t dst_offset, unsigned dst_node, size_t size)
{
    bool down = src_node < orr_node_count && !orr_node_is_cpu(src_node);
    const struct orr_node_ops *ops = ops_of(down ? dst_node : src_node, down ? src_node : dst_node, __func__);
    const struct orr_location from = { src, src_offset, src_node }, to = { dst, dst_offset, dst_node };
    if (!ops) return -ENOSYS;
    return ops->update_map ? ops->update_map(&from, &to, size) : 0;
}
