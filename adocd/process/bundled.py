"""Finds the agents that adocd ships with, in the checkout or in the wheel."""

from pathlib import Path

_PACKAGE = Path(__file__).parent.parent


def agent_directory(kind: str) -> Path:
    """Find the directory of the agent `native` or `java` (its sources) or `python` (what to put on PYTHONPATH).

    Raises FileNotFoundError with one sentence when it is not in this installation.
    """
    for agents in (_PACKAGE.parent / "agents", _PACKAGE / "_agents"):
        if (agents / kind).is_dir():
            return agents / kind
    raise FileNotFoundError(f"the {kind} agent is not in this installation of adocd ({_PACKAGE}); install it anew")
