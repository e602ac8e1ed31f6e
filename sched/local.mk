# SPDX-License-Identifier: BSD-3-Clause
# Scheduling policies: one line each.
liborrery_la_SOURCES += sched/queue.c sched/queue.h sched/pool.c sched/pool.h sched/draw.h sched/cost.c sched/cost.h sched/watchman.c sched/watchman.h sched/builtin.c sched/builtin.def
liborrery_la_SOURCES += sched/user.c sched/predefined.c
liborrery_la_SOURCES += sched/eager.c
liborrery_la_SOURCES += sched/random.c
liborrery_la_SOURCES += sched/ws.c
liborrery_la_SOURCES += sched/dm.c
liborrery_la_SOURCES += sched/heteroprio.c
liborrery_la_SOURCES += sched/pheft.c sched/dm.h
liborrery_la_SOURCES += sched/peager.c
liborrery_la_SOURCES += sched/graph_test.c

# The hypervisor: moves workers between contexts. Its strategies are listed in strategies.def.
liborrery_la_SOURCES += sched/hypervisor/hypervisor.c sched/hypervisor/hypervisor.h sched/hypervisor/strategies.def
liborrery_la_SOURCES += sched/hypervisor/counters.c sched/hypervisor/config.c sched/hypervisor/requests.c
liborrery_la_SOURCES += sched/hypervisor/monitor.c sched/hypervisor/resize.c sched/hypervisor/tools.c
liborrery_la_SOURCES += sched/hypervisor/pool.c sched/hypervisor/planning.c sched/hypervisor/first_names.c
liborrery_la_SOURCES += sched/hypervisor/own_counters.c
liborrery_la_SOURCES += sched/hypervisor/lp_solver.c sched/hypervisor/lp_programs.c sched/hypervisor/lp_tools.c
liborrery_la_SOURCES += sched/hypervisor/idle.c sched/hypervisor/app_driven.c sched/hypervisor/gflops_rate.c
liborrery_la_SOURCES += sched/hypervisor/feft_lp.c sched/hypervisor/teft_lp.c sched/hypervisor/ispeed.c
liborrery_la_SOURCES += sched/hypervisor/ispeed_lp.c sched/hypervisor/throughput_lp.c

# Schedulers made of components.
liborrery_la_SOURCES += sched/components/component.c sched/components/component.h sched/components/bid.c
liborrery_la_SOURCES += sched/components/taskq.c sched/components/taskq.h
liborrery_la_SOURCES += sched/components/flow.c sched/components/guard.c sched/components/flow.h
liborrery_la_SOURCES += sched/components/tree.c sched/components/worker.c sched/components/parallel.c sched/components/fifo.c
liborrery_la_SOURCES += sched/components/eager.c sched/components/ws.c sched/components/select.c sched/components/measure.c
liborrery_la_SOURCES += sched/components/mct.c sched/components/mct.h sched/components/heft.c
liborrery_la_SOURCES += sched/components/composed.c sched/components/simple.c sched/components/trees.c
liborrery_la_SOURCES += sched/components/toolbox.c
