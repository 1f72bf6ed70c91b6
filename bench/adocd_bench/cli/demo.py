"""`adocd demo`: a real RocksDB on this machine, without and with control."""

from pathlib import Path
from typing import Annotated

import typer

from adocd.cli.agent_built import find_or_build_agent
from adocd.cli.exits import Exit, fail
from adocd.process.compiled import NativeError
from adocd_bench.demo import demo
from adocd_bench.errors import BadArgument, BenchError
from adocd_bench.programs.db_bench import DbBench

Json = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]


def demo_command(
    on: Annotated[str, typer.Option(help=f"What writes: {', '.join(demo.WORKLOADS)}.")] = demo.DEFAULT_WORKLOAD,
    seconds: Annotated[float, typer.Option(help="How long each of the two halves runs.")] = demo.DEFAULT_SECONDS,
    profile: Annotated[
        str | None, typer.Option(help="cap-N (N in MB/s, such as cap-210) or uncapped; default cap-210 if possible.")
    ] = None,
    directory: Annotated[Path | None, typer.Option(help="Directory for the databases; default: one on a disk.")] = None,
    picture: Annotated[Path | None, typer.Option(help="Also save the picture and the report as SVG here.")] = None,
    keep: Annotated[Path | None, typer.Option(help="Also keep the result, with each second's writes, here.")] = None,
    as_json: Json = False,
) -> None:
    """Show what adocd does: real write pressure on a real RocksDB, first left alone, then controlled.

    Measures two halves that differ only in the policy: `fixed`, then `adoc`.
    """
    try:
        if on == DbBench.name:
            find_or_build_agent()
        demo.run_demo(demo.DemoOptions(on, seconds, profile, directory, as_json, picture, keep))
    except BenchError as error:
        fail(str(error), Exit.USAGE if isinstance(error, BadArgument) else Exit.FAILED)
    except NativeError as error:
        fail(str(error), Exit.NO_AGENT)
    except KeyboardInterrupt:
        fail("interrupted; everything that was started is gone", Exit.FAILED)
