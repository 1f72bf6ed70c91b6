"""Which code and program a run was made by: two runs are a pair only if they are the same."""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import adocd
import adocd_bench
from adocd.process import compiled, native
from adocd.process.compiled import NativeError

#: Hexadecimal digits of the hash: enough to tell two versions apart, and short enough for a table.
_DIGITS = 12
_BYTECODE = "__pycache__"


def code_in_use() -> str | None:
    """Hash the sources of adocd and the bench, and the agent library in use, as they are now.

    None without an agent, and while files come and go. Each run starts a daemon of its own, which runs what is on the
    disk then.
    """
    try:
        agent = native.find(compiled.rocksdb())
    except NativeError:
        return None
    try:
        return code_of([Path(package.__path__[0]) for package in (adocd, adocd_bench)], agent)
    except FileNotFoundError:  # somebody edits them just now
        return None


def code_of(packages: Sequence[Path], agent: Path) -> str:
    """Hash every file of some packages by its path in them, and the agent library."""
    total = hashlib.sha256()
    for package in packages:
        for file in _sources(package):
            total.update(f"{package.name}/{file.relative_to(package)}\0".encode())
            total.update(hashlib.sha256(file.read_bytes()).digest())
    total.update(hashlib.sha256(agent.read_bytes()).digest())
    return total.hexdigest()[:_DIGITS]


def file_hash(file: Path) -> str | None:
    """Hash a program's file; None if it cannot be read."""
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()[:_DIGITS]
    except OSError:
        return None


def _sources(package: Path) -> Iterator[Path]:
    """Give its files, without what Python compiled of them."""
    return (file for file in sorted(package.rglob("*")) if file.is_file() and _BYTECODE not in file.parts)
