"""What the documents say beside their commands is true of this checkout."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer

from adocd.cli import adocctl, adocd
from adocd.daemon.fleet import config
from tests.conftest import REPOSITORY
from tests.docs.markdown import ALL, Block, blocks, inline_code, links

BLOCKS = [block for file in ALL for block in blocks(file)]
COMMANDS = {"adocd": typer.main.get_command(adocd.app), "adocctl": typer.main.get_command(adocctl.app)}
SOURCES = {"python": "*.py", "cpp": "*.cc", "ini": "*.conf", "toml": "pyproject.toml"}


def test_all_documents_are_known() -> None:
    """Else commands in a new one would be run by nobody."""
    assert {path for path in ALL if path.parent == REPOSITORY / "docs"} == set((REPOSITORY / "docs").glob("*.md"))


def test_links_commands_and_blocks_are_found() -> None:
    """Else what is asked of each of them would be asked of none."""
    found = [link for file in ALL for link in links(file)]
    assert any("#" in link and "://" not in link for link in found)
    assert any("#" not in link and "://" not in link for link in found)
    assert {code.split()[0] for file in ALL for code in inline_code(file) if code.split()} >= set(COMMANDS)
    assert {"sh", "toml", "python", "json"} <= {block.language for block in BLOCKS}


def quoted(block: Block) -> bool:
    """Tell whether all lines of the block stand, in this order, in one of the examples."""
    wanted = [line for line in block.content.split("\n") if line]
    assert wanted, f"{block} is empty"
    for file in (REPOSITORY / "examples").rglob(SOURCES[str(block.language)]):
        lines = iter(file.read_text().split("\n"))
        if all(line in lines for line in wanted):
            return True
    return False


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_each_block_is_run_or_held_against_an_example(block: Block) -> None:
    match block.language:
        case "sh":
            pass  # test_commands.py
        case "toml" if "[project" in block.content:
            assert quoted(block), "such lines are in no example, so no test runs them"
        case "toml":
            config.parse(tomllib.loads(block.content), str(block))
        case "json":
            json.loads(block.content)  # tests/bench/load/test_load.py runs it
        case "python" | "cpp" | "ini":
            assert quoted(block), "such lines are in no example, so no test runs them"
        case _:
            pytest.fail(
                "commands stand in a fence with ```sh, so that they are run; other code in one that says what it is"
            )


@pytest.mark.parametrize("file", ALL, ids=lambda file: str(file.relative_to(REPOSITORY)))
def test_commands_within_sentences_exist(file: Path) -> None:
    """They may have placeholders, so they are not run; but each subcommand and option is one that there is."""
    for code in inline_code(file):
        words = re.sub(r"[\[\]|]", " ", code).split()
        is_extra = re.fullmatch(r"adocd\[\w+\]", code)  # of the distribution, for pip
        if words and words[0] in COMMANDS and not is_extra:
            check(words)


def check(words: list[str]) -> None:
    command: Any = COMMANDS[words[0]]
    rest = words[1 : words.index("--")] if "--" in words else words[1:]
    while hasattr(command, "commands") and rest and not rest[0].startswith("-"):
        assert rest[0] in command.commands, f"{shlex.join(words)}: there is no command {rest[0]!r}"
        command, rest = command.commands[rest[0]], rest[1:]
    known = {"--help"} | {name for parameter in command.params for name in parameter.opts}
    unknown = {word for word in rest if re.fullmatch(r"--?[a-z-]+", word)} - known
    assert not unknown, f"{shlex.join(words)}: there is no option {unknown}"


@pytest.mark.parametrize("file", ALL, ids=lambda file: str(file.relative_to(REPOSITORY)))
def test_links_lead_somewhere(file: Path) -> None:
    for link in links(file):
        path, _, anchor = link.partition("#")
        if "://" in link:
            continue
        target = (file.parent / path).resolve() if path else file
        assert target.exists(), f"{link}: there is no {target}"
        if anchor:
            assert anchor in anchors(target), f"{link}: there are {sorted(anchors(target))}"


def anchors(file: Path) -> set[str]:
    """List a document's headings as links name them."""
    headings = re.findall(r"^#+ (.*)$", file.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
