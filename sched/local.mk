# SPDX-License-Identifier: BSD-3-Clause
# Scheduling policies: one line each.
liborrery_la_SOURCES += sched/queue.c sched/queue.h sched/pool.c sched/pool.h sched/builtin.c sched/builtin.def
liborrery_la_SOURCES += sched/user.c
liborrery_la_SOURCES += sched/eager.c
liborrery_la_SOURCES += sched/random.c
liborrery_la_SOURCES += sched/ws.c
liborrery_la_SOURCES += sched/dm.c
liborrery_la_SOURCES += sched/heteroprio.c
