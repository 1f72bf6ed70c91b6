"""What an operator wants for one target."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Policy:
    """A controller's name and parameters; with `dry_run` it decides, and nothing is applied."""

    controller: str
    parameters: Mapping[str, int | float | bool | str] = field(default_factory=dict)
    dry_run: bool = False
