#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Tests of data and policies that run on CPU workers or on simulated devices, on the devices of CUDA's double instead: a fact for
# each program. In make check some, in make check-long (ORR_DOUBLE=all) all. Prints TAP; status 1 if a fact fails.
set -u
srcdir=${ORR_SRCDIR:-$(cd "$(dirname "$0")/.." && pwd)} builddir=${ORR_BUILDDIR:-.}
. "$srcdir/tests/instead.sh"
ORR_TEST_CUDA=$builddir/tests/double/cuda.so
ORR_DOUBLE_CUDA_SAY=1
export ORR_TEST_CUDA ORR_DOUBLE_CUDA_SAY
tests="$data $policies $on_devices $on_cuda"
[ "${ORR_DOUBLE:-few}" = all ] && tests="$tests $slow $slow_on_devices $slow_on_cuda"
# shellcheck disable=SC2086
run_all "CUDA's double" "^CUDA's double is used" $tests
exit $failures
