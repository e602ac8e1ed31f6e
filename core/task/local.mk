# SPDX-License-Identifier: BSD-3-Clause
# Tasks: making, submitting, completing; explicit dependencies; arguments; what a task should take.
liborrery_la_SOURCES += core/task/task.c core/task/task.h core/task/count.c core/task/codelet.c core/task/submit.c core/task/complete.c
liborrery_la_SOURCES += core/task/deps.c core/task/deps.h core/task/tag.c core/task/tag.h core/task/redux.c core/task/redux.h
liborrery_la_SOURCES += core/task/args.c core/task/args.h core/task/insert.c core/task/insert.h core/task/arguments.def
liborrery_la_SOURCES += core/task/foreign_list.c core/task/foreign_list.h
liborrery_la_SOURCES += core/task/perf.c core/task/perf.h core/task/prefetch.c core/task/prefetch.h core/task/ready_soon.c
liborrery_la_SOURCES += core/task/model.c core/task/model.h
liborrery_la_SOURCES += core/task/retry.c core/task/transaction.c core/task/transaction.h
liborrery_la_SOURCES += core/task/graph.c core/task/graph.h core/task/bundle.c core/task/sync_task.c core/task/inspect.c
