"""Sentences about REST's answers that the page and adocctl both show, so that they say the same."""

from typing import Any

NO_DECISIONS = "There are no decisions yet."


def journal_problem(problem: str) -> str:
    """Say what it means for the databases that the journal cannot be written, and why it cannot."""
    return f"adocd changes nothing new, but restores continue: {problem}"


def not_original(option: dict[str, Any]) -> str:
    """Say how an option in a restore's `unlike` differs from its original value."""
    return f"{option['option']} is {option['value']}, not its original {option['original']}"


def next_step(verdict: dict[str, Any] | None, target: dict[str, Any]) -> str:
    """Say how to undo what hurts, or how to let a dry run act; "" for neither. Commands stand between backticks."""
    if verdict is None:
        return ""
    if verdict["kind"] == "hurts" and verdict["pinned"]:
        return f"Undo it first. Remove the pin: `adocctl override remove {verdict['pinned']} {target['id']}`"
    if verdict["kind"] == "hurts":
        return f"Undo it first. Restore the originals, which also pauses the law: `adocctl restore {target['id']}`"
    if (policy := target["policy"])["dry_run"] and not target["paused"]:
        given = "".join(f" --set {name}={value}" for name, value in policy["parameters"].items())
        return f"To let it act: `adocctl set-policy {policy['controller']} {target['id']}{given}`"
    return ""


def silent_remedy(process: dict[str, Any] | None) -> str:
    """Say what to do about an agent that does not answer."""
    if process is None or process["pid"] is None:
        return "Nothing can be changed there until it answers. `adocctl doctor` looks for the cause."
    return (
        f"Nothing can be changed there until it answers. Look at the process on {process['host']}: "
        f"`ps -o pid,stat,wchan,cmd -p {process['pid']}`. T is stopped (`kill -CONT {process['pid']}` lets it go on), "
        "D waits for a disk."
    )


def steps_left(restore: dict[str, Any]) -> str:
    """Say how far a restore that is running or waiting has come, and what it waits for."""
    waits = f", waiting for {restore['waiting_for']}" if restore["waiting_for"] else ""
    return f"{restore['steps_left']} steps left{waits}"
