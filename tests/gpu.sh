#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Tests of data and policies that run on CPU workers or on simulated devices, on a GPU of CUDA by its own library instead: a fact
# for each program; all of them in make check-long (ORR_DOUBLE=all). Skipped where there is no GPU. Prints TAP; status 1 if a fact fails.
set -u
srcdir=${ORR_SRCDIR:-$(cd "$(dirname "$0")/.." && pwd)} builddir=${ORR_BUILDDIR:-.}
nvidia-smi -L >/dev/null 2>&1 || { echo "1..0 # SKIP there is no GPU of CUDA"; exit 0; }
. "$srcdir/tests/instead.sh"
run_cuda gpu.so "a GPU" "^a GPU is used"
exit $failures
