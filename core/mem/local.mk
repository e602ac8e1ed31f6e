# SPDX-License-Identifier: BSD-3-Clause
# Memory nodes: allocating on them, copying between them.
liborrery_la_SOURCES += core/mem/node.h core/mem/node.c core/mem/malloc.c core/mem/copy.c core/mem/map.c \
	core/mem/recycle.h core/mem/recycle.c core/mem/kept.h core/mem/kept.c core/mem/pin.h core/mem/pin.c \
	core/mem/arena.h core/mem/arena.c
