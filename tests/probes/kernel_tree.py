"""Lays out the trees of `tests/probes/trees`: see the README there."""

from __future__ import annotations

from pathlib import Path

TREES = Path(__file__).parent / "trees"
NAMES = tuple(sorted(path.stem for path in TREES.glob("*.tree")))
#: Between the first reading and the later one.
APART_S = 2.0


def entries(name: str) -> list[tuple[str, str]]:
    """Read a tree's entries: each one's heading without its mark, and the text below it."""
    text = (TREES / f"{name}.tree").read_text(encoding="utf-8")
    parts = [part.partition("\n") for part in f"\n{text}".split("\n== ")[1:]]
    return [(heading, body + "\n" if body and not body.endswith("\n") else body) for heading, _, body in parts]


def lay_out(parts: list[tuple[str, str]], root: Path) -> Path:
    """Make the first reading's tree below `root`."""
    for heading, body in parts:
        if not heading.startswith("later "):
            _put(heading, body, root)
    return root


def go_on(parts: list[tuple[str, str]], root: Path) -> None:
    """Turn the tree into the later reading's."""
    for heading, body in parts:
        if heading.startswith("later "):
            _put(heading.removeprefix("later "), body, root)


def tree(name: str, root: Path) -> Path:
    """Make the first reading of one of the committed trees."""
    return lay_out(entries(name), root)


def later(name: str, root: Path) -> None:
    """Make its later reading."""
    go_on(entries(name), root)


def _put(heading: str, body: str, root: Path) -> None:
    name, link, target = heading.partition(" -> ")
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if link:
        path.symlink_to(target)
    elif name.endswith("/"):
        path.mkdir(parents=True, exist_ok=True)
    else:
        path.write_text(body, encoding="utf-8")
