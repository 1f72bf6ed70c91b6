#!/usr/bin/env bash
# The blocks of docs/evaluation/report.md that are made under today's rules, in several sittings: a block goes on where it
# stopped. With names, only those blocks. Nothing else should run on the machine.
set -euo pipefail

out=bench/results/evaluation
wanted=" $* "
failed=

# What failed is told by adocd. Ctrl-C ends everything, and by its exit code adocd does not tell the two apart.
bench() {
  adocd bench "$@" || failed=yes
}
trap 'exit 130' INT

is_wanted() {
  [ "$wanted" = "  " ] || [[ $wanted == *" $1 "* ]]
}

# The repetition that a block has come to: `adocd bench run` refuses fewer than were planned before.
begun() {
  local kept
  kept=$(sed -n 's/.*"repeat": \([0-9]*\).*/\1/p' "$out/$1/plan.json" 2>/dev/null || true)
  echo "${kept:-1}"
}

# Each repetition of all its profiles is made before the next one, so that they meet the same machine.
block() {
  local name=$1 pairs=$2 pair
  shift 2
  is_wanted "$name" || return 0
  for pair in $(seq "$(begun "$name")" "$pairs"); do
    bench run --out "$out/$name" --repeat "$pair" "$@"
  done
}

# Scaled runs, so many at a time. A sixteenth of 210 MB/s are 13, a thirty-second of 490 are 15: seven runs at 31 MB/s would
# need 150 GB of disk.
scaled() {
  local name=$1 scale=$2 at_once=$3
  shift 3
  is_wanted "$name" || return 0
  bench run --out "$out/$name" --scale "$scale" --at-once "$at_once" "$@"
}

# -- at scale 1, one run at a time

# Two more than the 20 pairs that the report is to have: others may disturb some.
block twins-cap-210 22 --scheme default,default-again --profile cap-210 --workload fillrandom --seconds 30
block wal-cap-210 5 --scheme default,default-with-adoc-memory,grid-best-within-memory,adoc \
  --profile cap-210,cap-210-wal-outside --workload fillrandom --seconds 60
# The laws with their memory's twins, and the best grid within the default's memory.
flood_schemes=default,default-with-adoc-memory,default-with-tide-memory,grid-best-within-memory,adoc,tide
# A disk of 60 GB: a good third of its free space, which `tide` keeps in level 0 at most, is more than a minute fills.
block tide-cap-210 5 --scheme "$flood_schemes,silk-o" --profile cap-210 --workload fillrandom --seconds 60 \
  --device-gb 60
# Five minutes, so that the limits of pending bytes matter. Alone: its device takes the whole disk.
block flood-cap-210 5 --scheme "$flood_schemes" --profile cap-210 --workload fillrandom --seconds 300
# A flood into a database that has data. Four minutes: for five, with the records, its device would need 86 GB.
block overwrite-cap-210 5 --scheme "$flood_schemes" --profile cap-210 --workload overwrite --seconds 240
# The disk as it is. A minute: in five minutes a disk of 80 GB could be full.
block uncapped 5 --scheme default,default-with-tide-memory,grid-best-within-memory,tide --profile uncapped \
  --workload fillrandom --seconds 60
# Reads use the processors, so these are made one by one.
reads_schemes=default,default-with-adoc-memory,default-with-tide-memory,auto-tuned,silk-o,adoc,tide
block reads-cap-210 5 --profile cap-210 --seconds 60 --scheme "$reads_schemes" --workload readwhilewriting

# -- at a sixteenth, or a thirty-second

# tide-cap-210 at the other scale: a disk of 60 GB becomes one of 4.
scaled tide-cap-13 16 7 --scheme "$flood_schemes" --profile cap-13 --workload fillrandom --seconds 60 --device-gb 4
# Five minutes of random writes on the ADOC paper's HDD and SATA SSD (490 MB/s).
scaled flood-cap-13 16 10 --scheme "$flood_schemes,silk-o" --profile cap-13 --workload fillrandom --seconds 300 \
  --device-gb 7
scaled flood-cap-15 32 10 --scheme "$flood_schemes,silk-o" --profile cap-15 --workload fillrandom --seconds 300 \
  --device-gb 7
# Ten minutes: the limits of pending bytes are reached, and level 1 is large.
scaled long-cap-15 32 8 --scheme "$flood_schemes,silk-o" --profile cap-15 --workload fillrandom --seconds 600 \
  --device-gb 9
# The same with the settings of the paper's table 3 and ADOC's halves (figures 12, 13, 16, 20 and 21).
adoc_schemes=default,default-again,default-with-adoc-memory,default-with-silk-p-memory,grid-best-within-memory,auto-tuned
adoc_schemes+=,adoc,adoc-threads,adoc-batch,silk-d,silk-p,silk-o,default-with-tide-memory,tide
# A good third of the free space of 7 GB is more than what `tide` keeps in level 0 at most, 2 GiB.
scaled adoc-cap-13 16 9 --scheme "$adoc_schemes" --profile cap-13 --workload fillrandom --seconds 300 --device-gb 7
scaled adoc-cap-15 32 11 --scheme "$adoc_schemes" --profile cap-15 --workload fillrandom --seconds 300 --device-gb 7
# YCSB. Reads use the processors, and those of a shared machine change their speed, so the runs of a pair are side by side:
# as many at once as there are schemes, and the next repetition begins when all have ended.
for letter in a b c d e f; do
  block "ycsb-$letter-cap-13" 5 --scheme default,default-with-tide-memory,tide --scale 16 --at-once 3 \
    --profile cap-13 --workload "ycsb-$letter" --seconds 45
  # ADOC's figures 17 and 18.
  block "adoc-ycsb-$letter-cap-13" 5 --scheme default,default-with-adoc-memory,auto-tuned,silk-o,adoc --scale 16 \
    --at-once 5 --profile cap-13 --workload "ycsb-$letter" --seconds 45
done
# ADOC's figure 19, side by side for the same reason.
block adoc-reads-cap-13 5 --scheme default,default-with-adoc-memory,auto-tuned,silk-o,adoc --scale 16 --at-once 5 \
  --profile cap-13 --workload readwhilewriting --seconds 60
# SILK's figures 8B and 8C, at a tenth: its law takes no less than 4 MiB/s. Clients use four fifths of 5 MB/s in a peak, and
# the law's threshold is three quarters, so it must act.
peaks() {
  local name=$1 at_once=$2
  shift 2
  is_wanted "$name" || return 0
  bench run --out "$out/$name" --scale 10 --at-once "$at_once" --profile cap-5 --seconds 220 "$@"
}
peaks_schemes=default,default-with-adoc-memory,default-with-tide-memory,auto-tuned,silk,silk-floor,silk-o,tide
limiter_schemes=default-with-tide-limiter,tide-limiter
silk_halves=silk-bandwidth,silk-floor-bandwidth,silk-hold
peaks peaks-100-cap-5 12 --scheme "$peaks_schemes,$limiter_schemes,$silk_halves" --workload peaks-100-4kb
# Figure 8A, by a trace of our own.
peaks trace-cap-5 8 --scheme "$peaks_schemes" --workload trace-bursts-4kb
peaks peaks-cap-5 8 --scheme "$peaks_schemes" --workload peaks-10-4kb,peaks-50-4kb
# The thesis's waves (4.3.1 to 4.3.3), raised limits alone (4.5), and its arm with compaction disabled.
toggle_schemes=default,default-with-toggle-memory,default-with-tide-memory,limits-raised,compaction-disabled,toggle
toggle_schemes+=,toggle-two-memtables,toggle-without-bounds,tide
block wave-350-cap-13 5 --scheme "$toggle_schemes" --scale 16 --at-once 9 --profile cap-13 --workload sine-350
# The longer waves with the thesis's own schemes and their twin.
wave_schemes=default,default-with-toggle-memory,compaction-disabled,toggle-without-bounds
scaled wave-700-cap-13 16 10 --scheme "$wave_schemes" --profile cap-13 --workload sine-700
scaled wave-1000-cap-13 16 10 --scheme "$wave_schemes" --profile cap-13 --workload sine-1000
# The stability paper's figures 6, 12, 15 and 17: at 95 % of what the default can do, in bursts, and what lasts.
stability_schemes=default,default-with-tide-memory,stability,stability-36,spring-and-gear,speedb,tikv,cockroach,tide
# Figure 12, side by side. The burst's half hour passes in 150 s, so rates are 12 times the paper's, and a sixteenth of that
# is 0.75: bursts of 6,000/s. The paper's are twice the 4,000/s to which it limits them so that nothing stalls, so this
# device should bear about 3,000/s: at 13 MB/s the defaults' maximum was 2,782/s, and 2,313/s lasted.
block burst-cap-15 5 --scheme "$stability_schemes" --scale 16 --at-once 9 --profile cap-15 --workload burst-lapse \
  --seconds 300
# Figures 15 and 17. Stalls came after 6000 s there; a tenth of that is the least to look for them. Both commands share a
# directory and its maximum: the runs are as long, on the same device, which takes 10.5 GB.
scaled long-two-phase-cap-13 16 5 --profile cap-13 --workload two-phase --seconds 600 \
  --scheme default,default-with-tide-memory,tide
if is_wanted long-lasting-cap-13; then
  bench sustainable --out "$out/long-two-phase-cap-13" --scale 16 --at-once 5 --profile cap-13 --seconds 600 \
    --scheme default,tide
fi
# Five minutes: too short for these figures, enough to compare schemes. First 95 % of the maximum, with the debt paid, then
# what lasts. spring-and-gear is for figure 6.
scaled two-phase-cap-13 16 6 --profile cap-13 --workload two-phase --seconds 300 \
  --scheme default,default-with-adoc-memory,default-with-tide-memory,adoc,tide,spring-and-gear
if is_wanted lasting-cap-13; then
  bench sustainable --out "$out/two-phase-cap-13" --scale 16 --at-once 6 --profile cap-13 --seconds 300 \
    --scheme default,default-with-tide-memory,adoc,stability,spring-and-gear,tide
fi

if [ -n "$failed" ]; then
  echo "Not everything could be made; the same command goes on with it." >&2
  exit 1
fi
