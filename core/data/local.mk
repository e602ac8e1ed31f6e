# SPDX-License-Identifier: BSD-3-Clause
# Headers and sources of this layer, one line each:
#   liborrery_la_SOURCES += core/data/noun.c core/data/noun.h
liborrery_la_SOURCES += core/data/access.c core/data/access.h
liborrery_la_SOURCES += core/data/handle.c core/data/data.h
liborrery_la_SOURCES += core/data/registry.c core/data/registry.h
liborrery_la_SOURCES += core/data/acquire.c core/data/acquire.h
liborrery_la_SOURCES += core/data/coherency.c core/data/map.c core/data/coherency.h
liborrery_la_SOURCES += core/data/transfer.c core/data/links.c core/data/packed.c core/data/transfer.h
liborrery_la_SOURCES += core/data/convert.c core/data/layouts.h
liborrery_la_SOURCES += core/data/eviction.c core/data/victim.c core/data/victim.h
liborrery_la_SOURCES += core/data/hungry.c core/data/starving.h
liborrery_la_SOURCES += core/data/prefetch.c
liborrery_la_SOURCES += core/data/view.c core/data/view.h
liborrery_la_SOURCES += core/data/alloc_cache.c core/data/alloc_cache.h
liborrery_la_SOURCES += core/data/scratch.c

liborrery_la_SOURCES += core/data/partition.c core/data/partition.h

# Interfaces.
liborrery_la_SOURCES += core/data/interfaces/dense.c core/data/interfaces/dense.h core/data/interfaces/interfaces.def core/data/interfaces/pack.h
liborrery_la_SOURCES += core/data/interfaces/void.c
liborrery_la_SOURCES += core/data/interfaces/variable.c
liborrery_la_SOURCES += core/data/interfaces/vector.c
liborrery_la_SOURCES += core/data/interfaces/matrix.c
liborrery_la_SOURCES += core/data/interfaces/block.c
liborrery_la_SOURCES += core/data/interfaces/tensor.c
liborrery_la_SOURCES += core/data/interfaces/ndim.c

liborrery_la_SOURCES += core/data/interfaces/arrays.c core/data/interfaces/arrays.h
liborrery_la_SOURCES += core/data/interfaces/csr.c
liborrery_la_SOURCES += core/data/interfaces/bcsr.c
liborrery_la_SOURCES += core/data/interfaces/coo.c
liborrery_la_SOURCES += core/data/interfaces/multiformat.c

# Ready-made filters.
liborrery_la_SOURCES += core/data/filters/cut.c core/data/filters/cut.h
liborrery_la_SOURCES += core/data/filters/vector.c
liborrery_la_SOURCES += core/data/filters/matrix.c
liborrery_la_SOURCES += core/data/filters/block.c
liborrery_la_SOURCES += core/data/filters/tensor.c
liborrery_la_SOURCES += core/data/filters/ndim.c
liborrery_la_SOURCES += core/data/filters/sparse.c
liborrery_la_SOURCES += core/data/arbiter.c
