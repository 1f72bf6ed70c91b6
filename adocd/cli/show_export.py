"""Output formats of `export`: a fragment of a RocksDB OPTIONS file, db_bench flags, JSON."""

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime

from adocd.cli.exported import Exported, Kept
from adocd.model.printable import printable

#: Options for which db_bench (tools/db_bench_tool.cc) uses another name than RocksDB.
_FLAGS = {"max_subcompactions": "subcompactions"}
#: Characters of an option and its value; not `#`, which begins a comment.
_PLAIN = re.compile(r"[A-Za-z0-9_.:;,{}%/=+-]*")
_HEAD = """\
# Options of {path} as they were at {when} under the policy {controller};
# the comment after each is the value that the database was opened with. Merge them into the OPTIONS file
# that the program loads, or set them in the program: alone, they leave all others at RocksDB's defaults.
# Before you restart the program with them, run adocctl restore and wait until it is done; then run adocctl resume.
# Otherwise adocd takes them for its own and undoes them.
"""


class NotWritable(Exception):
    """A name or a value that RocksDB would not write; the message is one sentence."""


def as_options(found: Exported) -> str:
    """Write a fragment for RocksDB's own parser (options/options_parser.cc), which requires [Version] first.

    The parser allows comments only at a line's end. Every file must have [DBOptions] and the column family default.
    Raises NotWritable.
    """
    lines = [_HEAD.format(path=printable(found.path), controller=printable(found.controller), when=_now())]
    lines += [f"# left out: {printable(each)}" for each in found.left_out]
    lines += [
        "[Version]",
        f"  rocksdb_version={_plain(found.rocksdb_version or '0.0.0')}",
        "  options_file_version=1.1",
        "",
    ]
    lines += ["[DBOptions]", *_members(found.database), ""]
    families = {"default": found.column_families.get("default", {})} | dict(found.column_families)
    for name, kept in families.items():
        lines += [f'[CFOptions "{_escaped(name)}"]', *_members(kept), ""]
    # RocksDB 7.8 ignores a last line without a newline.
    return "\n".join(lines).rstrip() + "\n"


def as_flags(found: Exported) -> str:
    """Write db_bench's flags on one line, quoted for a shell. Raises NotWritable."""
    every = {**found.database, **found.column_families.get("default", {})}
    return " ".join(
        shlex.quote(f"--{_FLAGS.get(name, name)}={_plain(kept.value)}") for name, kept in every.items() if _plain(name)
    )


def as_json(found: Exported) -> str:
    """Write all options and what is left out, as one JSON object."""
    return json.dumps(asdict(found))


def _members(kept: Mapping[str, Kept]) -> list[str]:
    return [
        f"  {_plain(name)}={_plain(each.value)}  # was {printable(each.original)}"
        + (f", pinned by {printable(each.pinned_by)}" if each.pinned_by else "")
        for name, each in kept.items()
    ]


def _now() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"


def _plain(word: str) -> str:
    """Refuse an option name or value from an agent that could end a line or begin a comment."""
    if _PLAIN.fullmatch(word) is None:
        raise NotWritable(f"{word!r} is not an option or value that RocksDB would write: use --format json")
    return word


def _escaped(name: str) -> str:
    """Escape as RocksDB does (options/options_helper.cc, EscapeOptionString), which is not safe for a terminal."""
    escaped = "".join(_ESCAPES.get(each, each) for each in name)
    if not escaped.isprintable():
        raise NotWritable(f"the column family {name!r} has a name that a file of lines cannot hold: use --format json")
    return escaped


_ESCAPES = {"\\": "\\\\", "#": "\\#", ":": "\\:", "\r": "\\r", "\n": "\\n"}
