#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Tests of data and policies that run on CPU workers or on simulated devices, on PoCL's devices instead, the buffers of which are
# known by addresses so that functions for CPUs run there (shim.c): a fact for each program. In make check some, in make
# check-long (ORR_DOUBLE=all) all. Prints TAP; status 1 if a fact fails.
set -u
srcdir=${ORR_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)} builddir=${ORR_BUILDDIR:-.}
. "$srcdir/tests/instead.sh"
if [ ! -r /etc/OpenCL/vendors/pocl.icd ]; then
    echo "1..0 # SKIP PoCL is not installed (Debian: pocl-opencl-icd)"
    exit 0
fi
ORR_TEST_OPENCL=$builddir/tests/opencl/shim.so
ORR_SHIM_SAY=1
POCL_CACHE_DIR=$builddir/tests/opencl/cache
export ORR_TEST_OPENCL ORR_SHIM_SAY POCL_CACHE_DIR
tests="$data $policies $on_devices"
[ "${ORR_DOUBLE:-few}" = all ] && tests="$tests $slow $slow_on_devices"
# shellcheck disable=SC2086
run_all "PoCL's devices" "^# OpenCL's buffers are known" $tests
exit $failures
