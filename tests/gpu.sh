#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Tests of data and policies that run on CPU workers or on simulated devices, on a GPU of CUDA by its own library instead: a fact
# for each program; all of them in make check-long (ORR_DOUBLE=all). Skipped where there is no GPU. Prints TAP; status 1 if a fact fails.
set -u
srcdir=${ORR_SRCDIR:-$(cd "$(dirname "$0")/.." && pwd)} builddir=${ORR_BUILDDIR:-.}
nvidia-smi -L >/dev/null 2>&1 || { echo "1..0 # SKIP there is no GPU of CUDA"; exit 0; }
. "$srcdir/tests/instead.sh"
ORR_TEST_CUDA=$builddir/tests/double/gpu.so
ORR_DOUBLE_CUDA_SAY=1
export ORR_TEST_CUDA ORR_DOUBLE_CUDA_SAY
tests="$data $policies $on_devices $on_cuda"
[ "${ORR_DOUBLE:-few}" = all ] && tests="$tests $slow $slow_on_devices $slow_on_cuda"
# shellcheck disable=SC2086
run_all "a GPU" "^a GPU is used" $tests
exit $failures
