"""Exit codes of adocd and adocctl; a failure ends with one sentence on stderr."""

import errno
import gc
from enum import IntEnum
from typing import NoReturn

import typer
from typer._click.exceptions import UsageError

from adocd.api.client import NoDaemon, RestError
from adocd.cli.terminal import say
from adocd.targets import run_dir

#: What writing to a full disk gives, beyond a quota, beyond the limit of a file, and to a broken disk.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class Exit(IntEnum):
    """Documented in `--help` and docs/commands.md; 0 is success and 2 a usage error, as everywhere.

    The same mistake has the same code in every command (tests/cli/test_exits.py), whether adocctl or the daemon finds
    it: `of_refusal` translates what REST answers.
    """

    FAILED = 1
    USAGE = 2
    NO_DAEMON = 3
    NO_TARGET = 4
    REFUSED = 5
    NO_AGENT = 6
    DANGER = 8
    NO_PROGRAM = 127


EPILOG = (
    "Exit codes: 0 done; 1 failed; 2 wrong usage, value or configuration; 3 no daemon answers; "
    "4 no such target, pin or token; "
    "5 refused; 6 the native agent is missing, or there is nothing it could attach to; "
    "8 lint found a danger; 127 there is no such program."
)


class Failure(Exception):
    """Ends a command with one sentence, or one for each of several mistakes, and an exit code."""

    def __init__(self, sentence: str, code: Exit, *more: str) -> None:
        super().__init__(sentence)
        self.code = code
        self.sentences = (sentence, *more)


def fail(sentence: str, code: Exit, *more: str) -> NoReturn:
    """End the command; `more` are the sentences of further mistakes."""
    raise Failure(sentence, code, *more) from None


def of_refusal(status: int) -> Exit:
    """Return the exit code for the status of a daemon's answer."""
    return {400: Exit.USAGE, 404: Exit.NO_TARGET, 422: Exit.USAGE, 500: Exit.FAILED}.get(status, Exit.REFUSED)


def run(app: typer.Typer, name: str) -> NoReturn:
    """Run a command; every failure becomes one sentence on stderr, prefixed with the command's name."""
    sentences: tuple[str, ...] = ()
    try:
        code = _run(app, name)
    except Failure as error:
        sentences, code = error.sentences, error.code
    except NoDaemon as error:
        sentences, code = (str(error),), Exit.NO_DAEMON
    except RestError as error:
        sentences, code = (str(error),), of_refusal(error.status)
    except run_dir.BadRunDir as error:
        sentences, code = (str(error),), Exit.USAGE
    except typer.Abort:
        sentences, code = ("it was broken off",), Exit.FAILED
    except UsageError as error:
        sentences, code = _of_usage(error), Exit.USAGE
    except UnicodeEncodeError as error:
        if error.encoding != "utf-8":  # the terminal's, which cannot show what is written
            raise
        sentences, code = (f"{error.object!a} is not UTF-8",), Exit.USAGE
    except OSError as error:
        if error.errno not in _FULL or error.filename is not None:  # then it is not the output
            raise
        sentences, code = (f"the output cannot be written: {error.strerror}",), Exit.FAILED
    for sentence in sentences:
        say(f"{name}: {sentence}", err=True)
    raise SystemExit(code)


def _of_usage(error: Exception) -> tuple[str, ...]:
    # Imported here: it would slow the start of every command, and only a mistake needs it.
    from adocd.cli import usage  # noqa: PLC0415

    is_help = type(error).__name__ == "NoArgsIsHelpError"  # it has been printed
    return () if is_help else (usage.sentence(error),)


def _run(app: typer.Typer, name: str) -> int:
    try:
        ended = app(prog_name=name, standalone_mode=False)
        return ended if isinstance(ended, int) else 0
    finally:
        # Without this, the interpreter's last garbage collection scans all imports: a tenth of a command's time.
        gc.freeze()
