#!/bin/sh
# Stock db_bench under the agent: random writes that come faster than compactions carry them away.
#   examples/db_bench/fill.sh [SECONDS]
# The database goes to $TMPDIR, else /var/tmp, and is removed at the end. It writes the same two million keys again
# and again, so it takes up to 6 GB, however long it runs.
set -eu
directory=$(mktemp -d "${TMPDIR:-/var/tmp}/adocd-fill.XXXXXX")
program=""
trap 'rm -rf "$directory"' EXIT
# Ctrl-C, kill and a closed terminal end db_bench, and then this script.
stop() {
  [ -z "$program" ] || { kill "$program" 2>/dev/null && wait "$program" || true; }
  exit "$1"
}
trap 'stop 129' HUP
trap 'stop 130' INT
trap 'stop 143' TERM

# In the background, for a shell that waits for a program in the foreground takes no signal meanwhile.
adocd exec -- db_bench --benchmarks=fillrandom --db="$directory" --duration="${1:-120}" \
  --num=2000000 --value_size=1000 --compression_type=none &
program=$!
wait "$program"
