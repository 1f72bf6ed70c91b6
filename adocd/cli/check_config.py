"""`adocd check-config`, and how `adocd serve` reads the configuration."""

import json
from pathlib import Path
from typing import Annotated

import typer

from adocd.cli.exits import Exit, fail
from adocd.cli.target import Json
from adocd.cli.terminal import say
from adocd.daemon.fleet import config as configuration
from adocd.daemon.fleet.config import Config
from adocd.process.serve import SYSTEM_CONFIG


def check_config(
    file: Annotated[Path, typer.Argument(help="A configuration file.")] = SYSTEM_CONFIG, as_json: Json = False
) -> None:
    """Check a configuration file and show the resulting settings, defaults included."""
    settings = load(file)
    if as_json:
        typer.echo(json.dumps(settings.model_dump(mode="json")))
    else:
        say(f"{file} is good. In force:")
        typer.echo(json.dumps(settings.model_dump(mode="json"), indent=2))


def load(file: Path | None) -> Config:
    """Read a configuration file; None gives the defaults. Fails with one sentence for each mistake."""
    if file is None:
        return Config()
    try:
        return configuration.load(file)
    except configuration.ConfigError as error:
        fail(error.sentences[0], Exit.USAGE, *error.sentences[1:])
