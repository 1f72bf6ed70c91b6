#!/usr/bin/env bash
# The blocks of docs/evaluation/report.md that are made under today's rules, in several sittings: a block goes on where it
# stopped. Each repetition of all its profiles is made before the next one, so that they meet the same machine.
set -euo pipefail

out=bench/results/evaluation

# The repetition that a block has come to: `adocd bench run` refuses fewer than were planned before.
begun() {
  local kept
  kept=$(sed -n 's/.*"repeat": \([0-9]*\).*/\1/p' "$out/$1/plan.json" 2>/dev/null || true)
  echo "${kept:-1}"
}

block() {
  local name=$1 pairs=$2 pair
  shift 2
  for pair in $(seq "$(begun "$name")" "$pairs"); do
    adocd bench run --out "$out/$name" --repeat "$pair" "$@"
  done
}

block twins-cap-210 20 --scheme default,default-again --profile cap-210 --workload fillrandom --seconds 30
block wal-cap-210 5 --scheme default,adoc --profile cap-210,cap-210-wal-outside --workload fillrandom --seconds 60
# A disk of 60 GB, so that the free space does not bound what `tide` keeps in level 0.
block tide-cap-210 5 --scheme default,default-with-tide-memory,adoc,tide --profile cap-210 --workload fillrandom --seconds 60 \
  --device-gb 60
# The ADOC paper's figures 12, 13, 16, 20 and 21.
block adoc-cap-210 5 --profile cap-210 --workload fillrandom --seconds 60 \
  --scheme default,default-with-adoc-memory,grid-best-within-memory,auto-tuned,adoc,adoc-threads,adoc-batch,silk-d,silk-p,silk-o
block long-cap-210 5 --profile cap-210 --workload fillrandom --seconds 300 \
  --scheme default,default-with-adoc-memory,default-with-tide-memory,grid-best-within-memory,adoc,tide

# Scaled runs, a sixteenth of everything, seven at a time: 210 MB/s become 13, and 490 become 31.
scaled() {
  local name=$1
  shift
  adocd bench run --out "$out/$name" --scale 16 --at-once 7 "$@"
}

# The block above at the other scale: a disk of 60 GB becomes one of 4.
scaled tide-cap-13 --scheme default,default-with-tide-memory,adoc,tide --profile cap-13 --workload fillrandom --seconds 60 \
  --device-gb 4
# The ADOC paper's figures 12, 13, 16, 20 and 21, and `tide` beside them.
scaled long-cap-13 --profile cap-13 --workload fillrandom --seconds 300 --scheme \
default,default-again,default-with-adoc-memory,default-with-tide-memory,grid-best-within-memory,auto-tuned,adoc,\
adoc-threads,adoc-batch,silk-d,silk-p,silk-o,tide
