#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Manual pages and HTML: complete and well formed (tests/reference.py). Wants ORR_SRCDIR and ORR_BUILDDIR.
if [ ! -e "$ORR_BUILDDIR/doc/built/stamp" ]; then
    echo "1..0 # SKIP no documents were built (configure --disable-docs, or the tests alone)"
    exit 0
fi
exec python3 "$ORR_SRCDIR/tests/reference.py"
