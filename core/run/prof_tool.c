/* SPDX-License-Identifier: BSD-3-Clause */
/* prof_tool.c: see prof_tool.h.
 * Threads: tools are called on any. Owns: the libraries, which function is called for what; an observer. Not
 * here: counters (monitor.c), recordings (record.c). */
#include "core/run/prof_tool.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <starpu_profiling_tool.h>

#include "core/base/alloc.h"
#include "core/base/env.h"
#include "core/base/event.h"
#include "core/base/log.h"
#include "core/task/task.h"
#include "core/worker/worker.h"

enum { EVENTS = starpu_prof_tool_event_user_end + 1, FUNCTIONS_MAX = 8, TOOLS_MAX = 8 };

static struct { /* [const while the observer is added] */
    void *handle[TOOLS_MAX];
    unsigned count;
    starpu_prof_tool_cb_func fn[EVENTS][FUNCTIONS_MAX]; /* the first NULL ends them */
    bool started;
} tools;

typedef void (*library_fn)(starpu_prof_tool_entry_register_func reg,
                           starpu_prof_tool_entry_register_func unreg);

static void tell(struct starpu_prof_tool_info *info, enum starpu_prof_tool_event event)
{
    union starpu_prof_tool_event_info event_info = { event };
    struct starpu_prof_tool_api_info api_info = { 0 };
    starpu_prof_tool_cb_func fn[FUNCTIONS_MAX]; /* that of `init` may take itself back */
    if (!tools.fn[event][0]) return;
    memcpy(fn, tools.fn[event], sizeof fn);
    info->event_type = event;
    info->starpu_version[0] = STARPU_MAJOR_VERSION;
    info->starpu_version[1] = STARPU_MINOR_VERSION;
    info->starpu_version[2] = STARPU_RELEASE_VERSION;
    info->thread_id = (int)syscall(SYS_gettid);
    for (int i = 0; i < FUNCTIONS_MAX && fn[i]; i++) fn[i](info, &event_info, &api_info);
}

/* ---- registering ---- */

static bool is_event(int event)
{
    return event > starpu_prof_tool_event_none && event < EVENTS;
}

static void register_fn(enum starpu_prof_tool_event event, starpu_prof_tool_cb_func cb,
                        enum starpu_prof_tool_command command)
{
    int i = 0;
    if (!is_event((int)event) || !cb || command != starpu_prof_tool_command_reg || tools.started) {
        orr_error("a profiling tool cannot register for event %d with command %d%s", (int)event, (int)command,
                  tools.started ? " once the runtime runs" : "");
        return;
    }
    while (i < FUNCTIONS_MAX && tools.fn[event][i]) i++;
    if (i < FUNCTIONS_MAX)
        tools.fn[event][i] = cb;
    else
        orr_error("%d functions are registered for event %d of profiling tools; one more is left out", i,
                  (int)event);
}

static void unregister_fn(enum starpu_prof_tool_event event, starpu_prof_tool_cb_func cb,
                          enum starpu_prof_tool_command command)
{
    (void)command;
    if (!is_event((int)event) || tools.started) return;
    starpu_prof_tool_cb_func *fn = tools.fn[event];
    int i = 0, left = 0;
    for (; i < FUNCTIONS_MAX && fn[i]; i++)
        if (fn[i] != cb) fn[left++] = fn[i];
    while (left < i) fn[left++] = NULL;
}

/* ---- what happens while the runtime runs ---- */

static struct starpu_prof_tool_info nothing(void)
{
    return (struct starpu_prof_tool_info){ .worker_id = -1, .device_number = -1, .memnode = (unsigned)-1 };
}

static enum starpu_prof_tool_driver_type driver_of(const struct orr_worker *w)
{
    switch (w->type) {
    case STARPU_CPU_WORKER: return starpu_prof_tool_driver_cpu;
    case STARPU_HIP_WORKER: return starpu_prof_tool_driver_hip;
    case STARPU_OPENCL_WORKER: return starpu_prof_tool_driver_ocl;
    default: return starpu_prof_tool_driver_gpu;
    }
}

static struct starpu_prof_tool_info of_worker(unsigned id)
{
    const struct orr_worker *w = &orr_workers[id];
    struct starpu_prof_tool_info info = nothing();
    info.worker_id = (int)id;
    info.device_number = starpu_worker_get_devid((int)id);
    info.driver_type = driver_of(w);
    info.memnode = w->node;
    return info;
}

static void body(const struct orr_task *t, unsigned worker, bool starts)
{
    struct starpu_prof_tool_info info = of_worker(worker);
    struct starpu_codelet *cl = t->pub->cl;
    bool on_cpu = info.driver_type == starpu_prof_tool_driver_cpu;
    if (on_cpu) memcpy(&info.fun_ptr, &cl->cpu_funcs[t->nimpl], sizeof info.fun_ptr);
    info.model_name = cl->model ? cl->model->symbol : NULL;
    info.task_name = orr_task_name(t);
    info.flops = t->pub->flops;
    if (on_cpu)
        tell(&info, starts ? starpu_prof_tool_event_start_cpu_exec : starpu_prof_tool_event_end_cpu_exec);
    else
        tell(&info, starts ? starpu_prof_tool_event_start_gpu_exec : starpu_prof_tool_event_end_gpu_exec);
}

static void transfer(const struct orr_seen *e)
{
    struct starpu_prof_tool_info info = nothing();
    info.memnode = (unsigned)(e->c & UINT16_MAX);
    if (e->kind == ORR_EVENT_TRANSFER_STARTED) {
        info.bytes_to_transfer = (size_t)e->a;
        tell(&info, starpu_prof_tool_event_start_transfer);
        return;
    }
    const struct orr_data *h = e->subject;
    if (e->a == 0 && h->ops->get_size) info.bytes_transfered = h->ops->get_size((struct orr_data *)h);
    tell(&info, starpu_prof_tool_event_end_transfer);
}

static void see(struct orr_observer *o, const struct orr_seen *e)
{
    (void)o;
    switch (e->kind) {
    case ORR_EVENT_TASK_STARTED: body(e->subject, (unsigned)e->a, true); break;
    case ORR_EVENT_TASK_ENDED: body(e->subject, (unsigned)e->a, false); break;
    case ORR_EVENT_TASK_GIVEN_UP:
        if (e->b) body(e->subject, (unsigned)e->a, false);
        break;
    default: transfer(e); break;
    }
}

static struct orr_observer observer = { .name = "profiling tools", .see = see, .calls_program = true };

static bool wanted(enum starpu_prof_tool_event a, enum starpu_prof_tool_event b)
{
    return tools.fn[a][0] || tools.fn[b][0];
}

static uint64_t kinds_wanted(void)
{
    uint64_t kinds = 0;
    if (wanted(starpu_prof_tool_event_start_cpu_exec, starpu_prof_tool_event_end_cpu_exec) ||
        wanted(starpu_prof_tool_event_start_gpu_exec, starpu_prof_tool_event_end_gpu_exec))
        kinds |= ORR_EVENT_BIT(TASK_STARTED) | ORR_EVENT_BIT(TASK_ENDED) | ORR_EVENT_BIT(TASK_GIVEN_UP);
    if (tools.fn[starpu_prof_tool_event_start_transfer][0]) kinds |= ORR_EVENT_BIT(TRANSFER_STARTED);
    if (tools.fn[starpu_prof_tool_event_end_transfer][0]) kinds |= ORR_EVENT_BIT(TRANSFER_ENDED);
    return kinds;
}

/* ---- coming and going ---- */

static void load(const char *file)
{
    library_fn fn = NULL;
    void *handle = tools.count < TOOLS_MAX ? dlopen(file, RTLD_NOW | RTLD_LOCAL) : NULL;
    void *symbol = handle ? dlsym(handle, "starpu_prof_tool_library_register") : NULL;
    if (!symbol) {
        orr_error("STARPU_PROF_TOOL: %s is left out: %s", file,
                  handle                     ? "it has no starpu_prof_tool_library_register"
                  : tools.count == TOOLS_MAX ? "there are too many"
                                             : dlerror());
        if (handle) dlclose(handle);
        return;
    }
    memcpy(&fn, &symbol, sizeof fn);
    tools.handle[tools.count++] = handle;
    fn(register_fn, unregister_fn);
}

static void of_runtime(struct starpu_conf *conf, enum starpu_prof_tool_event event)
{
    struct starpu_prof_tool_info info = nothing();
    info.conf = conf;
    tell(&info, event);
}

static void of_each_worker(struct starpu_conf *conf, enum starpu_prof_tool_event event)
{
    for (unsigned i = 0; i < orr_worker_count; i++) {
        struct starpu_prof_tool_info info = of_worker(i);
        info.conf = conf;
        tell(&info, event);
    }
}

void orr_prof_tools_open(struct starpu_conf *conf)
{
    const char *list = orr_env_string(ORR_SETTING(STARPU_PROF_TOOL));
    char *copy = list ? orr_strdup(list) : NULL, *rest = NULL;
    memset(&tools, 0, sizeof tools);
    for (char *file = copy ? strtok_r(copy, ":", &rest) : NULL; file; file = strtok_r(NULL, ":", &rest))
        load(file);
    orr_free(copy);
    if (!tools.count) return;
    of_runtime(conf, starpu_prof_tool_event_init);
    tools.started = true;
    observer.kinds = kinds_wanted();
    if (observer.kinds && orr_observer_add(&observer) != 0)
        orr_error("there are too many observers: profiling tools hear of no tasks and transfers");
    of_runtime(conf, starpu_prof_tool_event_init_begin);
    of_each_worker(conf, starpu_prof_tool_event_driver_init_start);
}

void orr_prof_tools_started(struct starpu_conf *conf)
{
    if (!tools.count) return;
    of_each_worker(conf, starpu_prof_tool_event_driver_init);
    of_each_worker(conf, starpu_prof_tool_event_driver_init_end);
    of_runtime(conf, starpu_prof_tool_event_init_end);
}

void orr_prof_tools_close(void)
{
    if (!tools.count) return;
    if (observer.place > 0) orr_observer_remove(&observer);
    of_each_worker(NULL, starpu_prof_tool_event_driver_deinit);
    of_runtime(NULL, starpu_prof_tool_event_terminate);
    for (unsigned i = 0; i < tools.count; i++) dlclose(tools.handle[i]);
    memset(&tools, 0, sizeof tools);
}
