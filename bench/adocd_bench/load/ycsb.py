"""YCSB's core workloads A to F, as defined by workloads/workloada to workloadf in its repository.

Source: Cooper et al., "Benchmarking Cloud Serving Systems with YCSB", SoCC 2010, table 2, and brianfrankcooper/YCSB.
YCSB's record of 1 kB (10 fields of 100 bytes) is one value of 1,000 bytes here; a scan's length is uniform from 1 to
100. One difference: uniform and Zipfian keys are chosen among the loaded records, not also among inserted ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from adocd_bench.load.spec import Distribution, Mix

VALUE_BYTES = 1000
SCAN_LENGTH = 100


@dataclass(frozen=True, slots=True)
class Core:
    """One core workload: the shares of its operations, and how its keys are chosen."""

    title: str
    operations: Mix
    distribution: Distribution


CORE: Mapping[str, Core] = {
    "a": Core("update heavy: half reads, half updates", Mix(read=0.5, update=0.5), "zipfian"),
    "b": Core("read mostly: 95 % reads, 5 % updates", Mix(read=0.95, update=0.05), "zipfian"),
    "c": Core("read only", Mix(read=1.0), "zipfian"),
    "d": Core("read latest: 95 % reads, 5 % inserts", Mix(read=0.95, insert=0.05), "latest"),
    "e": Core("short ranges: 95 % scans, 5 % inserts", Mix(scan=0.95, insert=0.05), "zipfian"),
    "f": Core("read-modify-write: half reads, half of these", Mix(read=0.5, read_modify_write=0.5), "zipfian"),
}
