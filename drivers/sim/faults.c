/* SPDX-License-Identifier: BSD-3-Clause */
/* faults.c: see faults.h.
 * Threads: any. Owns: nothing. Not here: what follows from a fault (memory.c, sim.c). */
#include "drivers/sim/faults.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/env.h"

static const char *const words[SIM_OPERATIONS] = {
    [SIM_OPEN] = "open",     [SIM_COPY] = "copy", [SIM_SUBMIT] = "submit",
    [SIM_KERNEL] = "kernel", [SIM_LIFE] = "dies",
};

/* The operation with the word at *s, after which *s is; SIM_OPERATIONS: it is none. */
static enum sim_operation read_word(const char **s)
{
    for (enum sim_operation o = 0; o < SIM_OPERATIONS; o++) {
        size_t length = strlen(words[o]);
        if (strncmp(*s, words[o], length) != 0 || (*s)[length] != ':') continue;
        *s += length + 1;
        return o;
    }
    return SIM_OPERATIONS;
}

static bool read_number(const char **s, long *out)
{
    char *end;
    if (**s < '0' || **s > '9') return false;
    *out = strtol(*s, &end, 10);
    *s = end;
    return true;
}

/* ":N", ":N-M" or ":N-"; nothing: the first. */
static bool read_range(const char **s, long *first_out, long *last_out)
{
    *first_out = *last_out = 1;
    if (**s != ':') return true;
    ++*s;
    if (!read_number(s, first_out)) return false;
    *last_out = *first_out;
    if (**s != '-') return true;
    ++*s;
    if (!read_number(s, last_out)) *last_out = LONG_MAX;
    return true;
}

/* Whose fault it is: a number, or "store". */
static bool read_device(const char **s, long *out)
{
    static const char store[] = "store";
    if (strncmp(*s, store, sizeof store - 1) != 0) return read_number(s, out);
    *s += sizeof store - 1;
    *out = SIM_STORE;
    return true;
}

/* One fault, "kernel:0:3-5"; takes it over when it is this device's. False: it is none. */
static bool read_fault(struct sim_faults *f, int number, const char **s)
{
    long device, first, last;
    enum sim_operation o = read_word(s);
    if (o == SIM_OPERATIONS || !read_device(s, &device) || !read_range(s, &first, &last)) return false;
    if (device != number) return true;
    f->of[o].first = first;
    f->of[o].last = last;
    return true;
}

void orr_sim_faults_init(struct sim_faults *f, int number)
{
    const struct orr_env *e = ORR_SETTING(ORRERY_SIM_FAIL);
    memset(f, 0, sizeof *f);
    for (const char *s = orr_env_string(e); s && *s;) {
        if (!read_fault(f, number, &s) || (*s && *s++ != ',')) {
            orr_env_refuse(e, "a list such as open:0,copy:0:3,submit:1:2-4,kernel:1:5-,dies:0:9", "none");
            memset(f, 0, sizeof *f);
            return;
        }
    }
}

static bool counts_as_failing(struct sim_faults *f, enum sim_operation o)
{
    long n = orr_add_relaxed(&f->of[o].count, 1) + 1;
    return f->of[o].first <= n && n <= f->of[o].last;
}

bool orr_sim_fails(struct sim_faults *f, enum sim_operation o)
{
    bool fails = counts_as_failing(f, o);
    if (o == SIM_SUBMIT && counts_as_failing(f, SIM_LIFE)) orr_store_relaxed(&f->dead, true);
    return fails || orr_load_relaxed(&f->dead);
}
