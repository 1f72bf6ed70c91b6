"""How long writes took in a window: from the agent's sampler, else from Statistics, else why it is not known."""

from adocd.model.capabilities import Capabilities
from adocd.model.latency import WriteLatency, sampled
from adocd.model.sample import HistogramIncrease
from adocd.model.snapshot import Snapshot

_MEAN_ONLY = "Statistics has percentiles only of the whole time since the open, so of a window only the mean is known"
_REMEDY = "open the database with Statistics that keep histograms for the mean"
_OFF = f"timing writes is switched off in the program (ADOCD_AGENT_LATENCY=off); {_REMEDY}"
_DIRECTORY = f"a directory is only observed, and nothing times its writes; {_REMEDY}, or attach the native agent"
_NONE = f"this agent does not time writes; {_REMEDY}"
_NO_WRITES_YET = "no write has ended since the open"


def write_latency(
    now: Snapshot, before: Snapshot, statistics: HistogramIncrease | None, capabilities: Capabilities
) -> WriteLatency:
    """Return the latencies of the writes between two snapshots; `statistics` is the growth of RocksDB's histogram."""
    if now.write_latency is not None:
        return sampled(now.write_latency, before.write_latency)
    if statistics is not None:
        mean_micros = statistics.mean
        mean_s = None if mean_micros is None else mean_micros / 1e6
        return WriteLatency("statistics", statistics.count, mean_s=mean_s, why=_MEAN_ONLY)
    if now.histograms is not None:
        return WriteLatency(why=_NO_WRITES_YET)  # a histogram without values is left out
    if capabilities.write_latency == "off":
        return WriteLatency(why=_OFF)
    return WriteLatency(why=_NONE if capabilities.can_change else _DIRECTORY)
