#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Tests of an OpenCL device where PoCL shows two: a fact for each program. Not here: what devices exchange (peers.c).
# Prints TAP; status 1 if a fact fails.
set -u
srcdir=${ORR_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)} builddir=${ORR_BUILDDIR:-.}
POCL_DEVICES='pthread pthread'
export POCL_DEVICES
log=$(mktemp "${TMPDIR:-/tmp}/orrery-test.XXXXXX") || exit 99
trap 'rm -f "$log"' EXIT
if [ ! -r /etc/OpenCL/vendors/pocl.icd ]; then
    echo "1..0 # SKIP PoCL is not installed (Debian: pocl-opencl-icd)"
    exit 0
fi
number=0 failures=0
for test in vector links stream driven; do
    number=$((number + 1))
    if "$srcdir/tests/run-tap" "$builddir/tests/opencl/$test.tap" >"$log" 2>&1 && ! grep -q '^not ok' "$log"; then
        echo "ok $number - tests/opencl/$test holds with two devices: $(grep -c '^ok' "$log") facts"
    else
        echo "not ok $number - tests/opencl/$test holds with two devices"
        grep -A5 -e '^not ok' -e '^Bail' "$log" | sed 's/^/# /' | head -20
        failures=1
    fi
done
echo "1..$number"
exit $failures
