"""What a database is opened with at each scale, and what schemes need to know of the device."""

from collections.abc import Mapping
from dataclasses import dataclass

from adocd.model.knob import MIB
from adocd_bench.errors import BadArgument

GIB = 1 << 30
#: Largest scale: it divides the 64 MiB of a memtable to 1 MiB, the smallest size that laws accept.
SCALE_MAX = 64
_SIZES = {
    "write_buffer_size": 64 * MIB,
    "target_file_size_base": 64 * MIB,
    "max_bytes_for_level_base": 256 * MIB,
    "soft_pending_compaction_bytes_limit": 64 * GIB,
    "hard_pending_compaction_bytes_limit": 128 * GIB,
    "delayed_write_rate": 8 * MIB,
}
_COUNTS = {
    "max_background_jobs": 2,
    "max_write_buffer_number": 2,
    "level0_file_num_compaction_trigger": 4,
    "level0_slowdown_writes_trigger": 20,
    "level0_stop_writes_trigger": 36,
}
#: max_bytes_for_level_base in batches, as ADOC sets it with its batch (LAWS, section 5).
_LEVEL_BASE_BATCHES = 4

Options = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What schemes need to know: the scale, and figures measured before.

    Attributes:
        scale: every size is divided by it.
        bandwidth_bytes_per_s: the device's bandwidth, capped or measured; None if it is not known.
        flushing_bytes_per_s: the rate that flushes alone reach; None if it was not measured.
        grid_best: the best options that the grid found; None without a grid.
        grid_best_within: the best with no more memory than the baseline; None without that grid.

    """

    scale: int = 1
    bandwidth_bytes_per_s: int | None = None
    flushing_bytes_per_s: int | None = None
    grid_best: Options | None = None
    grid_best_within: Options | None = None

    def size(self, size_bytes: int) -> int:
        """Divide a size or limit in bytes by the scale; the result is at least 1 MiB."""
        return max(MIB, size_bytes // self.scale)

    @property
    def bandwidth(self) -> int:
        """The device's bandwidth in bytes/s; raises BadArgument if it is not known."""
        if self.bandwidth_bytes_per_s is None:
            raise BadArgument("the device's bandwidth is not known here: use a profile with a cap, such as cap-210")
        return self.bandwidth_bytes_per_s


def base_options(scale: int) -> Options:
    """Return the options that every database is opened with, unless its scheme replaces them."""
    here = Circumstances(scale)
    return {**{name: here.size(size) for name, size in _SIZES.items()}, **_COUNTS}


def owners_options(scale: int) -> Mapping[str, str]:
    """Return the options at which every run is drained: the baseline's, and compaction on."""
    return {**{name: str(value) for name, value in base_options(scale).items()}, "disable_auto_compactions": "false"}


def batch(size_bytes: int) -> Options:
    """Return the three options that set ADOC's batch (adoc-fast23, 5)."""
    return {
        "write_buffer_size": size_bytes,
        "target_file_size_base": size_bytes,
        "max_bytes_for_level_base": _LEVEL_BASE_BATCHES * size_bytes,
    }
