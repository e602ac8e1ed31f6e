# SPDX-License-Identifier: BSD-3-Clause
# The runtime as a whole: start and stop, contexts, services for programs.
liborrery_la_SOURCES += core/run/init.c core/run/context.c core/run/context.h core/run/sched_lib.c core/run/sched_lib.h core/run/sched_ctx.c core/run/sched_ctx.h core/run/sched_ctx_query.c core/run/collection.c core/run/collection.h
liborrery_la_SOURCES += core/run/environment.c core/run/execute.c core/run/data_cpy.c core/run/time.c core/run/trace.c core/run/trace.h core/run/version.c core/run/parallel_code.c core/run/async_copy.c core/run/async_copy.h
liborrery_la_SOURCES += core/run/deadlock.c core/run/deadlock.h core/run/waits.c core/run/waits.h core/run/strangers.c core/run/strangers.h core/run/watchdog.c core/run/watchdog.h
liborrery_la_SOURCES += core/run/starving.c core/run/starving.h
liborrery_la_SOURCES += core/run/parallel_worker.c
liborrery_la_SOURCES += core/run/joblist.c
liborrery_la_SOURCES += core/run/foreign.c core/run/given.c core/run/given.h
liborrery_la_SOURCES += core/run/observers.c core/run/observers.h core/run/observers.def
liborrery_la_SOURCES += core/run/monitor.c core/run/monitor.h core/run/prof_tool.c core/run/prof_tool.h
liborrery_la_SOURCES += core/run/record.c core/run/record_file.c core/run/record.h
liborrery_la_SOURCES += core/run/live.c core/run/live.h core/run/gather.c core/run/gather.h core/run/progress.c core/run/progress.h core/run/why.c core/run/why.h core/run/sentences.h
