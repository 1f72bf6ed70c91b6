"""Sentences about REST's answers that the page and adocctl both show, so that they say the same."""

from collections.abc import Mapping
from typing import Any

NO_DECISIONS = "There are no decisions yet."


def journal_problem(problem: str) -> str:
    """Say what it means for the databases that the journal cannot be written, and why it cannot."""
    return f"adocd changes nothing new, but restores continue: {problem}"


def old_figures(target: Mapping[str, Any]) -> str | None:
    """Say that a target's figures are old; None where it is measured, or has none."""
    if not target.get("sample") or target["state"] == "attached":
        return None
    return f"it is {target['state']}: what follows is what was known before"


def not_original(option: Mapping[str, Any]) -> str:
    """Say how an option in a restore's `unlike` differs from its original value."""
    return f"{option['option']} is {option['value']}, not its original {option['original']}"


def steps_left(restore: Mapping[str, Any]) -> str:
    """Say how far a restore that is running or waiting has come, and what it waits for."""
    waits = f", waiting for {restore['waiting_for']}" if restore["waiting_for"] else ""
    return f"{restore['steps_left']} steps left{waits}"
