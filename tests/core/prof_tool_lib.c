/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A profiling tool: counts what it is told, for tests/core/prof_tool.c.
 * Threads: any. Owns: the counts. Not here: the test.
 */
#include <stdatomic.h>
#include <string.h>

#include <starpu_profiling_tool.h>

#include "tests/core/prof_tool_lib.h"

struct prof_tool_seen prof_tool_seen;

static void seen(struct starpu_prof_tool_info *info, union starpu_prof_tool_event_info *event,
                 struct starpu_prof_tool_api_info *api)
{
    (void)api;
    if (event->event_type != info->event_type) prof_tool_seen.wrong++;
    prof_tool_seen.events[info->event_type]++;
    prof_tool_seen.bytes_to_transfer += info->bytes_to_transfer;
    prof_tool_seen.bytes_transfered += info->bytes_transfered;
    if (info->event_type != starpu_prof_tool_event_start_cpu_exec) return;
    prof_tool_seen.function = info->fun_ptr;
    prof_tool_seen.worker = info->worker_id;
    if (!info->task_name || strcmp(info->task_name, "counted") != 0) prof_tool_seen.wrong++;
    if (info->driver_type != starpu_prof_tool_driver_cpu || info->memnode != STARPU_MAIN_RAM)
        prof_tool_seen.wrong++;
}

static void unwanted(struct starpu_prof_tool_info *info, union starpu_prof_tool_event_info *event,
                     struct starpu_prof_tool_api_info *api)
{
    (void)info, (void)event, (void)api;
    prof_tool_seen.wrong++;
}

/* Comes first, and once. */
static starpu_prof_tool_entry_register_func take_back;

static void once(struct starpu_prof_tool_info *info, union starpu_prof_tool_event_info *event,
                 struct starpu_prof_tool_api_info *api)
{
    (void)event, (void)api;
    take_back(info->event_type, once, starpu_prof_tool_command_reg);
}

__attribute__((visibility("default"))) void starpu_prof_tool_library_register(
    starpu_prof_tool_entry_register_func reg, starpu_prof_tool_entry_register_func unreg)
{
    take_back = unreg;
    reg(starpu_prof_tool_event_init, once, starpu_prof_tool_command_reg);
    for (int e = starpu_prof_tool_event_init; e < PROF_TOOL_EVENTS; e++) {
        reg((enum starpu_prof_tool_event)e, unwanted, starpu_prof_tool_command_reg);
        reg((enum starpu_prof_tool_event)e, seen, starpu_prof_tool_command_reg);
        unreg((enum starpu_prof_tool_event)e, unwanted, starpu_prof_tool_command_reg);
    }
}
