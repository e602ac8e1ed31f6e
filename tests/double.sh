#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Tests of data and policies that run on CPU workers or on simulated devices, on the devices of CUDA's double instead: a fact for
# each program. In make check some, in make check-long (ORR_DOUBLE=all) all. Prints TAP; status 1 if a fact fails.
set -u
srcdir=${ORR_SRCDIR:-$(cd "$(dirname "$0")/.." && pwd)} builddir=${ORR_BUILDDIR:-.}
. "$srcdir/tests/instead.sh"
run_cuda cuda.so "CUDA's double" "^CUDA's double is used"
exit $failures
