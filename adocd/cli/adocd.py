"""The command `adocd`: the daemon, and everything beside an operator's work."""

import json
import os
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from adocd import __version__
from adocd.cli import exits, further
from adocd.cli.exits import EPILOG, Exit, fail
from adocd.cli.parameters import parse_parameters
from adocd.cli.simulate import simulate
from adocd.cli.terminal import say
from adocd.controllers import registry
from adocd.daemon.fleet import address, logs
from adocd.daemon.fleet import config as configuration
from adocd.daemon.fleet.address import Address
from adocd.daemon.fleet.config import Config
from adocd.model.policy import Policy
from adocd.process import compiled, native, program, serve
from adocd.process.compiled import NativeError
from adocd.process.serve import SYSTEM_CONFIG
from adocd.targets import run_dir

app = typer.Typer(
    help="Keeps RocksDB out of write stalls, from outside the database process.",
    epilog=EPILOG,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
agent_app = typer.Typer(help="The native agent for this machine's librocksdb.", no_args_is_help=True)
app.add_typer(agent_app, name="agent")
app.command(epilog=EPILOG)(simulate)
further.add_to(app)

Json = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]


def main() -> NoReturn:
    """Run the command."""
    exits.run(app, "adocd")


def _version(wanted: bool) -> None:
    if wanted:
        say(f"adocd {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show it.")] = False,
) -> None:
    del version


@app.command(name="serve", epilog=EPILOG)
def serve_command(
    policy: Annotated[str | None, typer.Option(help="Control law for every target.")] = None,
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
            help="Observe the database in this directory, by its LOG, where it has no agent; repeatable.",
        ),
    ] = None,
    log_format: Annotated[
        str | None, typer.Option("--log-format", help="How a line of the log looks: text or json; default: text.")
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log what every cycle sees.")] = False,
) -> None:
    """Attach to every database whose agent is in the run directory, and apply the policy.

    Without --policy and configuration the policy is `fixed`: it watches and changes nothing. On SIGINT or SIGTERM
    every option that was changed is restored. On SIGHUP the configuration is read again.
    """
    file = config or SYSTEM_CONFIG
    had_config = config is not None or os.path.exists(file)  # never raises
    settings = _load(file if had_config else None)
    looks = _log_format(log_format, settings)
    logs.to_stderr(looks, verbose=verbose)
    chosen = _chosen_policy(policy, parameter or [])
    if "" in (directory or ()):
        fail("--directory is empty; name the directory of a database, or . for this one", Exit.USAGE)
    observed = tuple(Path(path).absolute() for path in directory or ())
    asked = serve.Serve(
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
        serve.run(asked)
    except serve.CannotServe as error:
        fail(str(error), Exit.FAILED)


@app.command(
    name="exec",
    epilog=EPILOG,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "allow_interspersed_args": False},
)
def exec_command(
    command: Annotated[list[str], typer.Argument(metavar="PROGRAM [ARGUMENT]...", help="What to start.")],
    statistics: Annotated[
        str | None, typer.Option(help="Statistics that the agent adds at open: none, tickers or all.")
    ] = None,
    rate_limiter: Annotated[
        int | None,
        typer.Option("--rate-limiter", min=1, metavar="BYTES_PER_S", help="Add a rate limiter (docs/safety.md)."),
    ] = None,
) -> None:
    """Start a program with the native agent preloaded: adocd exec -- db_bench --benchmarks=fillrandom.

    The program's exit status is passed on. If it succeeds without ever having opened a database through
    librocksdb, that is said and the exit code is 7.
    """
    if statistics not in (None, "none", "tickers", "all"):
        fail(f"--statistics is none, tickers or all, not {statistics!r}", Exit.USAGE)
    try:
        ended = program.run(command, program.AgentSettings(statistics, rate_limiter))
    except program.NotFound as error:
        fail(str(error), Exit.NO_PROGRAM)
    except (program.CannotAttach, NativeError) as error:
        fail(str(error), Exit.NO_AGENT)
    if ended.status == 0 and not ended.opened:
        fail(
            f"{command[0]} ended without opening a RocksDB database under the agent: it opened none, or through "
            "another copy of RocksDB than librocksdb.so (rocksdict brings its own: attach the Python agent), or the "
            "agent could not start, which it has said above",
            Exit.NEVER_OPENED,
        )
    raise typer.Exit(ended.status)


@app.command(name="check-config", epilog=EPILOG)
def check_config(
    file: Annotated[Path, typer.Argument(help="A configuration file.")] = SYSTEM_CONFIG, as_json: Json = False
) -> None:
    """Check a configuration file and show what is in force, defaults included."""
    settings = _load(file)
    if as_json:
        typer.echo(json.dumps(settings.model_dump(mode="json")))
    else:
        say(f"{file} is good. In force:")
        typer.echo(json.dumps(settings.model_dump(mode="json"), indent=2))


@agent_app.command()
def build(
    output: Annotated[Path | None, typer.Option(help="Write the library to this file instead.")] = None,
    rocksdb: Annotated[Path | None, typer.Option(help="For this librocksdb.so; default: the linker's.")] = None,
    work: Annotated[
        Path | None, typer.Option(help="Compile here and keep it, so that the next time is quick; default: nowhere.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compile the agent for this machine's librocksdb."""
    try:
        library = compiled.rocksdb(rocksdb)
        path = native.product().build(library, output, work)
    except NativeError as error:
        fail(str(error), Exit.NO_AGENT)
    _show_agent(path, library, as_json)


@agent_app.command()
def path(
    rocksdb: Annotated[Path | None, typer.Option(help="For this librocksdb.so; default: the linker's.")] = None,
    as_json: Json = False,
) -> None:
    """Say where the agent for this machine's librocksdb is."""
    try:
        library = compiled.rocksdb(rocksdb)
        found = native.find(library)
    except NativeError as error:
        fail(str(error), Exit.NO_AGENT)
    _show_agent(found, library, as_json)


def _show_agent(path: Path, library: compiled.RocksDb, as_json: bool) -> None:
    if as_json:
        shown = {"agent": str(path), "rocksdb": str(library.path), "rocksdb_build_id": library.build_id}
        typer.echo(json.dumps(shown))
    else:
        say(str(path))


def _load(file: Path | None) -> Config:
    if file is None:
        return Config()
    try:
        return configuration.load(file)
    except configuration.ConfigError as error:
        fail(str(error), Exit.USAGE)


def _chosen_policy(name: str | None, parameters: list[str]) -> Policy | None:
    """Read the policy off the command line; None where it leaves the choice to the configuration."""
    if name is None:
        if parameters:
            fail("--set needs --policy: it is a parameter of that law", Exit.USAGE)
        return None
    chosen = Policy(name, parse_parameters(parameters))
    try:
        registry.create(chosen)
    except registry.PolicyError as error:
        fail(str(error), Exit.USAGE)
    return chosen


def _address(listen: str | None, port: int | None) -> Address | None:
    """Read where to serve TCP off the command line; None where it leaves that to the configuration."""
    if listen is None:
        return None if port is None else Address("127.0.0.1", port)
    if port is not None:
        fail("say --port or --listen, not both", Exit.USAGE)
    try:
        return address.parse(listen)
    except ValueError as error:
        fail(f"--listen: {error}", Exit.USAGE)


def _log_format(wanted: str | None, settings: Config) -> logs.Format:
    """Choose how the log looks: the command line beats the configuration."""
    formats: dict[str | None, logs.Format] = {"text": "text", "json": "json", None: settings.daemon.log_format}
    if wanted not in formats:
        fail(f"--log-format is text or json, not {wanted!r}", Exit.USAGE)
    return formats[wanted]
