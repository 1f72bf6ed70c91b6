"""The options in force by the LOG: listed at the open, and changed since."""

import re
from collections.abc import Mapping

from adocd.model.options import OPTIONS
from adocd.probes.log.events import OptionsChanged, OptionsListed

#: Most column families kept; no database with an undamaged LOG has more.
_FAMILIES_MOST = 4096
_INTEGER = re.compile(r"(-?[0-9]{1,20})([kKmMgGtT]?)", re.ASCII)
_SUFFIXES = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
_BOOLEANS = {"0": "false", "1": "true"}
_IN_FORCE = ("succeeded", "not persisted")

#: Values by column family; those of the whole database under None.
ByFamily = dict[str | None, dict[str, str]]


class LiveOptions:
    """The options that adocd uses, in an OPTIONS file's spelling: at the open, and in force."""

    def __init__(self) -> None:
        self.opened_with: ByFamily = {}
        self.now: ByFamily = {}
        #: Values in force that RocksDB could not write to the OPTIONS file.
        self.unpersisted: ByFamily = {}

    def listed(self, event: OptionsListed) -> None:
        """Take a listing; the first one of a column family, or of the database, is from the open."""
        if len(self.now) > _FAMILIES_MOST:
            return
        values = as_options_file(event.values)
        opened_with = self.opened_with.setdefault(event.column_family, {})
        opened_with.update({name: value for name, value in values.items() if name not in opened_with})
        self.now.setdefault(event.column_family, {}).update(values)

    def changed(self, event: OptionsChanged) -> None:
        """Take a change of options if it succeeded."""
        if event.outcome not in _IN_FORCE or len(self.now) > _FAMILIES_MOST:
            return
        values = as_options_file(event.values)
        self.now.setdefault(event.column_family, {}).update(values)
        if event.outcome == "not persisted":
            self.unpersisted.setdefault(event.column_family, {}).update(values)
        else:
            self.unpersisted.clear()  # the new OPTIONS file has all options


def as_options_file(values: Mapping[str, str]) -> dict[str, str]:
    """Convert the options that adocd uses to an OPTIONS file's spelling; unreadable values are left out.

    A LOG has booleans as 0 and 1, and values passed to SetOptions as they were written, e.g. 64M.
    """
    written = ((name, _written(OPTIONS[name].kind, value)) for name, value in values.items() if name in OPTIONS)
    return {name: value for name, value in written if value is not None}


def _written(kind: str, value: str) -> str | None:
    if kind == "bool":
        return _BOOLEANS.get(value, value)
    if kind != "int":
        return value
    m = _INTEGER.fullmatch(value)
    return None if m is None else str(int(m[1]) << _SUFFIXES[m[2].lower()])
