/* SPDX-License-Identifier: BSD-3-Clause */
/* topo.c: reads the machine with hwloc and splits its cores among ranks that share them.
 * Threads: see topo.h. Owns: the topology and the list of cores. Not here: workers. */
#include "core/topo/topo.h"

#include <errno.h>
#include <hwloc.h>
#include <hwloc/linux.h>
#include <sched.h>
#include <starpu_tree.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/env.h"
#include "core/base/log.h"
#include "core/base/sync.h"

static hwloc_topology_t topology;     /* [const between init and fini] */
static hwloc_topology_t with_devices; /* the same with PCI devices; NULL: not asked for [own: who starts] */
static hwloc_cpuset_t *cores;         /* one singlified set for each core of ours */
static unsigned core_count;
static bool bind_threads;
static struct starpu_tree tree; /* [lock: tree_lock while it is made; const afterwards] */
static ORR_MUTEX(topo_tree) tree_lock = PTHREAD_MUTEX_INITIALIZER; /* protects the making of tree; leaf */
static unsigned share_index, share_count; /* of the node; count 0: alone, or nobody said */
static bool share_told;                   /* and not by the launcher */
static struct orr_processors taken;       /* of the allowed ones; when takes */
static bool takes;

void orr_topo_share(unsigned index, unsigned sharers)
{
    share_index = index;
    share_count = sharers;
    share_told = true;
}

void orr_topo_take(const struct orr_processors *mine)
{
    takes = mine != NULL;
    if (mine) taken = *mine;
}

unsigned orr_topo_place(void)
{
    return share_index;
}

unsigned orr_topo_sharers(void)
{
    return share_count;
}

unsigned orr_topo_devices(unsigned total, long wanted, unsigned *first_out)
{
    return orr_share_slice(share_index, share_count, total, wanted, first_out);
}

/* The first of these variables that is set, as a number; -1: none. */
static long first_number(const char *const *names)
{
    for (; *names; names++) {
        const char *s = getenv(*names);
        if (s && *s) return atol(s);
    }
    return -1;
}

uint64_t orr_topo_run(void)
{
    static const char *const names[] = { "PMIX_NAMESPACE", "PMI_JOBID", "SLURM_JOB_ID", "SLURM_STEP_ID" };
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    bool any = false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *s = getenv(names[i]);
        any |= s != NULL;
        for (; s && *s; s++) hash = (hash ^ (unsigned char)*s) * UINT64_C(0x100000001b3);
    }
    return any ? hash | 1 : (uint64_t)getppid(); /* the launcher, as a rule */
}

/* What the launcher says of ranks on this node; Open MPI, MPICH/Hydra, Slurm. */
static void share_from_launcher(void)
{
    static const char *const rank_names[] = { "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                              "SLURM_LOCALID", NULL };
    static const char *const size_names[] = { "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", NULL };
    long rank = first_number(rank_names), size = first_number(size_names);
    if (share_told || rank < 0 || size < 2 || rank >= size) return;
    share_index = (unsigned)rank;
    share_count = (unsigned)size;
}

int orr_topo_launched_count(void)
{
    static const char *const names[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", NULL };
    return (int)first_number(names);
}

int orr_topo_launched_rank(void)
{
    static const char *const rank_names[] = { "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID",
                                              NULL };
    static const char *const size_names[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS", NULL };
    return first_number(size_names) == 1 ? -1 : (int)first_number(rank_names);
}

/* Whether the launcher gave this process a part of the machine's cores: then that part is ours alone. */
static bool bound_to_part(hwloc_const_cpuset_t allowed)
{
    return !hwloc_bitmap_isincluded(hwloc_topology_get_complete_cpuset(topology), allowed) &&
           !hwloc_bitmap_isincluded(hwloc_topology_get_topology_cpuset(topology), allowed);
}

static int list_cores(hwloc_const_cpuset_t allowed)
{
    int total = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
    hwloc_obj_type_t type = total > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
    if (total <= 0) total = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
    cores = orr_calloc(total > 0 ? (size_t)total : 1, sizeof *cores);
    if (!cores) return -ENOMEM;
    for (int i = 0; i < total; i++) {
        hwloc_cpuset_t s = hwloc_bitmap_dup(hwloc_get_obj_by_type(topology, type, (unsigned)i)->cpuset);
        hwloc_bitmap_and(s, s, allowed);
        if (hwloc_bitmap_iszero(s)) {
            hwloc_bitmap_free(s);
            continue;
        }
        hwloc_bitmap_singlify(s);
        cores[core_count++] = s;
    }
    return 0;
}

/* Keeps our part of the cores; with more ranks than cores, one core, which others have too. */
static void take_part(void)
{
    if (share_count < 2 || core_count == 0) return;
    unsigned first, last = orr_share_slice(share_index, share_count, core_count, -1, &first);
    last += first;
    for (unsigned i = 0; i < core_count; i++) {
        if (i >= first && i < last)
            cores[i - first] = cores[i];
        else
            hwloc_bitmap_free(cores[i]);
    }
    core_count = last - first;
}

/* hwloc itself knows HWLOC_XMLFILE. Threads are not bound on a machine that is another one. */
static void read_another_machine(hwloc_topology_t t)
{
    const char *file = orr_env_string(ORR_SETTING(STARPU_HWLOC_INPUT));
    if (file && hwloc_topology_set_xml(t, file) != 0)
        orr_warn("STARPU_HWLOC_INPUT=%s is ignored: it takes a file that \"lstopo FILE.xml\" wrote (%s)",
                 file, strerror(errno));
}

/* Reads the machine, unless that was done for a claim. */
static int load(void)
{
    if (topology) return 0;
    if (hwloc_topology_init(&topology) != 0) goto failed;
    read_another_machine(topology);
    if (hwloc_topology_load(topology) == 0) return 0;
    hwloc_topology_destroy(topology);
failed:
    topology = NULL;
    orr_error("hwloc cannot read this machine's topology; check that /sys and /proc are mounted");
    return -ENODEV;
}

/* What this process may use, as a new set; NULL: out of memory. */
static hwloc_bitmap_t allowed_set(void)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    if (set && (hwloc_get_cpubind(topology, set, HWLOC_CPUBIND_PROCESS) != 0 || hwloc_bitmap_iszero(set)))
        hwloc_bitmap_copy(set, hwloc_topology_get_topology_cpuset(topology));
    return set;
}

int orr_topo_claim(struct orr_share_claim *claim_out)
{
    hwloc_bitmap_t set = load() == 0 ? allowed_set() : NULL;
    memset(&claim_out->allowed, 0, sizeof claim_out->allowed);
    memset(claim_out->core, 0, sizeof claim_out->core);
    if (!set) return -ENODEV;
    hwloc_bitmap_and(set, set, hwloc_topology_get_topology_cpuset(topology));
    for (int p = hwloc_bitmap_first(set); p >= 0 && p < ORR_SHARE_PROCESSORS; p = hwloc_bitmap_next(set, p)) {
        hwloc_obj_t pu = hwloc_get_pu_obj_by_os_index(topology, (unsigned)p);
        hwloc_obj_t core = pu ? hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, pu) : NULL;
        orr_share_add(&claim_out->allowed, (unsigned)p);
        claim_out->core[p] = (uint16_t)(core ? hwloc_bitmap_first(core->cpuset) : p);
    }
    hwloc_bitmap_free(set);
    return 0;
}

/* Leaves in the set what we take of it; all, if that is nothing. */
static void keep_taken(hwloc_bitmap_t set)
{
    hwloc_bitmap_t mine = hwloc_bitmap_alloc();
    for (unsigned p = 0; mine && p < ORR_SHARE_PROCESSORS; p++)
        if (orr_share_has(&taken, p)) hwloc_bitmap_set(mine, p);
    if (mine && hwloc_bitmap_intersects(mine, set)) hwloc_bitmap_and(set, set, mine);
    hwloc_bitmap_free(mine);
}

int orr_topo_init(void)
{
    int r = load();
    if (r) return r;
    hwloc_bitmap_t set = allowed_set();
    core_count = 0;
    if (set && takes) keep_taken(set);
    r = set ? list_cores(set) : -ENOMEM;
    share_from_launcher();
    if (r == 0 && !takes && (share_told || !bound_to_part(set))) take_part();
    hwloc_bitmap_free(set);
    bind_threads = !orr_env_long(ORR_SETTING(STARPU_WORKERS_NOBIND), 0, 0, 1);
    return r;
}

void orr_topo_fini(void)
{
    for (unsigned i = 0; i < core_count; i++) hwloc_bitmap_free(cores[i]);
    if (tree.nodes) starpu_tree_free(&tree);
    orr_free(cores);
    cores = NULL;
    core_count = 0;
    if (topology) hwloc_topology_destroy(topology);
    if (with_devices) hwloc_topology_destroy(with_devices);
    topology = with_devices = NULL;
}

unsigned orr_topo_cores(void)
{
    return core_count ? core_count : 1;
}

static void bind_self(hwloc_const_cpuset_t set)
{
    static _Atomic bool said;
    char text[64];
    if (hwloc_set_cpubind(topology, set, HWLOC_CPUBIND_THREAD) == 0 || orr_load_relaxed(&said)) return;
    int why = errno;
    if (atomic_exchange_explicit(&said, true, memory_order_acq_rel)) return;
    hwloc_bitmap_list_snprintf(text, sizeof text, set);
    orr_warn("a thread could not be bound to processor %s (%s): such threads run where the system puts them; "
             "STARPU_WORKERS_NOBIND=1 asks for that",
             text, strerror(why));
}

void orr_topo_bind_self(unsigned i)
{
    if (bind_threads && core_count) bind_self(cores[i % core_count]);
}

static hwloc_cpuset_t main_was; /* of the main thread; NULL: it is not bound here */
static pid_t main_thread;       /* the system's number */

static pid_t own_number(void)
{
    return (pid_t)syscall(SYS_gettid);
}

void orr_topo_bind_main(unsigned i)
{
    if (!bind_threads || !core_count || main_was || !(main_was = hwloc_bitmap_alloc())) return;
    main_thread = own_number();
    if (hwloc_get_cpubind(topology, main_was, HWLOC_CPUBIND_THREAD) == 0) {
        orr_topo_bind_self(i);
        return;
    }
    hwloc_bitmap_free(main_was); /* what cannot be undone is not done */
    main_was = NULL;
}

void orr_topo_unbind_main(void)
{
    if (!main_was) return;
    if (main_thread == own_number())
        bind_self(main_was);
    else if (syscall(SYS_tgkill, getpid(), main_thread, 0) == 0) /* it is still there */
        hwloc_linux_set_tid_cpubind(topology, main_thread, main_was);
    hwloc_bitmap_free(main_was);
    main_was = NULL;
}

void orr_topo_bind_self_to(const unsigned *list, unsigned count)
{
    hwloc_cpuset_t set = bind_threads && core_count ? hwloc_bitmap_alloc() : NULL;
    if (!set) return;
    for (unsigned i = 0; i < count; i++) hwloc_bitmap_or(set, set, cores[list[i] % core_count]);
    bind_self(set);
    hwloc_bitmap_free(set);
}

static bool is_home(int processor)
{
    for (unsigned i = 0; i < core_count; i++)
        if (hwloc_bitmap_isset(cores[i], (unsigned)processor)) return true;
    return false;
}

static bool move_into(hwloc_cpuset_t before, hwloc_cpuset_t home)
{
    if (hwloc_get_cpubind(topology, before, HWLOC_CPUBIND_THREAD)) return false;
    for (unsigned i = 0; i < core_count; i++) hwloc_bitmap_or(home, home, cores[i]);
    hwloc_bitmap_and(home, home, before);
    if (hwloc_bitmap_iszero(home) || hwloc_set_cpubind(topology, home, HWLOC_CPUBIND_THREAD)) return false;
    hwloc_set_cpubind(topology, before, HWLOC_CPUBIND_THREAD); /* the system leaves it where it is */
    return true;
}

bool orr_topo_come_home(void)
{
    int processor = sched_getcpu();
    if (!bind_threads || processor < 0 || is_home(processor)) return false;
    hwloc_cpuset_t before = hwloc_bitmap_alloc(), home = hwloc_bitmap_alloc();
    bool moved = before && home && move_into(before, home);
    hwloc_bitmap_free(before);
    hwloc_bitmap_free(home);
    return moved;
}

int orr_topo_object_above(unsigned i, int type)
{
    hwloc_obj_t obj = NULL, nearest = NULL; /* memory of the whole machine is farther than a socket's own */
    while (core_count && (obj = hwloc_get_next_obj_by_type(topology, (hwloc_obj_type_t)type, obj)) != NULL)
        if (obj->cpuset && hwloc_bitmap_isincluded(cores[i % core_count], obj->cpuset) &&
            (!nearest || hwloc_bitmap_weight(obj->cpuset) < hwloc_bitmap_weight(nearest->cpuset)))
            nearest = obj;
    return nearest ? (int)nearest->logical_index : -1;
}

/* A machine may have some of a level and cores in none, or in one of the next: each number means one group.
 */
static int first_level_above(unsigned i, const hwloc_obj_type_t *types, unsigned ntypes)
{
    int before = 0;
    for (unsigned k = 0; k < ntypes; k++) {
        int group = orr_topo_object_above(i, (int)types[k]);
        if (group >= 0) return before + group;
        before += hwloc_get_nbobjs_by_type(topology, types[k]);
    }
    return before;
}

int orr_topo_level_above(unsigned i, enum orr_topo_level level)
{
    static const hwloc_obj_type_t caches[] = { HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE };
    static const hwloc_obj_type_t nodes = HWLOC_OBJ_NUMANODE, packages = HWLOC_OBJ_PACKAGE;
    if (core_count == 0) return 0;
    switch (level) {
    case ORR_TOPO_NUMA: return first_level_above(i, &nodes, 1);
    case ORR_TOPO_SOCKET: return first_level_above(i, &packages, 1);
    case ORR_TOPO_CACHE: return first_level_above(i, caches, 2);
    }
    return 0;
}

bool orr_topo_sockets_hold_nodes(void)
{
    for (unsigned i = 1; i < core_count; i++)
        if (orr_topo_level_above(i, ORR_TOPO_SOCKET) == orr_topo_level_above(i - 1, ORR_TOPO_SOCKET) &&
            orr_topo_level_above(i, ORR_TOPO_NUMA) != orr_topo_level_above(i - 1, ORR_TOPO_NUMA))
            return true;
    return false;
}

int orr_topo_numa_of(unsigned i)
{
    return orr_topo_object_above(i, HWLOC_OBJ_NUMANODE);
}

unsigned orr_topo_numa_nodes(unsigned *list, unsigned max)
{
    unsigned count = 0;
    for (unsigned i = 0; i < core_count && count < max; i++) {
        int numa = orr_topo_numa_of(i);
        unsigned at = 0;
        while (numa >= 0 && at < count && list[at] != (unsigned)numa) at++;
        if (numa >= 0 && at == count) list[count++] = (unsigned)numa;
    }
    return count;
}

int orr_topo_numa_os_index(unsigned numa)
{
    hwloc_obj_t obj = topology ? hwloc_get_obj_by_type(topology, HWLOC_OBJ_NUMANODE, numa) : NULL;
    return obj ? (int)obj->os_index : -1;
}

/* What is above a PCI device in the machine that was read with devices; NULL: it is not known. */
static hwloc_obj_t above_pci(const char *bus)
{
    if (!topology || !bus[0]) return NULL;
    if (!with_devices) {
        hwloc_topology_t t;
        if (hwloc_topology_init(&t) != 0) return NULL;
        read_another_machine(t);
        hwloc_topology_set_type_filter(t, HWLOC_OBJ_PCI_DEVICE, HWLOC_TYPE_FILTER_KEEP_ALL);
        if (hwloc_topology_load(t) != 0) {
            hwloc_topology_destroy(t);
            return NULL;
        }
        with_devices = t;
    }
    hwloc_obj_t device = hwloc_get_pcidev_by_busidstring(with_devices, bus);
    return device ? hwloc_get_non_io_ancestor_obj(with_devices, device) : NULL;
}

int orr_topo_numa_near_pci(const char *bus)
{
    hwloc_obj_t above = above_pci(bus);
    int os = above && above->nodeset ? hwloc_bitmap_first(above->nodeset) : -1;
    hwloc_obj_t node = os >= 0 ? hwloc_get_numanode_obj_by_os_index(topology, (unsigned)os) : NULL;
    return node && hwloc_bitmap_weight(above->nodeset) == 1 ? (int)node->logical_index : -1;
}

static bool is_in(unsigned core, hwloc_obj_t obj)
{
    return hwloc_bitmap_isincluded(cores[core], obj->cpuset);
}

unsigned orr_topo_cores_near_pci(const char *bus, unsigned *list, unsigned max)
{
    unsigned count = 0, nearest = 0;
    hwloc_obj_t above = above_pci(bus);
    for (unsigned i = 0; above && i < core_count; i++) nearest += is_in(i, above);
    if (nearest == core_count) return 0;
    for (hwloc_obj_t inner = NULL; above; inner = above, above = above->parent)
        for (unsigned i = 0; i < core_count && count < max; i++)
            if (is_in(i, above) && !(inner && is_in(i, inner))) list[count++] = i;
    return count;
}

void orr_topo_bind_memory(int numa, void *p, size_t bytes)
{
    hwloc_obj_t obj =
        topology && numa >= 0 ? hwloc_get_obj_by_type(topology, HWLOC_OBJ_NUMANODE, (unsigned)numa) : NULL;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = ((uintptr_t)p + page - 1) & ~(page - 1), end = ((uintptr_t)p + bytes) & ~(page - 1);
    if (!topology || end <= begin) return;
    hwloc_set_area_membind(topology, (void *)begin, end - begin,
                           obj ? obj->nodeset : hwloc_topology_get_topology_nodeset(topology),
                           obj ? HWLOC_MEMBIND_BIND : HWLOC_MEMBIND_DEFAULT, HWLOC_MEMBIND_BYNODESET);
}

unsigned orr_topo_os_index(unsigned i)
{
    return core_count ? (unsigned)hwloc_bitmap_first(cores[i % core_count]) : 0;
}

void orr_topo_allowed_text(char *dst, size_t bytes)
{
    dst[0] = 0;
    hwloc_topology_t t = topology;
    if (!t && (hwloc_topology_init(&t) != 0 || hwloc_topology_load(t) != 0)) return;
    hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
    if (allowed && hwloc_get_cpubind(t, allowed, HWLOC_CPUBIND_PROCESS) == 0)
        hwloc_bitmap_list_snprintf(dst, bytes, allowed);
    hwloc_bitmap_free(allowed);
    if (t != topology) hwloc_topology_destroy(t);
}

void *orr_topo_handle(void)
{
    return topology;
}

/* ---- for public functions ---- */

void *orr_topo_cpuset_dup(unsigned i)
{
    return core_count ? hwloc_bitmap_dup(cores[i % core_count]) : NULL;
}

void *orr_topo_object(unsigned i)
{
    return core_count ? hwloc_get_pu_obj_by_os_index(topology, orr_topo_os_index(i)) : NULL;
}

int orr_topo_shared_depth(unsigned i, unsigned j)
{
    hwloc_obj_t a = orr_topo_object(i), b = orr_topo_object(j);
    return a && b ? hwloc_get_common_ancestor_obj(topology, a, b)->depth : 0;
}

/* The number of our core that lies in the set, -1: none does. */
static int core_in(hwloc_const_cpuset_t set)
{
    for (unsigned i = 0; i < core_count; i++)
        if (hwloc_bitmap_isincluded(cores[i], set)) return (int)i;
    return -1;
}

/* Fills in t for obj, which holds cores of ours; inner nodes get ids from *next_id on. */
static void build_tree(struct starpu_tree *t, struct starpu_tree *father, hwloc_obj_t obj, int level,
                       int *next_id)
{
    unsigned arity = 0, at = 0;
    for (unsigned i = 0; i < obj->arity; i++) arity += core_in(obj->children[i]->cpuset) >= 0;
    if (arity == 0) {
        starpu_tree_insert(t, core_in(obj->cpuset), level, 1, 0, father);
        return;
    }
    starpu_tree_prepare_children(arity, t);
    starpu_tree_insert(t, (*next_id)++, level, 0, t->arity, father);
    for (unsigned i = 0; i < obj->arity && (int)at < t->arity; i++)
        if (core_in(obj->children[i]->cpuset) >= 0)
            build_tree(&t->nodes[at++], t, obj->children[i], level + 1, next_id);
}

struct starpu_tree *orr_topo_tree(void)
{
    pthread_mutex_lock(&tree_lock);
    if (!tree.nodes && core_count) {
        int next_id = (int)core_count;
        build_tree(&tree, NULL, hwloc_get_root_obj(topology), 0, &next_id);
    }
    pthread_mutex_unlock(&tree_lock);
    return tree.nodes ? &tree : NULL;
}

long orr_topo_memory_location(const void *p, size_t bytes)
{
    hwloc_bitmap_t nodes = topology ? hwloc_bitmap_alloc() : NULL;
    long mask = -1;
    if (nodes && hwloc_get_area_memlocation(topology, p, bytes, nodes, HWLOC_MEMBIND_BYNODESET) == 0 &&
        !hwloc_bitmap_iszero(nodes))
        mask = (long)hwloc_bitmap_to_ulong(nodes);
    hwloc_bitmap_free(nodes);
    return mask;
}

static void print_object(FILE *f, hwloc_obj_t obj, int indent)
{
    char type[64], attributes[128];
    hwloc_obj_type_snprintf(type, sizeof type, obj, 0);
    hwloc_obj_attr_snprintf(attributes, sizeof attributes, obj, " ", 0);
    fprintf(f, "%*s%s", indent, "", type);
    if (obj->os_index != HWLOC_UNKNOWN_INDEX) fprintf(f, " P#%u", obj->os_index);
    fprintf(f, "%s%s\n", *attributes ? " " : "", attributes);
    for (hwloc_obj_t c = NULL; (c = hwloc_get_next_child(topology, obj, c)) != NULL;)
        print_object(f, c, indent + 2);
}

void orr_topo_print(FILE *f)
{
    if (topology) print_object(f, hwloc_get_root_obj(topology), 0);
}
