"""The options that matter for stalls, as the LOG lists them at the open and tells of changes."""

from collections.abc import Mapping

from adocd.probes.log.events import Cause, OptionsChanged, OptionsListed

#: A pointer in the LOG, and the rate that an agent knows.
_LIMITER = ("rate_limiter", "rate_limiter_bytes_per_s")

#: By what writes are held for, the options that decide when and for how long.
BY_CAUSE: Mapping[Cause, tuple[str, ...]] = {
    "memtable": (
        "write_buffer_size",
        "max_write_buffer_number",
        "max_background_jobs",
        "max_background_flushes",
        *_LIMITER,
    ),
    "l0": (
        "level0_file_num_compaction_trigger",
        "level0_slowdown_writes_trigger",
        "level0_stop_writes_trigger",
        "write_buffer_size",
        "max_background_jobs",
        "max_background_compactions",
        "max_subcompactions",
        "delayed_write_rate",
        "disable_auto_compactions",
        *_LIMITER,
    ),
    "pending_bytes": (
        "soft_pending_compaction_bytes_limit",
        "hard_pending_compaction_bytes_limit",
        "max_background_jobs",
        "max_background_compactions",
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
    """The values in force."""

    def __init__(self) -> None:
        self._database: dict[str, str] = {}
        self._families: dict[str, dict[str, str]] = {}

    def listed(self, event: OptionsListed) -> None:
        """Take a listing."""
        self._put(event.column_family, event.values)

    def changed(self, event: OptionsChanged) -> None:
        """Take a change, if it came into force."""
        if event.outcome in ("succeeded", "not persisted"):
            self._put(event.column_family, event.values)

    def of(self, column_family: str, cause: Cause) -> dict[str, str]:
        """Return what matters for this cause; nothing that the LOG does not tell."""
        known = self._database | self._families.get(column_family, {})
        return {name: known[name] for name in BY_CAUSE[cause] if name in known}

    def _put(self, column_family: str | None, values: Mapping[str, str]) -> None:
        if column_family is None:
            into = self._database
        else:
            if column_family not in self._families and len(self._families) >= _FAMILIES_MOST:
                return
            into = self._families.setdefault(column_family, {})
        into.update((name, value[:_VALUE_MOST]) for name, value in values.items() if name in _WANTED)
