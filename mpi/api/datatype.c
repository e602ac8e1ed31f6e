/* SPDX-License-Identifier: BSD-3-Clause */
/* api/datatype.c: MPI types that the program gives for interfaces.
 * Threads: registration before messages of that interface; types are made on any thread. Owns: the table of
 * functions.
 * Not here: layouts that need no such type (handle_payload.c). */
#include <errno.h>
#include <limits.h>
#include <starpu_mpi.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/base/sync.h"
#include "core/mem/node.h"
#include "mpi/api/comm.h"
#include "mpi/api/session.h"
#include "mpi/value/handle_payload.h"

enum { INTERFACES_MAX = 256 };

struct functions {
    starpu_mpi_datatype_allocate_func_t allocate;
    starpu_mpi_datatype_node_allocate_func_t allocate_node;
    starpu_mpi_datatype_free_func_t free;
};

static ORR_SPIN(datatypes) lock; /* protects table; leaf */
static struct functions table[INTERFACES_MAX];

/* A made type and how it is freed; payload.opaque points here, the type first. */
struct made {
    MPI_Datatype type;
    starpu_mpi_datatype_free_func_t free;
};

static struct functions functions_of(int id)
{
    struct functions f = { 0 };
    if (id < 0 || id >= INTERFACES_MAX) return f;
    orr_spin_lock(&lock);
    f = table[id];
    orr_spin_unlock(&lock);
    return f;
}

static bool make(struct orr_data *h, struct orr_payload *p)
{
    struct functions f = functions_of(h->ops->interfaceid);
    if (!f.allocate && !f.allocate_node) return false;
    struct made *m = orr_malloc(sizeof *m);
    if (!m) return false;
    MPI_Count bytes = 0;
    orr_mpi_enter();
    int r = f.allocate_node ? f.allocate_node(h, orr_node_home(), &m->type) : f.allocate(h, &m->type);
    if (!r) MPI_Type_size_x(m->type, &bytes);
    orr_mpi_leave();
    if (r) {
        orr_free(m);
        return false;
    }
    m->free = f.free;
    p->kind = ORR_PAYLOAD_OPAQUE;
    p->opaque = m;
    p->bytes = (size_t)bytes;
    return true;
}

static void end(void *opaque)
{
    struct made *m = opaque;
    orr_mpi_enter();
    if (m->free)
        m->free(&m->type);
    else
        MPI_Type_free(&m->type);
    orr_mpi_leave();
    orr_free(m);
}

static int set(int id, struct functions f, const char *fn)
{
    if (id < 0 || id >= INTERFACES_MAX) {
        orr_error("%s: %d is not the number of an interface (at most %d are known)", fn, id,
                  INTERFACES_MAX - 1);
        return -EINVAL;
    }
    orr_spin_lock(&lock);
    table[id] = f;
    orr_spin_unlock(&lock);
    orr_program_types.end = end;
    orr_program_types.make = make;
    return 0;
}

static int check(bool has_function, const char *fn)
{
    if (has_function) return 0;
    orr_error(
        "%s: the function that makes the type is NULL; use starpu_mpi_datatype_unregister to take one back",
        fn);
    return -EINVAL;
}

int starpu_mpi_interface_datatype_register(enum starpu_data_interface_id id,
                                           starpu_mpi_datatype_allocate_func_t allocate_datatype_func,
                                           starpu_mpi_datatype_free_func_t free_datatype_func)
{
    static const char fn[] = "starpu_mpi_interface_datatype_register";
    int r = check(allocate_datatype_func != NULL, fn);
    return r ? r
             : set(id, (struct functions){ .allocate = allocate_datatype_func, .free = free_datatype_func },
                   fn);
}

int starpu_mpi_interface_datatype_node_register(
    enum starpu_data_interface_id id, starpu_mpi_datatype_node_allocate_func_t allocate_datatype_func,
    starpu_mpi_datatype_free_func_t free_datatype_func)
{
    static const char fn[] = "starpu_mpi_interface_datatype_node_register";
    int r = check(allocate_datatype_func != NULL, fn);
    return r ? r
             : set(id,
                   (struct functions){ .allocate_node = allocate_datatype_func, .free = free_datatype_func },
                   fn);
}

int starpu_mpi_interface_datatype_unregister(enum starpu_data_interface_id id)
{
    return set(id, (struct functions){ 0 }, "starpu_mpi_interface_datatype_unregister");
}

static int id_of(starpu_data_handle_t handle)
{
    return orr_data_valid(handle) ? (int)handle->ops->interfaceid : -1;
}

int starpu_mpi_datatype_register(starpu_data_handle_t handle,
                                 starpu_mpi_datatype_allocate_func_t allocate_datatype_func,
                                 starpu_mpi_datatype_free_func_t free_datatype_func)
{
    return starpu_mpi_interface_datatype_register((enum starpu_data_interface_id)id_of(handle),
                                                  allocate_datatype_func, free_datatype_func);
}

int starpu_mpi_datatype_node_register(starpu_data_handle_t handle,
                                      starpu_mpi_datatype_node_allocate_func_t allocate_datatype_func,
                                      starpu_mpi_datatype_free_func_t free_datatype_func)
{
    return starpu_mpi_interface_datatype_node_register((enum starpu_data_interface_id)id_of(handle),
                                                       allocate_datatype_func, free_datatype_func);
}

int starpu_mpi_datatype_unregister(starpu_data_handle_t handle)
{
    return starpu_mpi_interface_datatype_unregister((enum starpu_data_interface_id)id_of(handle));
}
