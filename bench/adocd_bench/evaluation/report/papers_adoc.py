"""The ADOC paper's claims: against RocksDB, and its two knobs alone (Yu, Noh, Choi, Xue, FAST '23)."""

from adocd_bench.evaluation.report.claims import Compares, Where
from adocd_bench.evaluation.report.measures import latency
from adocd_bench.evaluation.report.points import Claim, ClaimPoint
from adocd_bench.host.device import SATA_HDD, SATA_SSD

_FILL = Where(("fillrandom",))
_P99 = latency("write", "processing", "p99_us")
#: What figures 20 and 21 compare the halves with turns both knobs.
_BOTH = {"adoc": "adoc, both knobs"}

ADOC = Claim(
    "ADOC against RocksDB's default and its auto-tuned limiter: throughput and stall time",
    (
        ClaimPoint(
            "ADOC 6.2, figure 12",
            "ADOC shows the best performance over all devices.",
            "more throughput than RocksDB-DF",
            Compares("adoc", "default", "throughput_per_s", True, _FILL),
        ),
        ClaimPoint(
            "ADOC abstract; 6.2, figure 12",
            "improves performance by as much as 322.8% compared with the auto-tuned RocksDB",
            "more throughput than RocksDB-AT, up to 4.228 times",
            Compares("adoc", "auto-tuned", "throughput_per_s", True, _FILL),
        ),
        ClaimPoint(
            "ADOC 6.2, figure 12; table 3",
            "It shows 66.7%, 37.8%, 31.0%, and 55.1% higher average throughput over the next best performing scheme, "
            "SILK-O, for PM, NVMe SSD, SATA SSD, and SATA HDD devices, respectively.",
            "1.310 times SILK-O on the SATA SSD, 1.551 times on the HDD (ours has SILK-O's settings alone)",
            Compares("adoc", "silk-o", "throughput_per_s", True, _FILL, {SATA_HDD: 1.551, SATA_SSD: 1.310}),
        ),
        ClaimPoint(
            "ADOC 6.2, figure 12",
            "RocksDB-AT performs better than RocksDB-DF for NVMe SSD and SATA SSD",
            "the limiter helps at a SATA SSD's bandwidth",
            Compares("auto-tuned", "default", "throughput_per_s", True, Where(("fillrandom",), (SATA_SSD,))),
        ),
        ClaimPoint(
            "ADOC 6.2, figure 12",
            "but performs worse for PM and SATA HDD",
            "the limiter hurts at an HDD's bandwidth",
            Compares("auto-tuned", "default", "throughput_per_s", False, Where(("fillrandom",), (SATA_HDD,))),
        ),
        ClaimPoint(
            "ADOC abstract; 6.2, figure 13",
            "reduces the duration of write stalls by as much as 87.9% and improves performance by as much as 322.8% "
            "compared with the auto-tuned RocksDB",
            "less stall time than RocksDB-AT, down to 0.121 times",
            Compares("adoc", "auto-tuned", "held_share", False, _FILL),
        ),
        ClaimPoint(
            "ADOC 1 (figure 13 leaves RocksDB-DF out)",
            "a framework with a goal of minimizing write stalls by harmonizing the flow of data between LSM-KV "
            "components",
            "less stall time than the default; the paper gives no figure",
            Compares("adoc", "default", "held_share", False, _FILL),
        ),
        ClaimPoint(
            "ADOC 6.2, figure 13",
            "ADOC reduces the stall duration compared to SILK-O for PM, SATA SSD, SATA HDD by 45.2%, 8.7%, and 10.3%, "
            "respectively.",
            "0.913 times SILK-O's stall time on the SATA SSD, 0.897 times on the HDD",
            Compares("adoc", "silk-o", "held_share", False, _FILL, {SATA_HDD: 0.897, SATA_SSD: 0.913}),
        ),
        ClaimPoint(
            "ADOC 6.2, figure 13",
            "for MT and L0O stalls, ADOC is the lowest",
            "less time held for memtables and level 0 than RocksDB-AT",
            Compares("adoc", "auto-tuned", "memtable_l0_held_s", False, _FILL),
        ),
        ClaimPoint(
            "ADOC 6.2, figure 13",
            "For the PS stall, however, ADOC seems to be doing worse than both SILK schemes",
            "more time held for pending bytes than SILK-O",
            Compares("adoc", "silk-o", "pending_held_s", True, _FILL),
        ),
        ClaimPoint(
            "ADOC 6.2, figure 16",
            "Compared to SILK-O, ADOC does better for PM, but is higher by 70.1%, 131.2%, and 242.9% for NVMe SSD, "
            "SATA SSD, and SATA HDD, respectively.",
            "p99 2.312 times SILK-O's on the SATA SSD, 3.429 times on the HDD",
            Compares("adoc", "silk-o", _P99, True, _FILL, {SATA_HDD: 3.429, SATA_SSD: 2.312}),
        ),
        ClaimPoint(
            "ADOC 6.3, figure 17",
            "Comparing the auto-tuning systems, RocksDB-AT and ADOC, we find that the latter performs 7.6% to 11.4% "
            "better over all the devices considered.",
            "YCSB: 1.076 times RocksDB-AT's throughput",
            Compares("adoc", "auto-tuned", "throughput_per_s", True, Where(("ycsb-*",)), {"*": 1.076}),
        ),
        ClaimPoint(
            "ADOC 6.3, figure 18",
            "SILK-O uses as much as 76.8% more memory than ADOC",
            "YCSB: less memory than SILK-O",
            Compares("adoc", "silk-o", "peak_memory_bytes", False, Where(("ycsb-*",))),
        ),
        ClaimPoint(
            "ADOC 6.3, figure 19",
            "ADOC achieves 5.2% to 45.3% higher throughput than SILK-O, and 95% to 135% higher than RocksDB-AT",
            "read-while-writing: 1.95 times RocksDB-AT's throughput",
            Compares("adoc", "auto-tuned", "throughput_per_s", True, Where(("readwhilewriting",)), {"*": 1.95}),
        ),
        ClaimPoint(
            "ADOC 6.3, figure 19",
            "ADOC achieves 5.2% to 45.3% higher throughput than SILK-O, and 95% to 135% higher than RocksDB-AT",
            "read-while-writing: 1.052 times SILK-O's throughput",
            Compares("adoc", "silk-o", "throughput_per_s", True, Where(("readwhilewriting",)), {"*": 1.052}),
        ),
    ),
)

HALVES = Claim(
    "ADOC's two knobs alone: ADOC-T (threads) and ADOC-B (batch)",
    (
        ClaimPoint(
            "ADOC 6.4, figure 20",
            "Observing the throughput for ADOC-T, we see that it performs well for PM, but that the throughput "
            "deteriorates with slower devices.",
            "threads alone: less throughput than ADOC on slow devices",
            Compares(
                "adoc-threads",
                "adoc",
                "throughput_per_s",
                False,
                Where(("fillrandom",), (SATA_HDD, SATA_SSD)),
            ),
            _BOTH,
        ),
        ClaimPoint(
            "ADOC 6.4, figure 20",
            "since ADOC-T does not adjust the batch size, its memory footprint is smaller",
            "threads alone: less memory",
            Compares("adoc-threads", "adoc", "peak_memory_bytes", False, _FILL),
            _BOTH,
        ),
        ClaimPoint(
            "ADOC 6.4, figure 20",
            "The disk bandwidth and CPU utilization are also high since the batch size is relatively small",
            "threads alone: more processors used",
            Compares("adoc-threads", "adoc", "cores", True, _FILL),
            _BOTH,
        ),
        ClaimPoint(
            "ADOC 6.4, figure 20",
            "It performs well for HDD, but throughput deteriorates as the devices get more powerful.",
            "batch alone: less throughput than ADOC on fast devices",
            Compares(
                "adoc-batch",
                "adoc",
                "throughput_per_s",
                False,
                Where(("fillrandom",), (SATA_SSD, "uncapped")),
            ),
            _BOTH,
        ),
        ClaimPoint(
            "ADOC 6.4, figure 20",
            "Since it does not increase the number of threads, the memory footprint, the CPU utilization, and the "
            "bandwidth utilization are all relatively low",
            "batch alone: fewer processors used",
            Compares("adoc-batch", "adoc", "cores", False, _FILL),
            _BOTH,
        ),
        ClaimPoint(
            "ADOC 6.4, figure 21",
            "tuning both parameters together reduces the frequency and fluctuations of the adjustments",
            "fewer decisions a minute than threads alone",
            Compares("adoc", "adoc-threads", "decisions_per_minute", False, _FILL),
            _BOTH,
        ),
        ClaimPoint(
            "ADOC 6.4, figure 21",
            "tuning both parameters together reduces the frequency and fluctuations of the adjustments",
            "fewer decisions a minute than batch alone",
            Compares("adoc", "adoc-batch", "decisions_per_minute", False, _FILL),
            _BOTH,
        ),
    ),
)
