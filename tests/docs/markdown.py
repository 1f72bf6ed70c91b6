"""What a Markdown file has of code: its blocks, and what is set in code within a sentence."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.conftest import REPOSITORY

#: What a reader is told to type there, the tests of this directory type.
GUIDES = (
    REPOSITORY / "README.md",
    REPOSITORY / "docs" / "guide.md",
    REPOSITORY / "docs" / "attach.md",
    REPOSITORY / "docs" / "service.md",
    REPOSITORY / "docs" / "access.md",
    REPOSITORY / "docs" / "page.md",
    REPOSITORY / "docs" / "simulator.md",
    REPOSITORY / "docs" / "replay.md",
    REPOSITORY / "examples" / "README.md",
)
#: These install and remove packages, which tests/packages does in environments of their own. What root does of them
#: test_commands.py types where root may, upgrading first.
PAGES = (REPOSITORY / "docs" / "upgrade.md", REPOSITORY / "docs" / "uninstall.md")
#: Nothing in these is to be typed.
REFERENCES = tuple(
    REPOSITORY / "docs" / name
    for name in (
        "commands.md",
        "controllers.md",
        "tide.md",
        "cost.md",
        "detection.md",
        "evaluation.md",
        "explain.md",
        "jvm.md",
        "laws-proof.md",
        "load-generator.md",
        "latency.md",
        "lint.md",
        "metrics.md",
        "runbook.md",
        "rest.md",
        "results.md",
        "safety.md",
        "writing-a-controller.md",
    )
)
ALL = GUIDES + PAGES + REFERENCES + (REPOSITORY / "CONTRIBUTING.md",)


@dataclass(frozen=True)
class Block:
    """A fenced block, or an indented one (whose language is None)."""

    file: Path
    line: int
    language: str | None
    content: str

    def __str__(self) -> str:
        return f"{self.file.relative_to(REPOSITORY)}:{self.line}"


@functools.cache
def _parsed(file: Path) -> list[Token]:
    return MarkdownIt().enable("table").parse(file.read_text(encoding="utf-8"))


def blocks(file: Path) -> list[Block]:
    """List all blocks of code."""
    found = []
    for token in _parsed(file):
        if token.type in ("fence", "code_block") and token.map is not None:
            language = token.info.strip() if token.type == "fence" else None
            found.append(Block(file, token.map[0] + 1, language, token.content))
    return found


def inline_code(file: Path) -> list[str]:
    """List what is set in code within sentences and tables."""
    return [child.content for token in _parsed(file) for child in token.children or [] if child.type == "code_inline"]


def links(file: Path) -> list[str]:
    """List where links and pictures lead."""
    return [
        str(child.attrs.get("href") or child.attrs.get("src"))
        for token in _parsed(file)
        for child in token.children or []
        if child.type in ("link_open", "image")
    ]
