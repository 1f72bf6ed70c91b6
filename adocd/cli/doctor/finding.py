"""What `doctor` finds."""

from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "warning", "problem"]


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """One thing that was looked at: how it is, in a sentence, and where it is not well the way out."""

    check: str
    level: Level
    what: str
    way_out: str | None = None


def ok(check: str, what: str) -> DoctorFinding:
    """Say that it is as it should be, or does not concern this machine."""
    return DoctorFinding(check, "ok", what)


def warning(check: str, what: str, way_out: str) -> DoctorFinding:
    """Say that it works, and that something is missing or will go wrong."""
    return DoctorFinding(check, "warning", what, way_out)


def problem(check: str, what: str, way_out: str) -> DoctorFinding:
    """Say that something does not work."""
    return DoctorFinding(check, "problem", what, way_out)
