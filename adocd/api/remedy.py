"""What to do about what a target shows, with a command to copy: the page and adocctl show the same."""

import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple


class Remedy(NamedTuple):
    """What to do: words, the command that does it, quoted for a shell, and what is to be known of its result."""

    words: str
    command: str
    more: str = ""

    def __str__(self) -> str:
        return f"{self.words} `{self.command}` {self.more}".rstrip()


def undo(verdict: Mapping[str, Any] | None, target: Mapping[str, Any]) -> Remedy | None:
    """Undo what hurts by REST's verdict, which comes before all other advice; None where nothing does."""
    if verdict is None or verdict["kind"] != "hurts":
        return None
    pin = verdict["pinned"]
    if pin is None:
        words = "Undo it first. Restore the originals, which also pauses the law:"
        return Remedy(words, _command("restore", target["id"]))
    family = [] if pin["column_family"] is None else ["--column-family", pin["column_family"]]
    where = "--all" if pin["everywhere"] else target["id"]
    return Remedy("Undo it first. Remove the pin:", _command("override", "remove", pin["option"], where, *family))


def let_act(target: Mapping[str, Any]) -> Remedy | None:
    """Let a dry run act, with the same parameters and shaping; None for any other policy, and while it is paused.

    `fixed` decides nothing, so it would not act either.
    """
    policy = target["policy"]
    if not policy["dry_run"] or target["paused"] or policy["controller"] == "fixed":
        return None
    given = [word for name, value in policy["parameters"].items() for word in ("--set", f"{name}={_written(value)}")]
    given += [word for name, value in policy["shaping"].items() if value for word in ("--shape", f"{name}={value:g}")]
    return Remedy("To let it act:", _command("set-policy", policy["controller"], target["id"], *given))


def wake(process: Mapping[str, Any] | None) -> Remedy:
    """Find out why an agent does not answer."""
    silent = "Nothing can be changed there until it answers."
    if process is None or process["pid"] is None:
        return Remedy(f"{silent} Look for the cause:", "adocctl doctor")
    return Remedy(
        f"{silent} Look at the process on {process['host']}:",
        f"ps -o pid,stat,wchan,cmd -p {process['pid']}",
        f"T is stopped, and kill -CONT {process['pid']} lets it go on. D waits for a disk.",
    )


def _command(*words: str) -> str:
    """Quote a command: a column family's name is foreign, and must be one word to the shell that it is pasted into."""
    return shlex.join(("adocctl", *words))


def _written(value: object) -> str:
    """Write a parameter as `--set` reads it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
