"""`adocd bench`: the evaluation, by one command."""

import typer

from adocd.cli.bench_report import report
from adocd.cli.exits import EPILOG

bench_app = typer.Typer(help="The evaluation: schemes against each other on real RocksDB.", no_args_is_help=True)
bench_app.command(epilog=EPILOG)(report)


@bench_app.callback()
def _root() -> None:
    """Keep `report` a command of its own while it is the only one."""
