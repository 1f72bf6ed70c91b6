"""Every figure and table of the five sources, with what it shows, and why we cannot have it where we cannot.

The sources are those of `papers`, and RocksDB's blog of 2017-12-18, "Auto-tuned Rate Limiter", whose graphs have no
numbers: they are counted here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

#: `ours`: it can be measured here. `inside`: only a change of the engine's code shows it. `nothing`: it has no result.
Kind = Literal["ours", "inside", "nothing"]


@dataclass(frozen=True, slots=True)
class PaperFigure:
    """A figure or table; `why` it is out of reach, or what would measure it."""

    paper: str
    label: str
    what: str
    kind: Kind
    why: str


_DRAWING = "a drawing"
_CODE = "code or a command"
_STATIC = "default with other static threads and batches, fillrandom: no plan of ours has it yet"
_ENGINE = "another engine than RocksDB"
_MERGES = "the order and bandwidth of single merges are the engine's own"

_Row = tuple[str, str, Kind, str]

_ADOC: tuple[_Row, ...] = (
    ("figure 1", "throughput of fillrandom, which stalls", "ours", "default, fillrandom on each profile"),
    ("figure 2", "RocksDB's architecture", "nothing", _DRAWING),
    ("table 1", "the devices", "nothing", "a description"),
    ("table 2", "what studies say of stalls", "nothing", "a summary"),
    ("figure 3", "stalls by threads", "ours", _STATIC),
    ("figure 4", "processors used by threads", "ours", _STATIC),
    ("figure 5", "peak bandwidth by threads", "ours", _STATIC),
    ("figure 6", "L0-L1 compactions in time, and throughput", "ours", _STATIC),
    ("figure 7", "background jobs and their rates by threads and batch", "ours", _STATIC),
    ("figure 8", "stalls by cause", "ours", _STATIC),
    ("figure 9", "the three overflows", "nothing", _DRAWING),
    ("figure 10", "overflows in time", "ours", "default, fillrandom for 600 s"),
    ("figure 11", "ADOC's control flow", "nothing", _DRAWING),
    ("table 3", "the schemes and their settings", "ours", "the schemes silk-d, silk-p and silk-o"),
    ("figure 12", "throughput of all schemes", "ours", ""),
    ("figure 13", "duration and number of stalls", "ours", ""),
    ("figure 14", "processors, disk space, input data", "ours", "our runs do not record disk space"),
    ("figure 15", "share of the background operations", "ours", "our runs do not count jobs by kind"),
    ("figure 16", "99th percentile of latency", "ours", ""),
    ("table 4", "YCSB's workloads", "nothing", "a description"),
    ("figure 17", "throughput in YCSB", "ours", ""),
    ("figure 18", "memory in YCSB", "ours", ""),
    ("figure 19", "throughput of read-while-writing", "ours", ""),
    ("figure 20", "threads alone and batch alone", "ours", ""),
    ("figure 21", "what was turned in an hour", "ours", ""),
)
_THESIS: tuple[_Row, ...] = (
    ("figure 2.1", "leveled compaction", "nothing", _DRAWING),
    ("figure 2.2", "the levels' sizes", "nothing", _DRAWING),
    ("figure 2.3", "write amplification in an SSD", "nothing", _DRAWING),
    ("figure 3.1", "a developer's answer", "nothing", "a quotation"),
    *((f"figure 3.{number}", "the implementation", "nothing", _CODE) for number in range(2, 10)),
    ("figure 3.10", "the wave", "nothing", "a description: our workload sine-350"),
    *((f"figure 3.{number}", "the wave's code", "nothing", _CODE) for number in range(11, 15)),
    ("figure 3.15", "with and without pending limits", "ours", "limits-raised by single limits: no scheme of ours yet"),
    ("figure 3.16", "threads for flushes", "ours", "toggle with flush_threads=1 and 4: no scheme of ours yet"),
    ("figure 3.17", "four and six memtables", "ours", "toggle with memtables=4 and 6: no scheme of ours yet"),
    ("figure 3.18", "the compaction interface", "nothing", _CODE),
    ("figure 4.1", "the SSD's write speed", "nothing", "the paper's device"),
    ("figure 4.2", "the random read benchmark", "nothing", _CODE),
    ("figure 4.3", "writes under the wave of 350 s", "ours", ""),
    ("figure 4.4", "writes and reads after 350 s", "ours", ""),
    ("figure 4.5", "writes under the wave and a tail of 350 s", "ours", ""),
    ("figure 4.6", "writes and reads after 700 s", "ours", ""),
    ("figure 4.7", "writes under the wave and a tail of 650 s", "ours", "toggle and default, sine-1000"),
    ("figure 4.8", "reads after 1000 s", "ours", ""),
    ("figure 4.9", "reads with bloom filters", "ours", "the load generator opens its database without filters"),
    ("figure 4.10", "stalls by level 0 and pending bytes", "ours", ""),
    ("figure 4.11", "random writes as fast as they go", "ours", ""),
    ("figure 4.12", "overwrites as fast as they go", "ours", ""),
    ("figure 5.1", "a developer's answer", "nothing", "a quotation"),
)
_SILK: tuple[_Row, ...] = (
    (
        "figure 1",
        "latency with and without internal work",
        "ours",
        "a scheme with flushes and compactions off: none yet",
    ),
    ("figure 2", "one spike: level 0 is full", "ours", "one run's timeline: default, peaks"),
    ("figure 3", "one spike: slow flushes", "ours", "one run's timeline: default, peaks"),
    ("figure 4", "latency under static limits of 50, 75 and 90 MB/s", "ours", "three static limiters: no schemes yet"),
    ("figure 5", "TRIAD's latency", "inside", _ENGINE),
    ("figure 6", "PebblesDB's latency", "inside", _ENGINE),
    ("figure 7", "the load of a production system", "nothing", "its trace is not published"),
    ("figure 8A", "latency under a production trace", "ours", ""),
    ("figure 8B", "latency under peaks of 10, 50 and 100 s", "ours", ""),
    ("figure 8C", "the two techniques alone", "ours", ""),
    ("figure 9", "flushes that waited, and time stalled", "ours", "silk and default under a trace"),
    ("figure 10", "24 hours of the production trace", "ours", "silk and default under a trace of 24 hours"),
    ("figure 11", "what SILK gives internal work", "ours", "one run's timeline under a trace"),
    ("table 1", "YCSB's workloads", "nothing", "a description"),
    ("figure 12", "TRIAD with SILK: throughput in YCSB", "inside", _ENGINE),
    ("figure 13", "TRIAD with SILK: latency in YCSB", "inside", _ENGINE),
)
_STABILITY: tuple[_Row, ...] = (
    ("figure 1", "RocksDB's throughput in time, with stalls", "ours", "default at a constant rate for two hours"),
    ("figure 2", "merge policies", "nothing", _DRAWING),
    ("figure 3", "partitioned leveling", "nothing", _DRAWING),
    ("figure 4", "spring and gear", "nothing", _DRAWING),
    ("figure 5", "models of write latency", "nothing", _DRAWING),
    ("figure 6", "bLSM in two phases", "ours", ""),
    ("table 1", "notation", "nothing", "a description"),
    ("figure 7", "schedulers: throughput while testing", "inside", _MERGES),
    ("figure 8", "schedulers, tiering: running at 95 %", "inside", _MERGES),
    ("figure 9", "schedulers, leveling: running at 95 %", "inside", _MERGES),
    ("figure 10", "size ratio and stalls", "inside", _MERGES),
    ("figure 11", "global and local limits on components", "inside", "RocksDB has one limit, that of level 0"),
    ("figure 12", "bursts: delay, or write as quickly as possible", "ours", ""),
    ("figure 13", "queries with tiering, by scheduler", "inside", _MERGES),
    ("figure 14", "queries with leveling, by scheduler", "inside", _MERGES),
    ("figure 15", "partitioned: what was measured is not sustainable", "ours", ""),
    ("figure 16", "the expected shape of the levels, and what the score makes of it", "nothing", _DRAWING),
    ("figure 17", "partitioned: what is sustainable", "ours", ""),
    ("figure 18", "partition size and stalls", "ours", "default with other target_file_size_base: no schemes yet"),
)
_BLOG: tuple[_Row, ...] = (
    (
        "graph 1",
        "background I/O in time under a static limit",
        "ours",
        "no scheme with a static limit of 1000 MB/s yet",
    ),
    ("graph 2", "background I/O in time under the auto-tuned limit", "ours", "auto-tuned, constant at 10 MB/s"),
    ("graph 3", "both as distributions", "ours", "the same two runs"),
)
_SOURCES: tuple[tuple[str, tuple[_Row, ...]], ...] = (
    ("ADOC", _ADOC),
    ("Thesis", _THESIS),
    ("SILK", _SILK),
    ("Stability", _STABILITY),
    ("Blog", _BLOG),
)


def _all() -> Iterator[PaperFigure]:
    for paper, rows in _SOURCES:
        for label, what, kind, why in rows:
            yield PaperFigure(paper, label, what, kind, why)


#: In the sources' order.
SHOWN = tuple(_all())
