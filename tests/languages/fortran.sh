#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The Fortran modules and programs over them (tasks.f90, more.f90; ranks.f90 with MPI), compiled by gfortran, and their
# names (fortran_names.py). Wants ORR_SRCDIR and ORR_BUILDDIR; ORR_NO_MPI: there is none. Prints TAP.
set -u
[ "${ORR_SANITIZER:-none}" = none ] || { echo "1..0 # SKIP gfortran's program has no sanitizer"; exit 0; }
fortran=${FC:-gfortran}
command -v "$fortran" >/dev/null 2>&1 || { echo "1..0 # SKIP there is no Fortran compiler"; exit 0; }
scratch=$(mktemp -d "${TMPDIR:-/tmp}/orrery-fortran.XXXXXX") || exit 99
trap 'rm -rf "$scratch"' EXIT
facts=0

# The facts of one program, numbered on.
add() {
    awk -v facts="$facts" '
        /^(not )?ok / { facts++; sub(/ok [0-9]+/, "ok " facts) }
        /^1\.\.[0-9]+$/ { planned = substr($0, 4); next }
        { print }
        /^(not )?ok/ { seen++ }
        END { exit seen != planned + 0 || seen == 0 }' "$scratch/out"
    whole=$?
    facts=$((facts + $(grep -c -E '^(not )?ok ' "$scratch/out")))
    : >"$scratch/said"
    [ $whole -eq 0 ] || not_ok "$1 tells as many facts as it says"
}

not_ok() {
    sed 's/^/# /' "$scratch/said"
    facts=$((facts + 1))
    echo "not ok $facts - $1"
}

build() {
    name=$1
    shift
    (cd "$scratch" && "$@" -o "$name" -L"$ORR_BUILDDIR/.libs" -Wl,-rpath,"$ORR_BUILDDIR/.libs" $libs) >"$scratch/said" 2>&1 ||
        not_ok "$name and the modules compile"
    [ -x "$scratch/$name" ]
}

flags="-O1 -Wall -Werror=implicit-interface"
modules=$ORR_SRCDIR/packages/fortran/fstarpu_mod.f90
tap=$ORR_SRCDIR/tests/languages/tap.f90
libs=-lorrery
for name in tasks more; do
    # shellcheck disable=SC2086
    build $name "$fortran" $flags "$modules" "$tap" "$ORR_SRCDIR/tests/languages/$name.f90" || continue
    STARPU_HOME=$scratch STARPU_NCPU=2 STARPU_SILENT=1 timeout 50 "$scratch/$name" >"$scratch/out"
    status=$?
    add $name
    [ $status -eq 0 ] || not_ok "$name ends well ($status)"
done

if [ -f "$ORR_BUILDDIR/.libs/liborrery-mpi.so" ] && command -v mpif90 >/dev/null 2>&1; then
    libs="-lorrery-mpi -lorrery"
    # shellcheck disable=SC2086
    if build ranks mpif90 $flags "$modules" "$ORR_SRCDIR/packages/fortran/fstarpu_mpi_mod.f90" \
        "$tap" "$ORR_SRCDIR/tests/languages/ranks.f90"; then
        ORR_RANKS="1 3" STARPU_NCPU=1 STARPU_SILENT=1 "$ORR_SRCDIR/tests/run-mpi" "$scratch/ranks" >"$scratch/out"
        add ranks
    fi
fi

python3 "$ORR_SRCDIR/tests/languages/fortran_names.py" >"$scratch/out"
add names
echo "1..$facts"
