"""Exit codes of adocd and adocctl; a failure ends with one sentence on stderr."""

import gc
from enum import IntEnum
from typing import NoReturn

import typer

from adocd.api.client import NoDaemon, RestError
from adocd.cli.terminal import say


class Exit(IntEnum):
    """Documented in `--help` and docs/commands.md; 0 is success and 2 a usage error, as everywhere."""

    FAILED = 1
    USAGE = 2
    NO_DAEMON = 3
    NO_TARGET = 4
    REFUSED = 5
    NO_AGENT = 6
    DANGER = 8
    NO_PROGRAM = 127


EPILOG = (
    "Exit codes: 0 done; 1 failed; 2 wrong usage or configuration; 3 no daemon answers; 4 no such target; "
    "5 refused; 6 the native agent is missing, or there is nothing it could attach to; "
    "8 lint found a danger; 127 there is no such program."
)


class Failure(Exception):
    """Ends a command with one sentence and an exit code."""

    def __init__(self, sentence: str, code: Exit) -> None:
        super().__init__(sentence)
        self.code = code


def fail(sentence: str, code: Exit) -> NoReturn:
    """End the command."""
    raise Failure(sentence, code) from None


def run(app: typer.Typer, name: str) -> NoReturn:
    """Run a command; every failure becomes one sentence on stderr, prefixed with the command's name."""
    try:
        _run(app, name)
    except Failure as error:
        sentence, code = str(error), error.code
    except NoDaemon as error:
        sentence, code = str(error), Exit.NO_DAEMON
    except RestError as error:
        sentence, code = str(error), Exit.NO_TARGET if error.status == 404 else Exit.REFUSED
    else:
        raise SystemExit(0)
    say(f"{name}: {sentence}", err=True)
    raise SystemExit(code)


def _run(app: typer.Typer, name: str) -> None:
    try:
        app(prog_name=name)
    finally:
        # Without this, the interpreter's last garbage collection scans all imports: a tenth of a command's time.
        gc.freeze()
