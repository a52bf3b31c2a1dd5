#!/usr/bin/env bash
# The same sweep as one MPI job: rank 0 hands out the blocks and writes the file, the others compute.
#
#   bash mpi.sh RANKS [FLAGS OF spare-mc run]        needs pip install 'spare-mc[mpi]' and an MPI library
set -euo pipefail
cd "$(dirname "$0")"
ranks=${1:-5}
shift || true

mpiexec -n "$ranks" spare-mc run sweep.toml --executor mpi -o mpi.h5 --quiet "$@"
spare-mc show mpi.h5
