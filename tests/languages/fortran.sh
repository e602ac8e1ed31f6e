#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# fstarpu_mod.f90 and a program over it (tasks.f90), compiled by gfortran. Wants ORR_SRCDIR and ORR_BUILDDIR. Prints TAP.
set -u
[ "${ORR_SANITIZER:-none}" = none ] || { echo "1..0 # SKIP gfortran's program has no sanitizer"; exit 0; }
fortran=${FC:-gfortran}
command -v "$fortran" >/dev/null 2>&1 || { echo "1..0 # SKIP there is no Fortran compiler"; exit 0; }
scratch=$(mktemp -d "${TMPDIR:-/tmp}/orrery-fortran.XXXXXX") || exit 99
trap 'rm -rf "$scratch"' EXIT
if ! (cd "$scratch" && "$fortran" -O1 -Wall -Werror=implicit-interface "$ORR_SRCDIR/packages/fortran/fstarpu_mod.f90" \
    "$ORR_SRCDIR/tests/languages/tasks.f90" -o tasks -L"$ORR_BUILDDIR/.libs" -Wl,-rpath,"$ORR_BUILDDIR/.libs" -lorrery) >"$scratch/said" 2>&1; then
    sed 's/^/# /' "$scratch/said"
    echo "not ok 1 - the module and a program compile"
    echo "1..1"
    exit 1
fi
STARPU_HOME=$scratch STARPU_NCPU=2 timeout 50 "$scratch/tasks"
