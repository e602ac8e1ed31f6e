/* SPDX-License-Identifier: BSD-3-Clause */
/* library.c: see library.h.
 * Threads: main. Owns: the table, and which file it is from. Not here: what is done with it (device.c).
 *
 * One binary serves machines with and without CUDA, so nothing of it is linked. A library that was loaded
 * stays: its threads and those that called it may end later than the runtime. */
#include "drivers/cuda/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/env.h"
#include "core/base/log.h"

struct cuda_library orr_cuda;

static const struct {
    const char *symbol;
    size_t offset;
} functions[] = {
#define ROW(name, symbol, parameters) { #symbol, offsetof(struct cuda_library, name) },
    CUDA_FUNCTIONS(ROW)
#undef ROW
};

static int (*runs_cpu_functions)(void); /* of a double; NULL: it is CUDA's */
static char *loaded_from;               /* the file whose functions are in the table; NULL: none */

/* Fills in the table from an open library. False: it lacks something, said where a person asked for it. */
static bool take_functions(void *library, const char *file)
{
    struct cuda_library found;
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        void *f = dlsym(library, functions[i].symbol);
        if (!f) {
            orr_info("%s is not used: it has no %s; a newer driver of CUDA has", file, functions[i].symbol);
            return false;
        }
        memcpy((char *)&found + functions[i].offset, &f, sizeof f);
    }
    orr_cuda = found;
    runs_cpu_functions = (int (*)(void))dlsym(library, "double_cuda_runs_cpu_functions");
    return true;
}

bool orr_cuda_runs_cpu_functions(void)
{
    return runs_cpu_functions && runs_cpu_functions();
}

static bool load_file(const char *file, bool named)
{
    if (loaded_from && strcmp(loaded_from, file) == 0) return true;
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        if (named)
            orr_warn("ORRERY_CUDA_LIBRARY=%s cannot be loaded: %s; there are no CUDA devices", file, why);
        else
            orr_info("there are no CUDA devices: %s", why);
        return false;
    }
    char *copy = orr_strdup(file);
    if (!copy || !take_functions(library, file)) {
        orr_free(copy);
        dlclose(library);
        return false;
    }
    orr_free(loaded_from);
    loaded_from = copy;
    return true;
}

bool orr_cuda_load(void)
{
    const char *named = orr_env_string(ORR_SETTING(ORRERY_CUDA_LIBRARY));
    if (named && strcmp(named, "none") == 0) return false;
    if (!load_file(named ? named : "libcuda.so.1", named != NULL)) return false;
    int r = orr_cuda.init(0);
    if (r != CUDA_OK) orr_info("there are no CUDA devices: cuInit says %s", orr_cuda_text(r).chars);
    return r == CUDA_OK;
}

struct cuda_text orr_cuda_text(int result)
{
    struct cuda_text t;
    const char *name = NULL, *text = NULL;
    if (orr_cuda.error_name && orr_cuda.error_name(result, &name) == CUDA_OK && name &&
        orr_cuda.error_text(result, &text) == CUDA_OK && text)
        snprintf(t.chars, sizeof t.chars, "%s (%s)", name, text);
    else
        snprintf(t.chars, sizeof t.chars, "error %d", result);
    return t;
}

void *orr_cuda_find(const char *name, const char *const *files)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    for (; !found && *files; files++) {
        void *library = dlopen(*files, RTLD_NOW | RTLD_LOCAL);
        if (!library) continue;
        found = dlsym(library, name);
        if (!found) dlclose(library);
    }
    return found;
}
