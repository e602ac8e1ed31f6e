/* SPDX-License-Identifier: BSD-3-Clause */
/* pin.c: see pin.h.
 * Threads: any. Owns: the list of pinned blocks, by address. Not here: who allocates (malloc.c).
 *
 * One device pins for all. The list is there for the end: what the program has pinned, and gives back after
 * the runtime has stopped or never, must not stay pinned, as the next block at that address could not be. */
#include "core/mem/pin.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/env.h"
#include "core/base/log.h"
#include "core/mem/node.h"

_Atomic bool orr_pinning;

struct pinned {
    uintptr_t at;
    unsigned times;
};

static ORR_MUTEX(pins) lock = PTHREAD_MUTEX_INITIALIZER; /* protects the list */
static struct pinned *list;                              /* by address */
static size_t count, room;
static unsigned by_node;         /* the device that pins [const while workers run] */
static _Atomic bool has_refused; /* that was said */

void orr_pins_start(void)
{
    if (orr_env_long(ORR_SETTING(STARPU_DISABLE_PINNING), 0, 0, 1)) return;
    orr_store_relaxed(&has_refused, false);
    for (unsigned n = 0; n < orr_load_relaxed(&orr_node_count); n++)
        if (orr_nodes[n].ops && orr_nodes[n].ops->pin) {
            by_node = n;
            orr_store_relaxed(&orr_pinning, true);
            return;
        }
}

void orr_pins_stop(void)
{
    if (!orr_exchange_acq_rel(&orr_pinning, false)) return;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count; i++) orr_nodes[by_node].ops->unpin(by_node, (void *)list[i].at);
    orr_free(list);
    list = NULL;
    count = room = 0;
    pthread_mutex_unlock(&lock);
}

void *orr_pin_malloc(size_t alignment, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (bytes + page - 1) & ~(page - 1);
    return whole < bytes ? NULL : orr_malloc_aligned(alignment > page ? alignment : page, whole);
}

/* Where the block is on the list, or would be. */
static size_t place_locked(uintptr_t at)
{
    size_t from = 0, to = count;
    while (from < to) {
        size_t middle = (from + to) / 2;
        if (list[middle].at < at)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static bool is_listed_locked(size_t i, uintptr_t at)
{
    return i < count && list[i].at == at;
}

static int make_place_locked(void)
{
    if (count < room) return 0;
    struct pinned *more = orr_realloc(list, (room ? 2 * room : 64) * sizeof *list);
    if (!more) return -ENOMEM;
    room = room ? 2 * room : 64;
    list = more;
    return 0;
}

static int pin_locked(void *p, size_t bytes)
{
    size_t i = place_locked((uintptr_t)p);
    if (is_listed_locked(i, (uintptr_t)p)) {
        list[i].times++;
        return 0;
    }
    if (make_place_locked()) return -ENOMEM;
    int r = orr_nodes[by_node].ops->pin(by_node, p, bytes);
    if (r) return r == -EALREADY ? 0 : r;
    memmove(&list[i + 1], &list[i], (count - i) * sizeof *list);
    list[i] = (struct pinned){ .at = (uintptr_t)p, .times = 1 };
    count++;
    return 0;
}

int orr_pin(void *p, size_t bytes)
{
    if (!orr_load_relaxed(&orr_pinning) || !p || bytes == 0) return 0;
    pthread_mutex_lock(&lock);
    int r = orr_load_relaxed(&orr_pinning) ? pin_locked(p, bytes) : 0;
    pthread_mutex_unlock(&lock);
    if (r && !orr_exchange_acq_rel(&has_refused, true))
        orr_warn(
            "%zu bytes of main memory could not be pinned for %s (%s); copies of such memory are slower: "
            "allow more locked memory (ulimit -l), or pin less (STARPU_DISABLE_PINNING=1: nothing)",
            bytes, orr_nodes[by_node].name, strerror(-r));
    return r;
}

void orr_unpin(void *p)
{
    if (!orr_load_relaxed(&orr_pinning)) return;
    pthread_mutex_lock(&lock);
    size_t i = place_locked((uintptr_t)p);
    if (is_listed_locked(i, (uintptr_t)p) && --list[i].times == 0) {
        orr_nodes[by_node].ops->unpin(by_node, p);
        memmove(&list[i], &list[i + 1], (count - i - 1) * sizeof *list);
        count--;
    }
    pthread_mutex_unlock(&lock);
}
