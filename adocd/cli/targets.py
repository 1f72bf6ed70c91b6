"""`adocctl targets`."""

from adocd.cli import show
from adocd.cli.target import Json, daemon


def targets(as_json: Json = False) -> None:
    """List all targets."""
    listed = daemon().get("/v1/targets")
    show.json_or(as_json, listed, show.targets)
