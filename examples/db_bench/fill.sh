#!/bin/sh
# Stock db_bench under the agent: random writes that come faster than compactions carry them away.
#   examples/db_bench/fill.sh [SECONDS]
# The database goes to $TMPDIR, else /var/tmp, takes up to 10 GB in 120 seconds, and is removed at the end.
set -eu
directory=$(mktemp -d "${TMPDIR:-/var/tmp}/adocd-fill.XXXXXX")
trap 'rm -rf "$directory"' EXIT
trap : INT TERM  # Ctrl-C ends db_bench; what is below it is still done

adocd exec -- db_bench --benchmarks=fillrandom --db="$directory" --duration="${1:-120}" \
  --num=1000000000 --value_size=1000 --compression_type=none
