# SPDX-License-Identifier: BSD-3-Clause
# The machine, as hwloc sees it.
liborrery_la_SOURCES += core/topo/topo.c core/topo/topo.h core/topo/tree.c \
    core/topo/share.c core/topo/share.h
