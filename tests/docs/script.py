"""The commands of a ```sh block, and what its comments ask of the reader.

Comments are for readers, and these of them are obeyed here as a reader obeys them:

    # terminal 2: runs until Ctrl-C          the commands below go to terminal 2; the next one is not waited for
    # terminal 3, once terminal 2 says "X"   before going on, wait until terminal 2 has printed X
    # in every terminal                      the commands below are typed in each terminal, the ones to come too
    # Ctrl-C in terminals 2 and 1            press it, in this order, and wait until what ran there has ended
    # under systemd, or # as root            the commands below are for a machine that is thrown away
    COMMAND    # after 5 seconds             wait so long before it
    COMMAND    # exit code 3: why            it ends with this code; without such a comment, with 0

Everything stays in force until the next comment of its kind or the end of the block.
"""

from __future__ import annotations

import functools
import re
import subprocess
from dataclasses import dataclass

from tests.docs.markdown import Block

#: Where commands go that name no terminal.
PLAIN = "plain"
EVERY = "every"
SYSTEMD = "systemd"
#: A line of words alone is complete, as no shell has to say.
_WORDS = re.compile(r"(?!(if|for|while|until|case|select|function|time|coproc)\b)[\w./~][\w ./=@%:,+~-]*( #.*)?\n")


@dataclass(frozen=True)
class Command:
    """One command as it is written, and where and when a reader types it."""

    text: str
    where: str
    terminal: str
    keeps_running: bool = False
    after_s: float = 0.0
    status: int = 0

    @property
    def bare(self) -> str:
        """The command without the comment behind it."""
        return re.sub(r"\s+#.*", "", self.text).strip()


@dataclass(frozen=True)
class Wait:
    """Look at a terminal until it says something."""

    where: str
    terminal: str
    words: str


@dataclass(frozen=True)
class CtrlC:
    """Press Ctrl-C in a terminal."""

    where: str
    terminal: str


Step = Command | Wait | CtrlC


def steps(block: Block) -> list[Step]:
    """Read a block. Fails where a command is not complete."""
    found: list[Step] = []
    terminal, until_ctrl_c, pending = PLAIN, False, ""
    for number, line in enumerate(block.content.splitlines(), block.line + 1):
        where = f"{block.file.name}:{number}"
        if not pending and line.startswith("#"):
            if named := _terminal(line):
                terminal, until_ctrl_c = named, "until Ctrl-C" in line
            found += _asked(where, line)
        elif pending or line.strip():
            pending += line + "\n"
            if _complete(pending):
                found.append(_command(where, pending, terminal, until_ctrl_c))
                pending = ""
    assert not pending, f"{block}: the last command is not complete: {pending}"
    return found


def _terminal(comment: str) -> str | None:
    if match := re.match(r"# terminal (\d+)\b", comment):
        return match[1]
    if comment.startswith("# in every terminal"):
        return EVERY
    return SYSTEMD if comment.startswith(("# under systemd", "# as root")) else None


def _asked(where: str, comment: str) -> list[Step]:
    found: list[Step] = []
    if match := re.match(r"# Ctrl-C in terminals? ([\d, and]+)", comment):
        found += [CtrlC(where, number) for number in re.findall(r"\d+", match[1])]
    if match := re.search(r'once terminal (\d+) says "([^"]+)"', comment):
        found.append(Wait(where, match[1], match[2]))
    return found


def _command(where: str, text: str, terminal: str, keeps_running: bool) -> Command:
    after = re.search(r"#.*\bafter (\d+) seconds", text)
    status = re.search(r"#.*\bexit code (\d+):", text)
    return Command(
        text, where, terminal, keeps_running, float(after[1]) if after else 0.0, int(status[1]) if status else 0
    )


@functools.cache
def _complete(text: str) -> bool:
    if text.endswith("\\\n"):
        return False
    if _WORDS.fullmatch(text):
        return True
    return subprocess.run(["bash", "-n", "-c", text], capture_output=True, check=False).returncode == 0
