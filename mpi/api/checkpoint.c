/* SPDX-License-Identifier: BSD-3-Clause */
/* api/checkpoint.c: the public functions for checkpoints: argument lists, and what is wrong with them.
 * Threads: see starpu_mpi_ft.h. Owns: nothing. Not here: what they do (value/checkpoint.c). */
#include <errno.h>
#include <starpu_mpi_ft.h>
#include <stdio.h>

#include "core/base/env.h"
#include "core/base/log.h"
#include "mpi/api/session.h"
#include "mpi/api/wait.h"
#include "mpi/value/ownership.h"

/* ---- what must hold ---- */

static struct orr_checkpoint *of(starpu_mpi_checkpoint_template_t t)
{
    return (struct orr_checkpoint *)t;
}

static int check(const char *fn)
{
    if (!orr_session_check(fn)) return -ESHUTDOWN;
    return orr_wait_may_block(fn, "") ? 0 : -EDEADLK;
}

/* 0 where the template is there and frozen as it should be. */
static int check_template(starpu_mpi_checkpoint_template_t t, bool frozen, const char *fn)
{
    int r = check(fn);
    if (r) return r;
    if (!t)
        orr_error("%s: the template is NULL; make it by starpu_mpi_checkpoint_template_register first", fn);
    else if (of(t)->frozen != frozen)
        orr_error("%s: the template %d is %s", fn, of(t)->id,
                  frozen ? "not frozen yet; call starpu_mpi_checkpoint_template_freeze first"
                         : "frozen already");
    else
        return 0;
    return -EINVAL;
}

/* ---- entries ---- */

static int check_backup(const struct orr_checkpoint *t, int backup, const char *fn)
{
    int ranks = orr_the_session.cluster.size;
    if (backup >= 0 && backup < ranks) return 0;
    orr_error("%s: template %d: there is no backup rank %d among %d", fn, t->id, backup, ranks);
    return -EINVAL;
}

static int add_handle(struct orr_checkpoint *t, struct orr_data *h, int backup, const char *fn)
{
    const struct orr_checkpoint_entry e = { .kind = ORR_CHECKPOINT_DATA, .handle = h };
    struct orr_checkpoint_entry with_tag = e;
    if (!orr_data_valid(h)) {
        orr_error("%s: template %d: entry %u is no registered data", fn, t->id, t->count);
        return -EINVAL;
    }
    with_tag.tag = orr_owned_tag(h);
    int owner = orr_owned_rank(orr_the_session.cluster.comm, h);
    if (with_tag.tag >= 0 && (owner >= 0 || owner == ORR_RANK_PER_NODE)) {
        int r = check_backup(t, backup, fn);
        return r ? r : orr_checkpoint_add(t, &with_tag);
    }
    orr_error(
        "%s: template %d: the data of entry %u has no %s; call starpu_mpi_data_register for it first, on "
        "every rank",
        fn, t->id, t->count, with_tag.tag < 0 ? "tag" : "owner among the layer's ranks");
    return -EINVAL;
}

static int add_value(struct orr_checkpoint *t, const struct orr_checkpoint_entry *e, int (*backup_of)(int),
                     const char *fn)
{
    if (!e->memory || !backup_of) {
        orr_error("%s: template %d: the value with tag %lld has no %s", fn, t->id, (long long)e->tag,
                  e->memory ? "function for its backup rank" : "address");
        return -EINVAL;
    }
    int r = check_backup(t, backup_of(orr_the_session.cluster.rank), fn);
    return r ? r : orr_checkpoint_add(t, e);
}

static int add_array(struct orr_checkpoint *t, starpu_data_handle_t *handles, int count, int backup,
                     const char *fn)
{
    int r = 0;
    for (int i = 0; i < count && !r; i++) r = add_handle(t, handles[i], backup, fn);
    return r;
}

/* One entry whose first word was read. */
static int add_entry(struct orr_checkpoint *t, int what, va_list *ap, const char *fn)
{
    struct orr_checkpoint_entry e = { .kind = ORR_CHECKPOINT_VALUE };
    starpu_data_handle_t *handles, handle;
    int count;
    switch (what) {
    case STARPU_R:
        handle = va_arg(*ap, starpu_data_handle_t);
        return add_handle(t, handle, va_arg(*ap, int), fn);
    case STARPU_DATA_ARRAY:
    case STARPU_DATA_MODE_ARRAY:
        handles = va_arg(*ap, starpu_data_handle_t *);
        count = va_arg(*ap, int);
        return add_array(t, handles, count, va_arg(*ap, int), fn);
    case STARPU_VALUE:
        e.memory = va_arg(*ap, void *);
        e.bytes = va_arg(*ap, size_t);
        e.tag = va_arg(*ap, starpu_mpi_tag_t);
        return add_value(t, &e, va_arg(*ap, int (*)(int)), fn);
    }
    orr_error("%s: template %d: entry %u begins with %#x, none of STARPU_R, STARPU_DATA_ARRAY, STARPU_VALUE",
              fn, t->id, t->count, (unsigned)what);
    return -EINVAL;
}

/* ---- beginning and end ---- */

static int start(const char *fn)
{
    int r = check(fn);
    if (r) return r;
    const char *folder = orr_env_string(ORR_SETTING(ORRERY_CHECKPOINT_DIR)),
               *from = orr_env_string(ORR_SETTING(ORRERY_CHECKPOINT_RESTART));
    if (!folder) folder = from ? from : "orrery-checkpoints";
    return orr_checkpoints_start(&orr_the_session.checkpoints, folder, from);
}

int starpu_mpi_checkpoint_init(void)
{
    return start("starpu_mpi_checkpoint_init");
}

int starpu_mpi_checkpoint_shutdown(void)
{
    int r = check("starpu_mpi_checkpoint_shutdown");
    return r ? r : orr_checkpoints_stop(&orr_the_session.checkpoints);
}

/* ---- templates ---- */

static int create(starpu_mpi_checkpoint_template_t *template_out, int id, int domain, const char *fn)
{
    *template_out = NULL;
    int r = start(fn);
    if (r) return r;
    *template_out =
        (starpu_mpi_checkpoint_template_t)orr_checkpoint_create(&orr_the_session.checkpoints, id, domain);
    return *template_out ? 0 : -EINVAL;
}

int starpu_mpi_checkpoint_template_create(starpu_mpi_checkpoint_template_t *cp_template, int cp_id,
                                          int cp_domain)
{
    return create(cp_template, cp_id, cp_domain, "starpu_mpi_checkpoint_template_create");
}

int starpu_mpi_checkpoint_template_add_entry(starpu_mpi_checkpoint_template_t *cp_template, ...)
{
    static const char fn[] = "starpu_mpi_checkpoint_template_add_entry";
    va_list ap;
    int r = check_template(*cp_template, false, fn);
    if (r) return r;
    va_start(ap, cp_template);
    r = add_entry(of(*cp_template), va_arg(ap, int), &ap, fn);
    va_end(ap);
    return r;
}

int starpu_mpi_checkpoint_template_freeze(starpu_mpi_checkpoint_template_t *cp_template)
{
    int r = check_template(*cp_template, false, "starpu_mpi_checkpoint_template_freeze");
    if (!r) orr_checkpoint_freeze(of(*cp_template));
    return r;
}

int starpu_mpi_checkpoint_template_register(starpu_mpi_checkpoint_template_t *cp_template, int cp_id,
                                            int cp_domain, ...)
{
    static const char fn[] = "starpu_mpi_checkpoint_template_register";
    va_list ap;
    int r = create(cp_template, cp_id, cp_domain, fn);
    if (r) return r;
    va_start(ap, cp_domain);
    for (int what; !r && (what = va_arg(ap, int)) != 0;) r = add_entry(of(*cp_template), what, &ap, fn);
    va_end(ap);
    if (!r) orr_checkpoint_freeze(of(*cp_template));
    return r;
}

int starpu_mpi_checkpoint_template_print(starpu_mpi_checkpoint_template_t cp_template)
{
    const struct orr_checkpoint *t = of(cp_template);
    if (!t) return -EINVAL;
    fprintf(stderr, "checkpoint %d, domain %d: %u entries\n", t->id, t->domain, t->count);
    for (unsigned i = 0; i < t->count; i++) {
        const struct orr_checkpoint_entry *e = &t->entries[i];
        bool data = e->kind == ORR_CHECKPOINT_DATA;
        if (data && !orr_data_valid(e->handle))
            fprintf(stderr, "  data with tag %lld, unregistered since\n", (long long)e->tag);
        else
            fprintf(stderr, "  %s with tag %lld, %zu bytes\n", data ? "data" : "value", (long long)e->tag,
                    data ? starpu_data_get_size(e->handle) : e->bytes);
    }
    return 0;
}

/* ---- instances ---- */

int starpu_mpi_checkpoint_template_submit(starpu_mpi_checkpoint_template_t cp_template, int prio)
{
    int r = check_template(cp_template, true, "starpu_mpi_checkpoint_template_submit");
    return r ? r : orr_checkpoint_submit(of(cp_template), prio);
}

int orrery_mpi_checkpoint_restart(starpu_mpi_checkpoint_template_t cp_template, unsigned long *instance_out)
{
    uint64_t instance = 0;
    int r = instance_out ? check_template(cp_template, true, "orrery_mpi_checkpoint_restart") : -EINVAL;
    if (!r) r = orr_checkpoint_restart(of(cp_template), &instance);
    if (instance_out) *instance_out = (unsigned long)instance;
    return r;
}

int orrery_mpi_checkpoint_wait(starpu_mpi_checkpoint_template_t cp_template)
{
    int r = check_template(cp_template, true, "orrery_mpi_checkpoint_wait");
    return r ? r : orr_checkpoint_wait(of(cp_template));
}

int orrery_mpi_checkpoint_discard(starpu_mpi_checkpoint_template_t cp_template)
{
    int r = check_template(cp_template, true, "orrery_mpi_checkpoint_discard");
    return r ? r : orr_checkpoint_discard(of(cp_template));
}
