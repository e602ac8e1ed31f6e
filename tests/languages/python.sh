#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The Python package over the library (tests/languages/python.py). Wants ORR_SRCDIR and ORR_BUILDDIR. Prints TAP.
set -u
[ "${ORR_SANITIZER:-none}" = none ] || { echo "1..0 # SKIP the interpreter has no sanitizer"; exit 0; }
command -v python3 >/dev/null 2>&1 || { echo "1..0 # SKIP there is no Python 3"; exit 0; }
scratch=$(mktemp -d "${TMPDIR:-/tmp}/orrery-python.XXXXXX") || exit 99
trap 'rm -rf "$scratch"' EXIT
STARPU_HOME=$scratch STARPU_NCPU=2 PYORRERY_LIBRARY=$ORR_BUILDDIR/.libs/liborrery.so PYTHONPATH=$ORR_SRCDIR/packages/python \
    PYTHONDONTWRITEBYTECODE=1 timeout 55 python3 "$ORR_SRCDIR/tests/languages/python.py"
