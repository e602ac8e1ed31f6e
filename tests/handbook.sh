#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The programs of doc/handbook, and the names on its pages (tests/handbook.py). Wants ORR_SRCDIR and ORR_BUILDDIR.
if [ "${ORR_SANITIZER:-none}" != none ]; then
    echo "1..0 # SKIP the pages' programs are compiled without sanitizers"
    exit 0
fi
command -v python3 >/dev/null 2>&1 || { echo "1..0 # SKIP there is no Python 3"; exit 0; }
. "$ORR_SRCDIR/scripts/env.sh"
exec python3 "$ORR_SRCDIR/tests/handbook.py"
