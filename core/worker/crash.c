/* SPDX-License-Identifier: BSD-3-Clause */
/* crash.c: see crash.h.
 * Threads: the handler runs on the one that crashed. Owns: what the program had installed before. Not here:
 * where memory went wrong (a debugger, a sanitizer).
 *
 * The handler calls nothing but what signal handlers may: it puts one text together on its stack and writes
 * it with one call. Then the signal goes its way as if the handler had not been there: an earlier handler of
 * the program is called; where there was none the default is back in place, and the process dies of the
 * signal, at the same instruction, with its exit status and core file. Should reading the task crash in turn,
 * the signal is blocked by then, and ends the process at once. */
#include "core/worker/crash.h"

#include <signal.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/env.h"
#include "core/base/log.h"
#include "core/worker/worker.h"

enum { STACK_BYTES = 64 << 10, TEXT_BYTES = 1024, NAME_MAX_BYTES = 100, DATA_SHOWN = 8 };

static const struct {
    int signal;
    const char *name;
} caught[] = { { SIGSEGV, "SIGSEGV" },
               { SIGBUS, "SIGBUS" },
               { SIGFPE, "SIGFPE" },
               { SIGILL, "SIGILL" },
               { SIGABRT, "SIGABRT" } };
enum { SIGNALS = sizeof caught / sizeof caught[0] };

static struct sigaction before[SIGNALS]; /* [const while installed] */
static bool installed;
static _Atomic bool said; /* once: a handler of the program may return to the same instruction */

/* ---- the text ---- */

struct text {
    char byte[TEXT_BYTES];
    size_t count;
};

static void put(struct text *t, const char *s)
{
    for (size_t i = 0; s && s[i] && i < NAME_MAX_BYTES && t->count < TEXT_BYTES - 1; i++)
        t->byte[t->count++] = s[i];
}

static void put_number(struct text *t, uint64_t n, unsigned base)
{
    char digit[24];
    unsigned i = sizeof digit - 1;
    digit[i] = 0;
    do digit[--i] = "0123456789abcdef"[n % base];
    while (n /= base);
    put(t, &digit[i]);
}

static void put_data(struct text *t, struct starpu_task *p)
{
    unsigned n = STARPU_TASK_GET_NBUFFERS(p);
    char name[100];
    put(t, n ? "; its data:" : "; it has no data");
    for (unsigned i = 0; i < n && i < DATA_SHOWN; i++) {
        struct orr_data *h = STARPU_TASK_GET_HANDLE(p, i);
        int mode = STARPU_TASK_GET_MODE(p, i);
        put(t, i ? ", " : " ");
        put_number(t, i, 10);
        put(t, mode & STARPU_R ? mode & STARPU_W ? " RW " : " R " : mode & STARPU_W ? " W " : " other ");
        if (h && h->ops) put(t, h->ops->name ? h->ops->name : "unnamed");
        if (h && orr_data_name_now(h, name, sizeof name)) {
            put(t, " \"");
            put(t, name);
            put(t, "\"");
        }
        put(t, " 0x");
        put_number(t, (uintptr_t)h, 16);
    }
    if (n > DATA_SHOWN) put(t, ", ...");
}

static void put_task(struct text *t, struct orr_thread *self)
{
    const struct orr_task *task = orr_task_thread(self)->current;
    const struct orr_worker *w = orr_worker_thread(self)->worker;
    struct starpu_task *p = task->pub;
    put(t, self->callback_depth ? " in a callback of task " : " in task ");
    put(t, orr_task_name(task));
    put(t, " (job ");
    put_number(t, task->id, 10);
    if (p->file) {
        put(t, ", ");
        put(t, p->file);
        put(t, ":");
        put_number(t, p->line, 10);
    }
    put(t, ")");
    if (p->cl) {
        put(t, ", codelet ");
        put(t, p->cl->name ? p->cl->name : "(unnamed)");
    }
    if (w) {
        put(t, ", on worker ");
        put_number(t, (uint64_t)w->id, 10);
        put(t, " (");
        put(t, w->name);
        put(t, ")");
    }
    if (p->cl) put_data(t, p);
    put(t, "\n");
}

static void say(unsigned which, const siginfo_t *info)
{
    struct orr_thread *self = orr_thread_own;
    struct text t = { .count = 0 };
    int rank = orr_log_rank();
    if (!self || !orr_task_thread(self)->current) return;
    if (atomic_exchange_explicit(&said, true, memory_order_acq_rel)) return;
    put(&t, "orrery");
    if (rank >= 0) {
        put(&t, "[rank ");
        put_number(&t, (uint64_t)rank, 10);
        put(&t, "]");
    }
    put(&t, ": error: ");
    put(&t, caught[which].name);
    if (info->si_code > 0 && caught[which].signal != SIGABRT) {
        put(&t, " at address 0x");
        put_number(&t, (uintptr_t)info->si_addr, 16);
    }
    put_task(&t, self);
    if (write(STDERR_FILENO, t.byte, t.count) < 0) return; /* nobody to tell */
}

/* ---- the signal ---- */

/* As if this handler had not been there. */
static void pass_on(unsigned which, siginfo_t *info, void *context)
{
    const struct sigaction *b = &before[which];
    int signal = caught[which].signal;
    if (b->sa_flags & SA_SIGINFO) {
        b->sa_sigaction(signal, info, context);
        return;
    }
    if (b->sa_handler != SIG_DFL && b->sa_handler != SIG_IGN) {
        b->sa_handler(signal);
        return;
    }
    if (b->sa_handler == SIG_IGN && info->si_code <= 0) return;
    sigaction(signal, b, NULL);
    if (info->si_code <= 0) raise(signal); /* sent: it does not come again by itself, but when this returns */
}

void (*_Atomic orr_crash_save)(void);

static void save(void)
{
    void (*fn)(void) = orr_load_acquire(&orr_crash_save);
    if (fn) fn();
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
    int error = errno;
    for (unsigned i = 0; i < SIGNALS; i++) {
        if (caught[i].signal != signal) continue;
        say(i, info);
        save();
        pass_on(i, info, context);
    }
    errno = error;
}

/* ---- beginning and end ---- */

#if defined(__has_feature)
#define HAS(feature) __has_feature(feature)
#else
#define HAS(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || HAS(address_sanitizer) ||               \
    HAS(thread_sanitizer) || HAS(undefined_behavior_sanitizer)
static const bool sanitized = true; /* they tell more */
#else
static const bool sanitized = false;
#endif

static bool is_wanted(const struct starpu_conf *conf)
{
    if (conf->precedence_over_environment_variables) return conf->catch_signals != 0;
    return orr_env_long(ORR_SETTING(STARPU_CATCH_SIGNALS), conf->catch_signals != 0, 0, 1) != 0;
}

void orr_crash_start(const struct starpu_conf *conf)
{
    struct sigaction own = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK };
    if (installed || sanitized || !is_wanted(conf)) return;
    orr_store_relaxed(&said, false);
    sigemptyset(&own.sa_mask);
    for (unsigned i = 0; i < SIGNALS; i++) {
        sigaction(caught[i].signal, NULL, &before[i]); /* known before the handler may run */
        sigaction(caught[i].signal, &own, NULL);
    }
    installed = true;
}

void orr_crash_stop(void)
{
    for (unsigned i = 0; installed && i < SIGNALS; i++) {
        struct sigaction now;
        if (sigaction(caught[i].signal, NULL, &now) == 0 && now.sa_flags & SA_SIGINFO &&
            now.sa_sigaction == on_signal)
            sigaction(caught[i].signal, &before[i], NULL);
    }
    installed = false;
}

void *orr_crash_thread_begin(void)
{
    stack_t now, own = { .ss_size = STACK_BYTES };
    if (!installed || sigaltstack(NULL, &now) != 0 || !(now.ss_flags & SS_DISABLE)) return NULL;
    own.ss_sp = orr_malloc(STACK_BYTES);
    if (own.ss_sp && sigaltstack(&own, NULL) == 0) return own.ss_sp;
    orr_free(own.ss_sp);
    return NULL;
}

void orr_crash_thread_end(void *stack)
{
    stack_t none = { .ss_flags = SS_DISABLE };
    if (!stack) return;
    sigaltstack(&none, NULL);
    orr_free(stack);
}
