# SPDX-License-Identifier: BSD-3-Clause
# The layers of core, lowest first: each may include only those before it.
include core/base/local.mk
include core/topo/local.mk
include core/mem/local.mk
include core/perf/local.mk
include core/data/local.mk
include core/task/local.mk
include core/worker/local.mk
include core/run/local.mk
