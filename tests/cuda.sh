#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What programs for CUDA compile, where CUDA's toolkit is: nothing is run. Prints TAP; status 1 if a fact fails.
set -u
[ -n "${ORR_NVCC:-}" ] || { echo "1..0 # SKIP nvcc is not here"; exit 0; }
srcdir=${ORR_SRCDIR:-$(cd "$(dirname "$0")/.." && pwd)} builddir=${ORR_BUILDDIR:-.}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/orrery-test.XXXXXX") || exit 99
trap 'rm -rf "$scratch"' EXIT
cuda=$(dirname "$ORR_NVCC")/../include
failures=0

# fact NUMBER TEXT COMMAND...
fact() {
    number=$1 text=$2
    shift 2
    if "$@" >"$scratch/log" 2>&1; then
        echo "ok $number - $text"
    else
        echo "not ok $number - $text"
        sed 's/^/# /' "$scratch/log" | head -20
        failures=1
    fi
}

fact 1 'the driver declares what CUDA does' \
    gcc -std=gnu11 -fsyntax-only -I"$srcdir" -isystem "$cuda" "$srcdir/tests/double/headers.c"
fact 2 'a codelet with a kernel and all headers compiles' \
    "$ORR_NVCC" -DSTARPU_USE_CUDA=1 -I"$builddir/include" -I"$srcdir/include" -c -o "$scratch/codelet.o" \
    "$srcdir/tests/double/codelet.cu"
for kernels in "$srcdir"/examples/devices/*.cu; do echo "#include \"$kernels\""; done >"$scratch/kernels.cu"
fact 3 'the kernels of the examples compile' \
    "$ORR_NVCC" -DSTARPU_USE_CUDA=1 -I"$builddir/include" -I"$srcdir/include" -c -o "$scratch/kernels.o" "$scratch/kernels.cu"
fact 4 'so do those of mpi_cholesky' \
    gcc -std=gnu11 -Wall -Wextra -Werror -DSTARPU_USE_CUDA=1 -DWITH_CUDA_KERNELS -I"$builddir/include" -I"$srcdir/include" \
    -isystem "$cuda" -c -o "$scratch/cholesky.o" "$srcdir/examples/cholesky/kernels_cuda.c"
echo 1..4
exit $failures
