"""The result of a restore in words; the page and adocctl judge and say the same."""

from collections.abc import Iterable, Mapping
from typing import Any

from adocd.api import sentences


def not_back(answer: Mapping[str, Any]) -> dict[str, str]:
    """Say by target what failed, is not back, or could not be verified; {} if nothing is the matter.

    `answer` is REST's. An older daemon's has no `unlike`, because it does not compare.
    """
    found = {target: f"FAILED: {reason}" for target, reason in answer["failed"].items()}
    for target, restore in answer["restored"].items():
        if words := "; ".join(_not_back(restore, answer.get("unlike", {}).get(target))):
            found[target] = words
    return found


def _not_back(restore: Mapping[str, Any], unlike: list[dict[str, Any]] | None) -> Iterable[str]:
    is_over = restore["state"] in ("none", "done")
    if (is_over and unlike is None) or _may_be_ours(unlike or ()):
        yield how_far(restore, unlike)
    yield from (f"FAILED: {error}" for error in restore["errors"])
    yield from (f"{sentences.not_original(each)}: {whose(each)}" for each in unlike or () if _may_be_ours([each]))


def _may_be_ours(unlike: Iterable[Mapping[str, Any]]) -> bool:
    return any(option["is_ours"] is not False for option in unlike)


def whose(option: Mapping[str, Any]) -> str:
    """Say who has set an option that does not have its original value after a restore."""
    if option["is_ours"] is None:
        return "NOT BACK, or set by its own program: no daemon answers that would know"
    return "NOT BACK" if option["is_ours"] else "somebody else has set it"


def how_far(restore: Mapping[str, Any], unlike: list[dict[str, Any]] | None) -> str:
    """Say how far a restore is; `unlike`: the options without their original values, None if they were not compared."""
    if restore["state"] not in ("none", "done"):
        return f"restoring, {sentences.steps_left(restore)}"
    if unlike is None:
        return "the agent has nothing left to restore, but the values could not be read: see adocctl status"
    if _may_be_ours(unlike):
        return "the agent has nothing left to restore, but not all originals are back"
    return "nothing was changed, nothing to restore" if restore["state"] == "none" else "the originals are back"
