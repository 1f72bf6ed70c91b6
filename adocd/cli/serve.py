"""`adocd serve`."""

import os
from pathlib import Path
from typing import Annotated

import typer

from adocd.cli.check_config import load
from adocd.cli.exits import Exit, fail
from adocd.cli.parameters import parse_parameters
from adocd.controllers import registry
from adocd.daemon.fleet import address, logs
from adocd.daemon.fleet.address import Address
from adocd.daemon.fleet.config import Config
from adocd.model.policy import Policy
from adocd.process.serve import SYSTEM_CONFIG, CannotServe, Serve, run
from adocd.targets import run_dir
from adocd.targets.names import not_utf8


def serve(
    policy: Annotated[
        str | None, typer.Option(help="Control law for every target; `default` is what adocd recommends.")
    ] = None,
    parameter: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A parameter of that law; repeatable.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Decide and log, but change nothing.")] = False,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Serve TCP on this loopback port, as --listen (0: any).")
    ] = None,
    listen: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS:PORT", help="Serve TCP here: the page, REST and metrics; see docs/access.md."),
    ] = None,
    config: Annotated[Path | None, typer.Option("--config", help=f"Default: {SYSTEM_CONFIG} where it exists.")] = None,
    agent: Annotated[
        list[Path] | None, typer.Option(help="Attach to the agent at this socket only; repeatable.")
    ] = None,
    directory: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH",
            help="Observe the database in this directory through its LOG, if it has no agent; repeatable.",
        ),
    ] = None,
    log_format: Annotated[
        str | None, typer.Option("--log-format", help="Format of log lines: text or json; default: text.")
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log what every control cycle sees.")] = False,
) -> None:
    """Attach to every database whose agent is in the run directory, and apply the policy.

    Without --policy and without a configuration, the policy is `fixed`: it watches and changes nothing. SIGINT or
    SIGTERM restores every changed option and ends the daemon. SIGHUP reloads the configuration.
    """
    file = config or SYSTEM_CONFIG
    had_config = config is not None or _is_there(file)
    settings = load(file if had_config else None)
    looks = _log_format(log_format, settings)
    logs.to_stderr(looks, verbose=verbose)
    chosen = _chosen_policy(policy, parameter or [])
    if "" in (directory or ()):
        fail("--directory is empty; name the directory of a database, or . for this one", Exit.USAGE)
    observed = tuple(Path(path).absolute() for path in directory or ())
    for path in observed:
        if (why := not_utf8(path)) is not None:
            fail(f"--directory {why}", Exit.USAGE)
    asked = Serve(
        settings,
        run_dir.run_dir(),
        chosen,
        dry_run,
        tuple(agent or ()),
        _address(listen, port),
        observed,
        file,
        had_config,
        looks,
    )
    try:
        run(asked)
    except CannotServe as error:
        fail(str(error), Exit.FAILED)


def _chosen_policy(name: str | None, parameters: list[str]) -> Policy | None:
    """Read the policy from the command line; None if it leaves the choice to the configuration."""
    if name is None:
        if parameters:
            fail("--set needs --policy: it is a parameter of that law", Exit.USAGE)
        return None
    try:
        chosen = registry.plain(Policy(name, parse_parameters(parameters)))
        registry.create(chosen)
    except registry.PolicyError as error:
        fail(error.sentences[0], Exit.USAGE, *error.sentences[1:])
    return chosen


def _address(listen: str | None, port: int | None) -> Address | None:
    """Read the TCP address from the command line; None if it leaves that to the configuration."""
    if listen is None:
        return None if port is None else Address("127.0.0.1", port)
    if port is not None:
        fail("say --port or --listen, not both", Exit.USAGE)
    try:
        return address.parse(listen)
    except ValueError as error:
        fail(f"--listen: {error}", Exit.USAGE)


def _is_there(file: Path) -> bool:
    """Whether there is a file; one that cannot be reached is: its daemon must not run with the defaults instead."""
    try:
        os.lstat(file)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _log_format(wanted: str | None, settings: Config) -> logs.Format:
    """Choose the log format: the command line overrides the configuration."""
    formats: dict[str | None, logs.Format] = {"text": "text", "json": "json", None: settings.daemon.log_format}
    if wanted not in formats:
        fail(f"--log-format is text or json, not {wanted!r}", Exit.USAGE)
    return formats[wanted]
