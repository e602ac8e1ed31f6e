/* SPDX-License-Identifier: BSD-3-Clause */
/* layouts.h: data whose elements lie in memory in one way for CPUs and in another for each kind of device
 * (multiformat): in which ways a copy is valid, and what converts it.
 * Threads: any. Owns: the shape of struct orr_conversion. Not here: the interface (interfaces/multiformat.c),
 * running codelets (core/worker/convert.c).
 *
 * A copy on a node (orr_replicate) that is valid at all is valid in one layout or several: one was brought or
 * written, others were made of it there. Every node has room for the CPU's layout and a device's for its own
 * as well; main memory has room for those of devices from when one is brought. Copies go from node to node in
 * one layout that both can hold; a codelet converts on the node where the result is wanted, which is a
 * transfer from a copy to itself (coherency.c): who waits for the one waits for the other. */
#ifndef ORR_DATA_LAYOUTS_H
#define ORR_DATA_LAYOUTS_H

#include "core/data/data.h"

struct orr_fetch;
struct orr_transfer;

/* Bits of a set: the CPU's, then others in the order of kind.def. The last is for fetches: whoever asks
 * converts afterwards, or hands it on. */
enum orr_layout { ORR_LAYOUT_CPU = 1, ORR_LAYOUT_ANY = 128 };

/* All of these are for data with h->formats only. */

/* Interfaces of the program that say is_multiformat copy by the peer's rule: from main memory to a device in
 * the CPU's layout, back in the device's, and between devices not at all. */
bool orr_layouts_by_program(const struct orr_data *h);
/* Notes in which layout such a copy comes; others note it themselves. */
void orr_layouts_copied(struct orr_data *h, unsigned src, unsigned dst);

/* The layout in which workers of a node use h: the CPU's where a device has none of its own. */
unsigned orr_layout_of_node(const struct orr_data *h, unsigned node);
const char *orr_layout_title(unsigned layout); /* whose it is, for people */
/* What a copy takes on a node. */
size_t orr_layouts_bytes(const struct orr_data *h, unsigned node);
/* In which layouts the copy on a node is valid, if it is valid at all. */
unsigned orr_layouts(const struct orr_data *h, unsigned node);
/* Who may say so: whoever alone writes the copy, or brings or converts it. */
void orr_layouts_set(struct orr_data *h, unsigned node, unsigned layouts);
/* The codelet from one to another, or NULL. */
struct starpu_codelet *orr_layout_codelet(const struct orr_data *h, unsigned from, unsigned to);

/* Whether a node can take the copy of another as it is. */
bool orr_layouts_fit(const struct orr_data *h, unsigned src, unsigned dst);

/* f begins to write the copy on its node: what is no longer true of it. Whoever takes any layout says so
 * himself (orr_layouts_set). Called with the lock held. */
void orr_layouts_own(const struct orr_fetch *f);
/* The layout in which f wants to read a copy; 0: any. */
unsigned orr_layout_wanted(const struct orr_fetch *f);
/* That layout, if the copy is there in others. Called with the lock held. */
unsigned orr_layout_missing(const struct orr_fetch *f);
/* Carries on a transfer that converts: on this thread, or later on one that may call the program. */
void orr_convert(struct orr_transfer *t);

/* Has a worker of a device's node put h's copy there, which the caller holds, into the device's layout, and
 * calls done, on any thread. 0, or -errno: it is not called. Lent by core/worker (convert.h) at start-up. */
extern int (*orr_layout_on_device)(struct orr_data *h, unsigned node, void (*done)(void *arg, int status),
                                   void *arg);

/* One codelet that has to run before a worker of some node can read h, and where. */
struct orr_conversion {
    struct starpu_codelet *codelet; /* NULL: there is none */
    unsigned node;
};
enum { ORR_CONVERSIONS_MAX = 2 };
/* What these are now, in order; returns how many. */
unsigned orr_data_conversions(struct orr_data *h, unsigned node,
                              struct orr_conversion out[ORR_CONVERSIONS_MAX]);

#endif
