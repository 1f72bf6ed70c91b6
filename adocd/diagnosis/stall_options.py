"""The options that matter for stalls, from the LOG's listing at the open and its lines about changes."""

from collections.abc import Mapping

from adocd.probes.log.events import Cause, OptionsChanged, OptionsListed

#: The LOG shows only a pointer here; an agent knows the rate.
_LIMITER = ("rate_limiter", "rate_limiter_bytes_per_s")
#: Either of them, if set, overrides max_background_jobs, for flushes and compactions alike (DBImpl::GetBGJobLimits).
OLD_JOBS = ("max_background_flushes", "max_background_compactions")
_JOBS = ("max_background_jobs", *OLD_JOBS)

#: By stall cause, the options that decide when it holds writes and for how long.
BY_CAUSE: Mapping[Cause, tuple[str, ...]] = {
    "memtable": (
        "write_buffer_size",
        "max_write_buffer_number",
        *_JOBS,
        "delayed_write_rate",
        *_LIMITER,
    ),
    "l0": (
        "level0_file_num_compaction_trigger",
        "level0_slowdown_writes_trigger",
        "level0_stop_writes_trigger",
        "write_buffer_size",
        *_JOBS,
        "max_subcompactions",
        "delayed_write_rate",
        "disable_auto_compactions",
        *_LIMITER,
    ),
    "pending_bytes": (
        "soft_pending_compaction_bytes_limit",
        "hard_pending_compaction_bytes_limit",
        *_JOBS,
        "max_bytes_for_level_base",
        "delayed_write_rate",
        "disable_auto_compactions",
        *_LIMITER,
    ),
    "other": ("db_write_buffer_size", "delayed_write_rate"),
}
_WANTED = frozenset(name for names in BY_CAUSE.values() for name in names)
_FAMILIES_MOST = 4096
_VALUE_MOST = 64


class Knobs:
    """The option values in force, by column family."""

    def __init__(self) -> None:
        self._database: dict[str, str] = {}
        self._families: dict[str, dict[str, str]] = {}

    def listed(self, event: OptionsListed) -> None:
        """Take the listing of options that the LOG has at the open."""
        self._put(event.column_family, event.values)

    def changed(self, event: OptionsChanged) -> None:
        """Take a change of options, unless RocksDB refused it."""
        if event.outcome in ("succeeded", "not persisted"):
            self._put(event.column_family, event.values)

    def of(self, column_family: str, cause: Cause) -> dict[str, str]:
        """Return the options that matter for this cause, as far as the LOG shows them."""
        known = self._database | self._families.get(column_family, {})
        return {name: known[name] for name in BY_CAUSE[cause] if name in known}

    def _put(self, column_family: str | None, values: Mapping[str, str]) -> None:
        if column_family is None:
            into = self._database
        else:
            if column_family not in self._families and len(self._families) >= _FAMILIES_MOST:
                return
            into = self._families.setdefault(column_family, {})
        for name, value in values.items():
            if name in _WANTED and value:
                into[name] = value[:_VALUE_MOST]
            elif name in _WANTED:  # it is no more, such as the limiter of a program that was restarted without one
                into.pop(name, None)
