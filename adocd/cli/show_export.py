"""How `export` writes: a fragment of a RocksDB OPTIONS file, flags of db_bench, JSON."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime

from adocd.cli.exported import Exported, Kept

#: What db_bench (tools/db_bench_tool.cc) calls otherwise than RocksDB does.
_FLAGS = {"max_subcompactions": "subcompactions"}
_HEAD = """\
# Options of {path} as they were at {when} under the policy {controller};
# behind each is the value that the database was opened with. Merge them into the OPTIONS file that
# the program loads, or set them in the program: alone, they leave all others at RocksDB's defaults.
"""


def as_options(found: Exported) -> str:
    """Write a fragment that RocksDB's own parser takes (options/options_parser.cc): it wants [Version] first.

    It takes comments only at a line's end. Every file must have [DBOptions] and the column family default.
    """
    lines = [_HEAD.format(path=_one_line(found.path), controller=found.controller, when=_now())]
    lines += [f"# left out: {_one_line(each)}" for each in found.left_out]
    lines += ["[Version]", f"  rocksdb_version={found.rocksdb_version or '0.0.0'}", "  options_file_version=1.1", ""]
    lines += ["[DBOptions]", *_members(found.database), ""]
    families = {"default": found.column_families.get("default", {})} | dict(found.column_families)
    for name, kept in families.items():
        lines += [f'[CFOptions "{_escaped(name)}"]', *_members(kept), ""]
    # RocksDB 7.8 passes over a last line that does not end.
    return "\n".join(lines).rstrip() + "\n"


def as_flags(found: Exported) -> str:
    """Write db_bench's flags on one line."""
    every = {**found.database, **found.column_families.get("default", {})}
    return " ".join(f"--{_FLAGS.get(name, name)}={kept.value}" for name, kept in every.items())


def as_json(found: Exported) -> str:
    """Write all of it."""
    return json.dumps(asdict(found))


def _members(kept: Mapping[str, Kept]) -> list[str]:
    return [
        f"  {name}={each.value}  # was {each.original}" + (f", pinned by {each.pinned_by}" if each.pinned_by else "")
        for name, each in kept.items()
    ]


def _now() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"


def _one_line(text: str) -> str:
    return "".join(each if each.isprintable() else "?" for each in text)


def _escaped(name: str) -> str:
    """Escape what RocksDB does (options/options_helper.cc, EscapeOptionString)."""
    return "".join(_ESCAPES.get(each, each) for each in name)


_ESCAPES = {"\\": "\\\\", "#": "\\#", ":": "\\:", "\r": "\\r", "\n": "\\n"}
