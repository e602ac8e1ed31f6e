/* SPDX-License-Identifier: BSD-3-Clause */
/* sched_lib.c: see sched_lib.h.
 * Threads: those of init and shutdown, and whoever opens a context. Owns: the library. Not here: choosing
 * among policies (context.c). */
#include "core/run/sched_lib.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <starpu.h>

#include "core/base/env.h"
#include "core/base/log.h"

static struct { /* [const between init and shutdown] */
    void *handle;
    struct starpu_sched_policy *(*policy)(const char *name); /* starpu_get_sched_lib_policy, or NULL */
    struct starpu_sched_policy **(*policies)(void);          /* starpu_get_sched_lib_policies, or NULL */
} lib;

/* A function of the library. Data and function pointers are of one size where dlsym exists. */
static void find_symbol(const char *name, void *fn_out)
{
    void *symbol = dlsym(lib.handle, name);
    memcpy(fn_out, &symbol, sizeof symbol);
}

int orr_sched_lib_open(void)
{
    const char *file = orr_env_string(ORR_SETTING(STARPU_SCHED_LIB));
    memset(&lib, 0, sizeof lib);
    if (!file) return 0;
    lib.handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!lib.handle) {
        orr_error("STARPU_SCHED_LIB: %s", dlerror());
        return -EINVAL;
    }
    find_symbol("starpu_get_sched_lib_policy", &lib.policy);
    find_symbol("starpu_get_sched_lib_policies", &lib.policies);
    if (lib.policy || lib.policies) return 0;
    orr_error(
        "STARPU_SCHED_LIB: %s defines neither starpu_get_sched_lib_policy nor starpu_get_sched_lib_policies",
        file);
    orr_sched_lib_close();
    return -EINVAL;
}

void orr_sched_lib_close(void)
{
    if (lib.handle) dlclose(lib.handle);
    memset(&lib, 0, sizeof lib);
}

struct starpu_sched_policy *orr_sched_lib_find(const char *name)
{
    struct starpu_sched_policy *found = lib.policy ? lib.policy(name) : NULL;
    struct starpu_sched_policy **p = lib.policies ? lib.policies() : NULL;
    for (; !found && p && *p; p++)
        if ((*p)->policy_name && strcmp((*p)->policy_name, name) == 0) found = *p;
    return found;
}

void orr_sched_lib_print(void)
{
    struct starpu_sched_policy **p = lib.policies ? lib.policies() : NULL;
    for (; p && *p; p++)
        fprintf(stderr, "  %-30s %s (STARPU_SCHED_LIB)\n",
                (*p)->policy_name ? (*p)->policy_name : "(without a name)",
                (*p)->policy_description ? (*p)->policy_description : "");
}
