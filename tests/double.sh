#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Tests of data and policies that run on simulated devices, on the devices of CUDA's double instead: a fact for each
# program. In make check a few, in make check-long (ORR_DOUBLE=all) all that ask for nothing but devices. Not here: those that
# want slow links, failures, maps or stores of the simulated device, and what measures. Prints TAP; status 1 if a fact fails.
set -u
srcdir=${ORR_SRCDIR:-$(cd "$(dirname "$0")/.." && pwd)} builddir=${ORR_BUILDDIR:-.}
few='core/data_pieces core/data_own_interface core/task_failed core/coherency_places core/multiformat
core/driven_devices core/plans_devices'
more='core/coherency_random core/codelet_constant core/contexts_devices core/copies_random
core/data_requests core/data_together core/many_data sched/components_devices
sched/every_policy sched/heteroprio sched/hypervisor_devices'
[ "${ORR_DOUBLE:-few}" = all ] && few="$few $more"
ORR_TEST_CUDA=$builddir/tests/double/cuda.so
ORR_DOUBLE_CUDA_SAY=1
export ORR_TEST_CUDA ORR_DOUBLE_CUDA_SAY
log=$(mktemp "${TMPDIR:-/tmp}/orrery-test.XXXXXX") || exit 99
trap 'rm -f "$log"' EXIT
number=0 failures=0
for test in $few; do
    number=$((number + 1))
    "$srcdir/tests/run-tap" "$builddir/tests/$test.tap" >"$log" 2>&1
    if grep -q "^CUDA's double is used" "$log" && ! grep -q '^not ok' "$log"; then
        echo "ok $number - tests/$test holds on CUDA's double: $(grep -c '^ok' "$log") facts"
    else
        echo "not ok $number - tests/$test holds on CUDA's double"
        grep -A5 -e '^not ok' -e '^Bail' -e 'double of CUDA' "$log" | sed 's/^/# /' | head -20
        failures=1
    fi
done
echo "1..$number"
exit $failures
