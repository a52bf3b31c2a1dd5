#!/usr/bin/env bash
# The same sweep as a SLURM job array of 16 tasks with 8 cores each, and the merging after it.
#
#   bash slurm.sh [FLAGS OF spare-mc run]        submit from a folder that all nodes see
set -euo pipefail
cd "$(dirname "$0")"

rm -f sweep_array.sh # a script is never overwritten; running this again submits again, and tasks go on
spare-mc slurm sweep.toml --shards 16 --cpus 8 --time 01:00:00 --script sweep_array.sh "$@"
job=$(sbatch --parsable sweep_array.sh)
sbatch --dependency="afterok:$job" --wrap "spare-mc merge sweep.*-of-16.h5 -o sweep.h5"
