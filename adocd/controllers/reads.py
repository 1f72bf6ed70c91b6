"""What clients read, by RocksDB's tickers (statistics.h). Pure."""

from adocd.model.sample import Sample

#: Bytes of point lookups, of MultiGet and of iterators. Reads that a cache serves count too.
BYTES_TICKERS = ("rocksdb.bytes.read", "rocksdb.number.multiget.bytes.read", "rocksdb.db.iter.bytes.read")
#: Point lookups, and each step of a scan.
COUNT_TICKERS = (
    "rocksdb.number.keys.read",
    "rocksdb.number.multiget.keys.read",
    "rocksdb.number.db.seek",
    "rocksdb.number.db.next",
    "rocksdb.number.db.prev",
)


def read_bytes_per_s(sample: Sample) -> float | None:
    """Return the bytes/s that reads return; None if not even those of point lookups are counted."""
    if sample.ticker_per_s(BYTES_TICKERS[0]) is None:
        return None
    return sum(sample.ticker_per_s(ticker) or 0.0 for ticker in BYTES_TICKERS)


def reads_per_s(sample: Sample) -> float | None:
    """Return the lookups and steps of scans per second; None if none of them are counted."""
    counted = [rate for ticker in COUNT_TICKERS if (rate := sample.ticker_per_s(ticker)) is not None]
    return sum(counted) if counted else None
