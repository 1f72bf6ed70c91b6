"""The options of a database without an agent: from its OPTIONS file, and the LOG."""

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from adocd.model.options import OPTIONS, Scope
from adocd.model.snapshot import OptionValues
from adocd.probes.log.live_options import LiveOptions
from adocd.probes.options_file import OptionsFile, newest

#: How often to look for a new OPTIONS file without a hint in the LOG: a column family may come or go without a line
#: that we read, but listing a large directory takes a while.
_LOOK_AGAIN_S = 10.0


class DirectoryOptions:
    """Reads the OPTIONS file when it may have changed; blocks on I/O."""

    def __init__(self, path: Path, db_identity: str, clock: Callable[[], float]) -> None:
        self._path = path
        self._db_identity = db_identity
        self._clock = clock
        self._file: OptionsFile | None = None
        self._read_s: float | None = None

    @property
    def families(self) -> Collection[str] | None:
        """The column families of the OPTIONS file read last; None if there is none that can be read."""
        return None if self._file is None else self._file.column_families.keys()

    def read(self, told: LiveOptions, *, has_changed: bool) -> OptionValues:
        """Return the values in force; `has_changed` is whether the LOG has reported a change since the last read.

        Without a readable OPTIONS file, the LOG's listing is used. Neither has the rate limiter or the thread pools.
        """
        now_s = self._clock()
        if has_changed or self._read_s is None or now_s - self._read_s >= _LOOK_AGAIN_S:
            found = newest(self._path, self._db_identity)
            self._file, self._read_s = found if isinstance(found, OptionsFile) else None, now_s
        if self._file is None:
            return _values(told.now)
        families = self._file.column_families
        return OptionValues(
            database=_known(self._file.database, "database") | told.unpersisted.get(None, {}),
            column_families={
                name: _known(values, "column_family") | told.unpersisted.get(name, {})
                for name, values in families.items()
            },
        )


def opened_with(told: LiveOptions, now: OptionValues) -> OptionValues:
    """Return the values at open, as listed in the LOG, else the present ones."""
    families = {
        name: {option: told.opened_with.get(name, {}).get(option, value) for option, value in values.items()}
        for name, values in now.column_families.items()
    }
    database = {o: told.opened_with.get(None, {}).get(o, value) for o, value in now.database.items()}
    return OptionValues(database=database, column_families=families)


def _values(by_family: Mapping[str | None, Mapping[str, str]]) -> OptionValues:
    return OptionValues(
        database=_known(by_family.get(None, {}), "database"),
        column_families={
            name: _known(values, "column_family") for name, values in by_family.items() if name is not None
        },
    )


def _known(values: Mapping[str, str], scope: Scope) -> dict[str, str]:
    return {name: value for name, value in values.items() if name in OPTIONS and OPTIONS[name].scope == scope}
