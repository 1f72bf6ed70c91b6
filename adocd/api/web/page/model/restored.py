"""What REST says of a restore, in words."""

from typing import Any


def not_back(answer: dict[str, Any]) -> str:
    """Name the options that adocd has set and that were read with another value than their original; else nothing."""
    return ", ".join(
        f"{option['option']} is {option['value']}, and was {option['original']}"
        for options in answer["unlike"].values()
        for option in options
        if option["is_ours"]
    )
