#!/usr/bin/env bash
# A sweep on one machine, as many threads as it has cores: count, look at it, draw it.
#
#   bash laptop.sh [FLAGS OF spare-mc run, such as --max-trials 20000]
set -euo pipefail
cd "$(dirname "$0")"

spare-mc run sweep.toml --dry-run "$@"
spare-mc run sweep.toml -o laptop.h5 --quiet "$@"
spare-mc show laptop.h5
spare-mc check laptop.h5
