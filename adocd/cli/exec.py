"""`adocd exec`."""

from typing import Annotated

import typer

from adocd.cli.exits import Exit, fail
from adocd.cli.parameters import bytes_per_s
from adocd.process import exec as program
from adocd.process.compiled import NativeError


def exec_(
    command: Annotated[list[str], typer.Argument(metavar="PROGRAM [ARGUMENT]...", help="What to start.")],
    statistics: Annotated[
        str | None, typer.Option(help="Statistics that the agent enables at open: none, tickers or all.")
    ] = None,
    rate_limiter: Annotated[
        int | None,
        typer.Option(
            "--rate-limiter", parser=bytes_per_s, metavar="RATE", help="Add a rate limiter: 8MB/s (docs/safety.md)."
        ),
    ] = None,
) -> None:
    """Start a program with the native agent preloaded: adocd exec -- db_bench --benchmarks=fillrandom.

    If the program is java, the Java agent is put into it instead: adocd exec -- java -jar app.jar. This process
    becomes the program, so the exit code is the program's. If the program succeeds without having opened a database
    for writing through librocksdb, a line on stderr says so.
    """
    if command[0].startswith("-"):
        fail(
            f"exec has no option {command[0]} (adocd exec --help lists them); a program of that name needs its path, "
            f"./{command[0]}",
            Exit.USAGE,
        )
    if statistics not in (None, "none", "tickers", "all"):
        fail(f"--statistics must be none, tickers or all, not {statistics!r}", Exit.USAGE)
    if rate_limiter is not None and rate_limiter < 1:
        fail("--rate-limiter must be at least 1 byte/s; leave it out for no limiter", Exit.USAGE)
    try:
        program.become(command, program.AgentSettings(statistics, rate_limiter))
    except program.NotFound as error:
        fail(str(error), Exit.NO_PROGRAM)
    except (program.CannotAttach, NativeError) as error:
        fail(str(error), Exit.NO_AGENT)
