"""The findings of `doctor`."""

from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "warning", "problem"]


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """The result of one check: a sentence, and how to fix it if it is not well."""

    check: str
    level: Level
    what: str
    way_out: str | None = None


def ok(check: str, what: str) -> DoctorFinding:
    """Make a finding that all is well, or that the check does not apply to this machine."""
    return DoctorFinding(check, "ok", what)


def warning(check: str, what: str, way_out: str) -> DoctorFinding:
    """Make a finding that it works, but something is missing or will fail."""
    return DoctorFinding(check, "warning", what, way_out)


def problem(check: str, what: str, way_out: str) -> DoctorFinding:
    """Make a finding that something does not work."""
    return DoctorFinding(check, "problem", what, way_out)
