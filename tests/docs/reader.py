"""A reader who does what a document says, in terminals of their own, at home in an empty directory."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.conftest import REPOSITORY
from tests.docs.script import EVERY, SYSTEMD, Command, CtrlC, Step, Wait
from tests.docs.terminal import INTERRUPTED, Terminal
from tests.support.waiting import eventually

#: A command of the documents that ends by itself takes no longer.
PATIENCE_S = 60.0
#: For `once terminal 2 says ...`.
SAID_WITHIN_S = 40.0


class Reader:
    """Types commands and looks at their status."""

    def __init__(self, home: Path, skipped: Mapping[str, str]) -> None:
        self._skipped = skipped
        self._everywhere: list[Command] = []
        self.terminals: dict[str, Terminal] = {}
        #: Opens the terminal on a machine with systemd, where there is one.
        self.open_systemd: Callable[[], Terminal] | None = None
        passed = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
        self.environment = passed | {"HOME": str(home), "TMPDIR": str(home)}

    def follow(self, step: Step) -> None:
        """Do one thing that the document asks for."""
        match step:
            case Command():
                self._type(step)
            case Wait():
                terminal = self.terminals[step.terminal]
                eventually(
                    lambda: step.words in terminal.said() or self._ended_early(),
                    within_s=SAID_WITHIN_S, what=f"{step.where}: terminal {step.terminal} says {step.words!r}",
                )  # fmt: skip
            case CtrlC():
                self._press_ctrl_c(step)

    def _ended_early(self) -> bool:
        """Fail where something that a reader leaves running has ended by itself; else false."""
        for terminal in self.terminals.values():
            running = terminal.running
            if running is not None and (status := terminal.wait(0.01)) is not None:
                raise AssertionError(f"{running.strip()}: ended with {status}: {terminal.said()}")
        return False

    def _type(self, command: Command) -> None:
        if command.bare in self._skipped:
            return
        if command.terminal == EVERY:
            self._everywhere.append(command)
            for terminal in self.terminals.values():
                if terminal.running is None:
                    _run(terminal, command)
            return
        time.sleep(command.after_s)
        terminal = self._terminal(command.terminal)
        if command.keeps_running:
            terminal.type(command.text)
        else:
            _run(terminal, command)

    def _terminal(self, name: str) -> Terminal:
        if name not in self.terminals:
            if name == SYSTEMD:
                assert self.open_systemd is not None
                self.terminals[name] = self.open_systemd()
            else:
                self.terminals[name] = Terminal(name, REPOSITORY, self.environment)
                for command in self._everywhere:
                    _run(self.terminals[name], command)
        return self.terminals[name]

    def _press_ctrl_c(self, step: CtrlC) -> None:
        terminal = self.terminals[step.terminal]
        assert terminal.running is not None, f"{step.where}: nothing runs in terminal {step.terminal}"
        terminal.ctrl_c()
        status = terminal.wait(PATIENCE_S)
        assert status in INTERRUPTED, f"{step.where}: Ctrl-C gave {status}: {terminal.said()}"

    def end(self) -> list[str]:
        """Close all terminals; what the document has left running in them."""
        left = [f"terminal {t.name}: {t.running}" for t in self.terminals.values() if t.running is not None]
        for terminal in self.terminals.values():
            terminal.close()
        return left


def _run(terminal: Terminal, command: Command) -> None:
    before = len(terminal.said())
    terminal.type(command.text)
    status = terminal.wait(PATIENCE_S)
    said = terminal.said()[before:]
    assert status == command.status, f"{command.where}: {command.text.strip()}: ended with {status}, said {said}"
