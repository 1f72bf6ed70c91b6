"""The result of a restore in words."""

from typing import Any


def not_back(answer: dict[str, Any]) -> str:
    """List the options that adocd has set and that do not have their original value; "" if there are none."""
    return ", ".join(
        f"{option['option']} is {option['value']}, not its original {option['original']}"
        for options in answer["unlike"].values()
        for option in options
        if option["is_ours"]
    )
