#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Programs of ranks that send their messages over MPI, as between nodes, instead of through memory; and where two of three ranks are
# near each other: a fact for each. Prints TAP; status 1 if a fact fails.
set -u
srcdir=${ORR_SRCDIR:-$(cd "$(dirname "$0")/.." && pwd)} builddir=${ORR_BUILDDIR:-.}
. "$srcdir/tests/instead.sh"
runner=run-mpi suffix=mpi
export ORRERY_MPI_NEAR ORR_RANKS
ORRERY_MPI_NEAR=0 ORR_RANKS=
run_each 'over MPI' '^ok' mpi/soak_short mpi/early mpi/communicators mpi/failed_messages mpi/coop mpi/barrier
ORRERY_MPI_NEAR=2 ORR_RANKS=3
run_each 'where two of three ranks are near' '^ok' mpi/soak_short mpi/early mpi/communicators mpi/coop mpi/barrier mpi/reductions \
    mpi/shared_blocks
echo "1..$number"
exit $failures
