/* SPDX-License-Identifier: BSD-3-Clause */
/* code.c: see code.h.
 * Threads: any. Owns: nothing. Not here: stacks (core/run/strangers.c). */
#include "core/base/code.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>

/* Whether the symbol that the loader found is of the function, and not of one that comes before it. */
static bool is_within(const Dl_info *where, const ElfW(Sym) * symbol, const char *at)
{
    const char *begin = where->dli_saddr;
    return where->dli_sname && symbol && at >= begin && (at == begin || at < begin + symbol->st_size);
}

const char *orr_code_name(const void *address, bool returns, char *buf, size_t bytes)
{
    const char *at = (const char *)address - (returns ? 1 : 0);
    Dl_info where = { 0 };
    const ElfW(Sym) *symbol = NULL;
#ifdef RTLD_DL_SYMENT
    bool known = dladdr1(at, &where, (void **)&symbol, RTLD_DL_SYMENT) != 0;
#else
    bool known = dladdr(at, &where) != 0;
#endif
    if (!known || !where.dli_fname) {
        snprintf(buf, bytes, "%p", address);
        return buf;
    }
    bool named = is_within(&where, symbol, at);
    snprintf(buf, bytes, "%s%s%s+0x%zx", named ? where.dli_sname : "", named ? " in " : "", where.dli_fname,
             (size_t)(at - (const char *)where.dli_fbase));
    return buf;
}
