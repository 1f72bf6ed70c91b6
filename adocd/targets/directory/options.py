"""The options of a database of which only the directory is seen: its OPTIONS file, and what the LOG adds to it."""

from collections.abc import Callable, Mapping
from pathlib import Path

from adocd.model.options import OPTIONS, Scope
from adocd.model.snapshot import OptionValues
from adocd.probes.log.live_options import LiveOptions
from adocd.probes.options_file import OptionsFile, newest

#: A column family may come or go without a line that is read; to list a directory of many files takes a while.
_LOOK_AGAIN_S = 10.0


class DirectoryOptions:
    """Reads the OPTIONS file when it may have changed; blocks on I/O."""

    def __init__(self, path: Path, db_identity: str, clock: Callable[[], float]) -> None:
        self._path = path
        self._db_identity = db_identity
        self._clock = clock
        self._file: OptionsFile | None = None
        self._read_s: float | None = None

    def read(self, told: LiveOptions, *, has_changed: bool) -> OptionValues:
        """Give the values in force; `has_changed` says that the LOG tells of a change since the last time.

        Where there is no OPTIONS file to be read, the LOG's own listing stands in. Neither has rate limiter or pools.
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
    """Give the values of the open: as the LOG lists them, else as they are now."""
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
