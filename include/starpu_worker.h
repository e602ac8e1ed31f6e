/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_worker.h: the workers (threads that run tasks), their kinds, and the memory nodes they use.
 *
 * Threads: any, between starpu_init() and starpu_shutdown(); nothing here blocks unless it says so.
 * Owns: nothing.
 * Not here: choosing how many workers there are (struct starpu_conf in starpu.h); waking workers
 * (starpu_scheduler.h).
 *
 * Common rule: workers are numbered from 0 to starpu_worker_get_count() - 1, combined workers after them;
 * memory nodes from 0 (main memory). A function that takes a number out of range returns -1, or an empty
 * answer.
 */
#ifndef STARPU_WORKER_H
#define STARPU_WORKER_H

#include <orrery_kinds.h>
#include <starpu_util.h>

#include <stdio.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Number of the memory node that is main memory. */
#define STARPU_MAIN_RAM 0

struct starpu_task;
struct starpu_tree;
struct hwloc_bitmap_s;
struct hwloc_obj;

/* What a memory node is made of. */
enum starpu_node_kind {
    STARPU_UNUSED = 0,
    STARPU_CPU_RAM = 1,
    STARPU_CUDA_RAM = 2,
    STARPU_OPENCL_RAM = 3,
    STARPU_DISK_RAM = 4,
    STARPU_MAX_FPGA_RAM = 5,
    STARPU_MPI_SC_RAM = 6,
    STARPU_MPI_MS_RAM = STARPU_MPI_SC_RAM,
    STARPU_TCPIP_SC_RAM = 7,
    STARPU_TCPIP_MS_RAM = STARPU_TCPIP_SC_RAM,
    STARPU_HIP_RAM = 8,
    STARPU_SYCL_RAM = 9,
    STARPU_MIC_RAM = 10,
    ORRERY_KINDS(ORRERY_KIND_RAM) /* orrery_kinds.h */
    STARPU_NRAM,
    STARPU_MAX_RAM = STARPU_NRAM - 1
};

/* The kind of processing unit that a worker drives.
 * Bit kind + 1 of a `where` mask allows it (starpu_task.h). */
enum starpu_worker_archtype {
    STARPU_CPU_WORKER = 0,
    STARPU_CUDA_WORKER = 1,
    STARPU_OPENCL_WORKER = 2,
    STARPU_MIC_WORKER = 3,
    STARPU_MAX_FPGA_WORKER = 4,
    STARPU_MPI_SC_WORKER = 5,
    STARPU_MPI_MS_WORKER = STARPU_MPI_SC_WORKER,
    STARPU_TCPIP_SC_WORKER = 6,
    STARPU_TCPIP_MS_WORKER = STARPU_TCPIP_SC_WORKER,
    STARPU_HIP_WORKER = 7,
    STARPU_SYCL_WORKER = 8,
    ORRERY_KINDS(ORRERY_KIND_WORKER) /* orrery_kinds.h */
    STARPU_NARCH,                    /* number of kinds */
    STARPU_ANY_WORKER = 255          /* in a query: whatever the kind */
};
#define STARPU_UNKNOWN_WORKER ((enum starpu_worker_archtype) - 1)

/* ---- Collections of workers, for scheduling policies ---- */

/* Where a walk over a collection stands. Set up by init_iterator; may live on the stack. */
struct starpu_sched_ctx_iterator {
    int cursor;
    void *value;
    void *possible_value;
    char visited[STARPU_NMAXWORKERS];
    int possibly_parallel;
};

enum starpu_worker_collection_type {
    STARPU_WORKER_TREE, /* arranged like the machine's topology */
    STARPU_WORKER_LIST
};

/* A set of workers and how to walk it. */
struct starpu_worker_collection {
    int *workerids;
    void *collection_private;
    unsigned nworkers;
    void *unblocked_workers; /* those not captured by a parallel section */
    unsigned nunblocked_workers;
    union {
        void *masters; /* those that stand for a parallel section */
        void *primaries;
    };
    union {
        unsigned nmasters;
        unsigned nprimaries;
    };
    char present[STARPU_NMAXWORKERS];
    char is_unblocked[STARPU_NMAXWORKERS];
    union {
        char is_master[STARPU_NMAXWORKERS];
        char is_primary[STARPU_NMAXWORKERS];
    };
    enum starpu_worker_collection_type type;
    unsigned (*has_next)(struct starpu_worker_collection *workers, struct starpu_sched_ctx_iterator *it);
    int (*get_next)(struct starpu_worker_collection *workers, struct starpu_sched_ctx_iterator *it);
    int (*add)(struct starpu_worker_collection *workers, int worker);
    int (*remove)(struct starpu_worker_collection *workers, int worker);
    void (*init)(struct starpu_worker_collection *workers);
    void (*deinit)(struct starpu_worker_collection *workers);
    void (*init_iterator)(struct starpu_worker_collection *workers, struct starpu_sched_ctx_iterator *it);
    void (*init_iterator_for_parallel_tasks)(struct starpu_worker_collection *workers,
                                             struct starpu_sched_ctx_iterator *it, struct starpu_task *task);
};

/* The two kinds, with their methods filled in. */
extern struct starpu_worker_collection starpu_worker_list;
extern struct starpu_worker_collection starpu_worker_tree;

/* ---- Counting and finding workers ---- */

/* Number of workers: all (combined ones not counted), or those of one kind; 0 before starpu_init(). */
unsigned starpu_worker_get_count(void);
unsigned starpu_cpu_worker_get_count(void);
unsigned starpu_cuda_worker_get_count(void);
unsigned starpu_opencl_worker_get_count(void);
unsigned starpu_hip_worker_get_count(void);
unsigned starpu_max_fpga_worker_get_count(void);
unsigned starpu_sycl_worker_get_count(void);
unsigned starpu_mpi_sc_worker_get_count(void);
unsigned starpu_tcpip_sc_worker_get_count(void);
unsigned starpu_mic_worker_get_count(void); /* always 0: for programs of the 1.3 series */
#define starpu_mpi_ms_worker_get_count starpu_mpi_sc_worker_get_count
#define starpu_tcpip_ms_worker_get_count starpu_tcpip_sc_worker_get_count

/* Number of workers of a kind (STARPU_ANY_WORKER: all); -EINVAL for an unknown kind. */
int starpu_worker_get_count_by_type(enum starpu_worker_archtype type);

/* Write the numbers of the workers of a kind into workerids, at most maxsize. Returns how many were written;
 * -ERANGE, as unsigned, when there are more, maxsize of them being written all the same. */
unsigned starpu_worker_get_ids_by_type(enum starpu_worker_archtype type, int *workerids, unsigned maxsize);

/* The num-th worker of a kind, or the one that drives device devid of a kind; -1: none. */
int starpu_worker_get_by_type(enum starpu_worker_archtype type, int num);
int starpu_worker_get_by_devid(enum starpu_worker_archtype type, int devid);

/* Wait until starpu_init() has succeeded in another thread: then all workers have started. */
void starpu_worker_wait_for_initialisation(void);

/* ---- Facts about a worker ---- */

/* The calling worker; -1 for a thread that is no worker. The _check form calls orrery_set_error_hook()'s
 * function there, and ends the process if there is none. */
int starpu_worker_get_id(void);
unsigned starpu_worker_get_id_check(void);

/* Kind of a worker; STARPU_UNKNOWN_WORKER: there is no such worker, or it is a combined one. */
enum starpu_worker_archtype starpu_worker_get_type(int id);

/* Is this a kind of worker (STARPU_ANY_WORKER is none)? May workers of a kind run the task, by the mask of
 * its codelet, and its own? */
unsigned starpu_worker_archtype_is_valid(enum starpu_worker_archtype type);
unsigned starpu_worker_type_can_execute_task(enum starpu_worker_archtype worker_type,
                                             const struct starpu_task *task);

/* Returns the kind of a `where` mask that allows one kind only; STARPU_UNKNOWN_WORKER for any other. */
enum starpu_worker_archtype starpu_arch_mask_to_worker_archtype(unsigned mask);

/* Names of a kind, static strings: "STARPU_CPU_WORKER" (else "STARPU_unknown_WORKER"); as in environment
 * variables, the CPU of STARPU_NCPU (else "UNKNOWN"); and the kind of either name (else
 * STARPU_UNKNOWN_WORKER). */
const char *starpu_worker_get_type_as_string(enum starpu_worker_archtype type);
const char *starpu_worker_get_type_as_env_var(enum starpu_worker_archtype type);
enum starpu_worker_archtype starpu_worker_get_type_from_string(const char *type);

/* Copy the name of a worker, cut to maxlen bytes with the final NUL; "": there is no such worker. */
void starpu_worker_get_name(int id, char *dst, size_t maxlen);

/* Print the names of the workers of a kind, how many there are, the names of all by kind. */
void starpu_worker_display_names(FILE *output, enum starpu_worker_archtype type);
void starpu_worker_display_count(FILE *output, enum starpu_worker_archtype type);
void starpu_worker_display_all(FILE *output);

/* Device of a worker: its number in its driver, its rank among the devices of its kind, its rank among the
 * workers of its device. -1: there is no such worker. */
int starpu_worker_get_devid(int id);
int starpu_worker_get_devnum(int id);
int starpu_worker_get_subworkerid(int id);

/* Write the devices of a kind, each once, at most num. Returns how many there are. */
int starpu_worker_get_devids(enum starpu_worker_archtype type, int *devids, int num);

/* Write the workers that share a device, all of them:
 * there are STARPU_NMAXWORKERS at most. Returns how many. */
int starpu_worker_get_stream_workerids(unsigned devid, int *workerids, enum starpu_worker_archtype type);

/* Logical number of the processing unit to which a worker is bound (-1: it is not, or there is none); and the
 * workers bound to one (the array is the library's, NULL if there are none; returns its length). */
int starpu_worker_get_bindid(int workerid);
int starpu_bindid_get_workerids(int bindid, int **workerids);

/* Binding of a worker as a new hwloc set (hwloc_cpuset_t), for the caller to hwloc_bitmap_free(); its hwloc
 * object (hwloc_obj_t), the library's. NULL: it is not bound, or there is no such worker. */
struct hwloc_bitmap_s *starpu_worker_get_hwloc_cpuset(int workerid);
struct hwloc_obj *starpu_worker_get_hwloc_obj(int workerid);

/* Topology of the workers; the library's. */
struct starpu_tree *starpu_workers_get_tree(void);

/* Scheduling contexts of a worker, as a new array for the caller to free(). Returns its length; 0 and NULL:
 * there is no such worker. */
unsigned starpu_worker_get_sched_ctx_list(int worker, unsigned **sched_ctx);

/* The context with a part of a GPU (STARPU_SCHED_CTX_CUDA_NSMS) that a worker is in; STARPU_NMAX_SCHED_CTXS:
 * none. */
unsigned starpu_worker_get_sched_ctx_id_stream(unsigned stream_workerid);

/* Is the worker captured by a parallel section; does it take part in one it does not lead? Both ask the same
 * here. */
unsigned starpu_worker_is_blocked_in_parallel(int workerid);
unsigned starpu_worker_is_slave_somewhere(int workerid);
#define starpu_worker_is_sub_worker_somewhere starpu_worker_is_slave_somewhere

/* ---- Memory nodes ---- */

/* Number of memory nodes: all; those of a kind; those of main memory: 1, or with STARPU_USE_NUMA=1 one for
 * each NUMA node that has cores of ours, of which node 0 is the first. */
unsigned starpu_memory_nodes_get_count(void);
unsigned starpu_memory_nodes_get_count_by_kind(enum starpu_node_kind kind);
unsigned starpu_memory_nodes_get_numa_count(void);

/* Write the nodes of a kind, at most maxsize. Returns how many were written. */
unsigned starpu_memory_node_get_ids_by_type(enum starpu_node_kind kind, unsigned *memory_nodes_ids,
                                            unsigned maxsize);

/* Kind of a node (STARPU_UNUSED: there is no such node); the device it belongs to (-1: main memory, or none;
 * where main memories are several, the system's number of the NUMA node); the node of a kind that belongs to
 * a device, whatever devid is if main memory is one (STARPU_MAXNODES: there is none). */
enum starpu_node_kind starpu_node_get_kind(unsigned node);
int starpu_memory_node_get_devid(unsigned node);
unsigned starpu_memory_devid_find_node(int devid, enum starpu_node_kind kind);

/* Write the name of a node, cut to size bytes with the final NUL; "": there is no such node. Returns its
 * whole length. */
int starpu_memory_node_get_name(unsigned node, char *name, size_t size);

/* Do device addresses on the node need an offset beside the pointer (OpenCL)? */
int starpu_node_needs_offset(unsigned node);

/* The node of a worker, and of the calling worker; STARPU_MAIN_RAM: there is no such worker, or the caller is
 * none. A CPU worker uses data in other main memories, too (starpu_task_get_current_data_node). */
unsigned starpu_worker_get_memory_node(unsigned workerid);
unsigned starpu_worker_get_local_memory_node(void);

/* Kind of node of a kind of worker (STARPU_UNUSED: none), and back (STARPU_UNKNOWN_WORKER). */
enum starpu_node_kind starpu_worker_get_memory_node_kind(enum starpu_worker_archtype type);
enum starpu_worker_archtype starpu_memory_node_get_worker_archtype(enum starpu_node_kind node_kind);

/* The main memory on the NUMA node to which the system gives the number osid, and back; -1: there is none. */
int starpu_memory_nodes_numa_id_to_devid(int osid);
int starpu_memory_nodes_numa_devid_to_id(unsigned id);
/* The number that hwloc gives the NUMA node of main memory node `id`; -1: that is none. Of a main memory that
 * is one node, 0. */
int starpu_memory_nodes_numa_id_to_hwloclogid(unsigned id);
/* When the task that a worker runs just now should end, as its model says, on the clock of profiling_info.
 * Now if it has no model or a model that knows nothing, began before this was first called, if the worker
 * runs none, or there is no such worker. */
void starpu_worker_get_current_task_exp_end(unsigned workerid, struct timespec *date);

/* ---- Locks of workers, for scheduling policies ---- */

/* Let other threads change the calling worker's scheduling state for a while (relax_on), and stop that
 * (relax_off). The calls nest. A policy does this around anything that may wait for another worker. Nothing
 * happens on threads that are no workers, and outside of a policy's methods. */
void starpu_worker_relax_on(void);
void starpu_worker_relax_off(void);

/* Is the caller a worker whose state others may change (outside of a policy's methods, or relaxed)? */
int starpu_worker_get_relax_state(void);

/* Lock a worker's scheduling state, once it is relaxed or idle; the caller is relaxed until the unlock. Waits
 * for that. A number that is none is nothing. */
void starpu_worker_lock(int workerid);
/* Returns 0; -EBUSY when that would wait; -EINVAL: there is no such worker. */
int starpu_worker_trylock(int workerid);
void starpu_worker_unlock(int workerid);
void starpu_worker_lock_self(void);
void starpu_worker_unlock_self(void);

/* Is the calling worker inside a function of its scheduling policy? */
int starpu_worker_sched_op_pending(void);

/* Functions that each worker calls before it sleeps and after it wakes; NULL: none. */
void starpu_worker_set_going_to_sleep_callback(void (*callback)(unsigned workerid));
void starpu_worker_set_waking_up_callback(void (*callback)(unsigned workerid));

/* ---- Combined workers: several CPU workers that run one parallel task ---- */

/* How many there are, numbered after the workers. Policies pheft, peager and pprio make them in the shape of
 * the machine; others have those that were made by the next function. */
unsigned starpu_combined_worker_get_count(void);

/* Make one of these CPU workers. Returns its number, that of the one there is if there is one; -EINVAL: none
 * or too many workers, one twice, one that is no CPU's;
 * -ENOMEM; -ENOSPC: STARPU_NMAX_COMBINEDWORKERS exist. */
int starpu_combined_worker_assign_workerid(int nworkers, int workerid_array[]);

/* Is this the number of a combined worker? */
unsigned starpu_worker_is_combined_worker(int id);

/* In a parallel task: the combined worker, its size, the rank of the caller in it (0 where one calls a body
 * for all). Elsewhere: the calling worker (-1: none), 1, 0. */
int starpu_combined_worker_get_id(void);
int starpu_combined_worker_get_size(void);
int starpu_combined_worker_get_rank(void);

/* Size and members (rising) of a combined worker, either unless it is NULL; the array is the library's.
 * Returns 0; -EINVAL: the number is not that of a combined worker. */
int starpu_combined_worker_get_description(int workerid, int *worker_size, int **combined_workerid);

/* Can this worker or combined worker run implementation nimpl of the task (1, else 0)? can_execute gets the
 * number of the combined worker. */
int starpu_combined_worker_can_execute_task(unsigned workerid, struct starpu_task *task, unsigned nimpl);

/* Make a task that is ready one for the workers of this combined worker, or for any worker_size CPU workers.
 * The policy that has it then gives each of them a copy of its own (starpu_task_dup()), and not the task
 * itself; each waits for the others. Two such tasks must come to all workers they share in the same order:
 * hand out the copies of one under a lock. The task's own callbacks and dependencies count, once. */
void starpu_parallel_task_barrier_init(struct starpu_task *task, int workerid);
void starpu_parallel_task_barrier_init_n(struct starpu_task *task, int worker_size);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
