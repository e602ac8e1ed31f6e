#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The Python package over the library (tests/languages/python.py), and on ranks (ranks.py). Wants ORR_SRCDIR and
# ORR_BUILDDIR. Prints TAP.
set -u
[ "${ORR_SANITIZER:-none}" = none ] || { echo "1..0 # SKIP the interpreter has no sanitizer"; exit 0; }
command -v python3 >/dev/null 2>&1 || { echo "1..0 # SKIP there is no Python 3"; exit 0; }
scratch=$(mktemp -d "${TMPDIR:-/tmp}/orrery-python.XXXXXX") || exit 99
trap 'rm -rf "$scratch"' EXIT
export PYORRERY_LIBRARY="$ORR_BUILDDIR/.libs/liborrery.so" PYORRERY_MPI_LIBRARY="$ORR_BUILDDIR/.libs/liborrery-mpi.so"
export PYORRERY_REPORT="$ORR_BUILDDIR/tools/orrery_report" PYTHONPATH="$ORR_SRCDIR/packages/python" PYTHONDONTWRITEBYTECODE=1
STARPU_HOME=$scratch STARPU_NCPU=2 timeout 55 python3 "$ORR_SRCDIR/tests/languages/python.py" >"$scratch/out"
status=$?
if [ -f "$PYORRERY_MPI_LIBRARY" ] && command -v "${ORR_MPIRUN:-mpirun}" >/dev/null 2>&1; then
    printf '#!/bin/sh\nexec python3 "%s"\n' "$ORR_SRCDIR/tests/languages/ranks.py" >"$scratch/ranks"
    chmod +x "$scratch/ranks"
    ORR_RANKS="1 3" STARPU_NCPU=1 STARPU_SILENT=1 "$ORR_SRCDIR/tests/run-mpi" "$scratch/ranks" >>"$scratch/out"
fi
# The facts of both, numbered through.
awk -v status=$status '
    /^(not )?ok / { facts++; sub(/ok [0-9]+/, "ok " facts) }
    /^1\.\.[0-9]+$/ { plans++; next }
    { print }
    END {
        if (status > 1 || !plans) printf "not ok %d - the program ends well (%d)\n", ++facts, status
        print "1.." facts
    }' "$scratch/out"
