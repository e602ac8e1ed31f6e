#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Tests of an OpenCL device where PoCL shows two: a fact for each program. Not here: what devices exchange (peers.c).
# Prints TAP; status 1 if a fact fails.
set -u
srcdir=${ORR_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)} builddir=${ORR_BUILDDIR:-.}
POCL_DEVICES='pthread pthread'
export POCL_DEVICES
. "$srcdir/tests/instead.sh"
if [ ! -r /etc/OpenCL/vendors/pocl.icd ]; then
    echo "1..0 # SKIP PoCL is not installed (Debian: pocl-opencl-icd)"
    exit 0
fi
run_all 'two devices' '^ok' opencl/vector opencl/links opencl/stream opencl/driven
exit $failures
