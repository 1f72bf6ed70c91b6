"""The result of a restore in words."""

from typing import Any

from adocd.api import sentences


def not_back(answer: dict[str, Any]) -> str:
    """List the options that adocd has set and that do not have their original value; "" if there are none."""
    return ", ".join(
        sentences.not_original(option)
        for options in answer["unlike"].values()
        for option in options
        if option["is_ours"]
    )
