#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Tests of data and policies that run on CPU workers, on simulated devices instead: a fact for each program. In make check some, in
# make check-long (ORR_DOUBLE=all) all. Prints TAP; status 1 if a fact fails.
set -u
srcdir=${ORR_SRCDIR:-$(cd "$(dirname "$0")/.." && pwd)} builddir=${ORR_BUILDDIR:-.}
. "$srcdir/tests/instead.sh"
ORR_TEST_SIM=1
export ORR_TEST_SIM
tests="$data $policies core/plans_uses"
[ "${ORR_DOUBLE:-few}" = all ] && tests="$tests $slow"
# shellcheck disable=SC2086
run_all 'simulated devices' '^ok' $tests
exit $failures
