#!/usr/bin/env bash
# Every run behind docs/evaluation/report.md, in several sittings: it goes on where it stopped. A round makes one pair of
# each block before the next round begins, so that what changes on the machine meets all blocks alike.
set -euo pipefail

run() {
  local name=$1
  shift
  adocd bench run --out "bench/results/evaluation/$name" "$@"
}

for pair in 1 2 3 4 5; do
  run twins-cap-210 --scheme default,default-again --profile cap-210 --workload fillrandom --seconds 30 --repeat $((4 * pair))
  run wal-cap-210 --scheme default,adoc --profile cap-210,cap-210-wal-outside --workload fillrandom --seconds 60 --repeat $pair
  run long-cap-210 --scheme default,default-with-adoc-memory,default-with-tide-memory,grid-best-within-memory,adoc,tide \
    --profile cap-210 --workload fillrandom --seconds 300 --repeat $pair
done
