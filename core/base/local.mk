# SPDX-License-Identifier: BSD-3-Clause
# What stands on nothing: memory, threads, time, messages, settings.
liborrery_la_SOURCES += core/base/alloc.c core/base/alloc.h core/base/slab.c core/base/slab.h
liborrery_la_SOURCES += core/base/block.c core/base/block.h
liborrery_la_SOURCES += core/base/sync.c core/base/sync.h core/base/thread.c core/base/thread.h core/base/rooms.def core/base/rank.h core/base/rank.c core/base/ranks.def
liborrery_la_SOURCES += core/base/clock.c core/base/clock.h core/base/log.c core/base/log.h core/base/env.c core/base/env.h
liborrery_la_SOURCES += core/base/code.c core/base/code.h
liborrery_la_SOURCES += core/base/near.c core/base/near.h core/base/kind.c core/base/kind.h core/base/kind.def
liborrery_la_SOURCES += core/base/settings.c core/base/settings.def core/base/export.h core/base/hash.c
liborrery_la_SOURCES += core/base/event.c core/base/event.h core/base/event.def core/base/recorder.c core/base/recorder.h
liborrery_la_SOURCES += core/base/otrace.h core/base/tape.c core/base/tape.h
liborrery_la_SOURCES += core/base/livepage.c core/base/livepage.h core/base/peek.c core/base/peek.h
