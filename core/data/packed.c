/* SPDX-License-Identifier: BSD-3-Clause */
/* packed.c: data in a store whose interface has no method that copies them there: packed, as for a message.
 * Threads: whoever carries a transfer on. Owns: nothing. Not here: when data go to a store (eviction.c), the
 * copies of interfaces that have methods (transfer.c).
 *
 * The store's object is what to_pointer answers for the store's node. It has the bytes of the last packing
 * from its beginning on; how many these are is kept with the copy (orr_replicate.packed). */
#include <errno.h>

#include <starpu.h>

#include "core/base/log.h"
#include "core/data/transfer.h"

bool orr_packed_possible(const struct orr_data *h, unsigned src, unsigned dst)
{
    bool stored = orr_nodes[src].role == ORR_STORE || orr_nodes[dst].role == ORR_STORE;
    bool object = h->ops->to_pointer || h->ops->handle_to_pointer;
    return stored && object && h->ops->pack_data && (h->ops->unpack_data || h->ops->peek_data);
}

static uintptr_t object_of(struct orr_data *h, unsigned store)
{
    return (uintptr_t)starpu_data_handle_to_pointer(h, store);
}

static int pack_to(struct orr_data *h, unsigned src, unsigned store)
{
    struct orr_replicate *there = &h->replicates[store];
    starpu_ssize_t count = 0;
    void *bytes = NULL;
    char label[64];
    int r = h->ops->pack_data(h, src, &bytes, &count);
    if (r || count < 0) return r < 0 ? r : -EIO;
    there->packed = (size_t)count;
    if (there->chunk && there->packed > there->chunk->bytes) {
        orr_error("data %s takes %zu bytes packed, and its allocate_data_on_node made room for %zu on memory "
                  "node %u (%s); make room for the most that pack_data can write",
                  orr_data_label(h, label, sizeof label), there->packed, there->chunk->bytes, store,
                  orr_nodes[store].name);
        r = -EIO;
    } else if (count > 0) {
        r = starpu_interface_copy((uintptr_t)bytes, 0, src, object_of(h, store), 0, store, (size_t)count,
                                  NULL);
    }
    starpu_free_on_node_flags(src, (uintptr_t)bytes, (size_t)count, 0);
    return r;
}

/* How many bytes there are of the copy in a store; < 0: that is not known. What the program put there itself
 * has the size of the data as they are. */
static starpu_ssize_t packed_bytes(struct orr_data *h, unsigned store, unsigned dst)
{
    starpu_ssize_t count = (starpu_ssize_t)h->replicates[store].packed;
    if (count == 0 && h->ops->pack_data(h, dst, NULL, &count) != 0) return -1;
    return count;
}

static int unpack_from(struct orr_data *h, unsigned store, unsigned dst)
{
    starpu_ssize_t count = packed_bytes(h, store, dst);
    if (count < 0) return -EIO;
    uintptr_t bytes = starpu_malloc_on_node_flags(dst, (size_t)count, 0);
    if (!bytes && count > 0) return -ENOMEM;
    int r = count == 0
                ? 0
                : starpu_interface_copy(object_of(h, store), 0, store, bytes, 0, dst, (size_t)count, NULL);
    if (r == 0 && h->ops->unpack_data) return h->ops->unpack_data(h, dst, (void *)bytes, (size_t)count);
    if (r == 0) r = h->ops->peek_data(h, dst, (void *)bytes, (size_t)count);
    starpu_free_on_node_flags(dst, bytes, (size_t)count, 0);
    return r;
}

int orr_packed_copy(struct orr_data *h, unsigned src, unsigned dst)
{
    return orr_nodes[dst].role == ORR_STORE ? pack_to(h, src, dst) : unpack_from(h, src, dst);
}
