# SPDX-License-Identifier: BSD-3-Clause
# Performance models and transfer times.
liborrery_la_SOURCES += core/perf/arch.c core/perf/arch.h
liborrery_la_SOURCES += core/perf/bus.c core/perf/bus.h
liborrery_la_SOURCES += core/perf/history.c core/perf/history.h
liborrery_la_SOURCES += core/perf/perfmodel.c core/perf/perfmodel.h
liborrery_la_SOURCES += core/perf/print.c
liborrery_la_SOURCES += core/perf/regression.c core/perf/regression.h
liborrery_la_SOURCES += core/perf/store.c core/perf/store.h
