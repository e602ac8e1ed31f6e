/* SPDX-License-Identifier: BSD-3-Clause */
/* topo.h: the cores this process may use, and binding threads to them. The only user of hwloc.
 * Threads: init and fini by the main thread; binding by any. Owns: the topology. Not here: how many workers
 * (drivers/). */
#ifndef ORR_TOPO_TOPO_H
#define ORR_TOPO_TOPO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "core/base/export.h"
#include "core/topo/share.h"

struct starpu_tree;

/* This process is number index of the sharers of this node. Before starpu_init. Without it the launcher's
 * local-rank variables say so. */
ORR_EXPORT void orr_topo_share(unsigned index, unsigned sharers);
/* Of the processors that it may use it takes these (share.h). NULL: its part of them, as if all sharers might
 * use the same, when no launcher bound it to a part already. Before starpu_init. */
ORR_EXPORT void orr_topo_take(const struct orr_processors *mine);
/* Fills in allowed and core: what this process may use, before sharing. 0 or -ENODEV. */
ORR_EXPORT int orr_topo_claim(struct orr_share_claim *claim_out);
/* Which of the sharers it is; 0: the first, or alone. And how many there are; 0: nobody says it, or alone. */
unsigned orr_topo_place(void);
unsigned orr_topo_sharers(void);
/* A number that is the same for the ranks that one launcher started on this node, and hardly for others; not
 * 0. */
uint64_t orr_topo_run(void);
/* The number of this process among all that its launcher started, as that says; -1: it is the only one, or
 * nobody says it. Any thread. */
ORR_EXPORT int orr_topo_launched_rank(void);
/* How many processes that launcher says it started; -1: it does not. Any thread. */
ORR_EXPORT int orr_topo_launched_count(void);
/* Its part of so many devices that all sharers see: see orr_share_slice. */
unsigned orr_topo_devices(unsigned total, long wanted, unsigned *first_out);

int orr_topo_init(void); /* 0, or -ENODEV when hwloc fails (said why) */
void orr_topo_fini(void);

/* Cores for workers: the allowed ones, or this rank's part of them; at least 1. */
unsigned orr_topo_cores(void);
/* Binds the calling thread to core i (modulo the count). That the system refuses is said once; a machine that
 * is not this one (STARPU_HWLOC_INPUT, HWLOC_XMLFILE) is only planned for. */
void orr_topo_bind_self(unsigned i);
/* Binds the calling thread to all of these cores: threads that it makes inherit that. */
void orr_topo_bind_self_to(const unsigned *list, unsigned count);
/* The same for the main thread: what it was bound to before, it is bound to again at the end, which may come
 * from any thread, and does nothing without the beginning. */
void orr_topo_bind_main(unsigned i);
void orr_topo_unbind_main(void);
/* If the calling thread runs on a core that is not ours, and may run on ours: moves it there; its binding
 * stays as it is. True if it was moved. */
ORR_EXPORT bool orr_topo_come_home(void);
/* The logical number of the object of this type (hwloc_obj_type_t) that core i is in; -1: no such object has
 * it. */
int orr_topo_object_above(unsigned i, int type);
/* The same for a level of the machine by name: a number that differs where the level does. Cores that are in
 * none have one in common. */
enum orr_topo_level { ORR_TOPO_NUMA, ORR_TOPO_SOCKET, ORR_TOPO_CACHE };
int orr_topo_level_above(unsigned i, enum orr_topo_level level);
/* Whether there are sockets with several NUMA nodes, rather than nodes with several sockets. */
bool orr_topo_sockets_hold_nodes(void);
/* The logical number of the NUMA node to which core i belongs; -1: none. */
int orr_topo_numa_of(unsigned i);
/* Writes the logical numbers of the NUMA nodes to which our cores belong, at most max, in the order of cores;
 * returns how many. */
unsigned orr_topo_numa_nodes(unsigned *list, unsigned max);
/* The logical number of the NUMA node near a device, named as "0000:3b:00.0"; -1: not known. The first such
 * question reads the machine anew, with devices: for the thread that starts the runtime. */
int orr_topo_numa_near_pci(const char *bus);
/* Writes numbers of our cores, at most max, those that are nearest to such a device first, else in their
 * order; returns how many. 0: it is not known where the device is, or all cores are as near. */
unsigned orr_topo_cores_near_pci(const char *bus, unsigned *list, unsigned max);
/* What the system calls that NUMA node; -1: there is none. */
int orr_topo_numa_os_index(unsigned numa);
/* Has the whole pages of a memory area be on a NUMA node when they are first used (-1: on any again); other
 * nodes if it is full. Does nothing where the system cannot. */
void orr_topo_bind_memory(int numa, void *p, size_t bytes);
/* Name for the system of core i (an OS index). */
unsigned orr_topo_os_index(unsigned i);
/* A text for the allowed set, like "0-3". */
void orr_topo_allowed_text(char *dst, size_t bytes);
/* The hwloc_topology_t, for public functions that hand it out; NULL before init. */
void *orr_topo_handle(void);
/* For core i: its set as a new hwloc_cpuset_t, the caller's; its hwloc_obj_t. NULL: out of memory, or before
 * init. */
void *orr_topo_cpuset_dup(unsigned i);
void *orr_topo_object(unsigned i);
/* How far cores are from each other: levels from the machine down to what they share, the more the nearer. */
int orr_topo_shared_depth(unsigned i, unsigned j);
/* The cores as a tree in the shape of the machine, made on first use; a core's id is its number. NULL: out of
 * memory. */
struct starpu_tree *orr_topo_tree(void);
/* Mask of the NUMA nodes that hold a memory area, -1: not known. */
long orr_topo_memory_location(const void *p, size_t bytes);
/* Prints the machine, one line an object, indented. */
void orr_topo_print(FILE *f);

#endif
