"""`simulate`: a policy on a simulated RocksDB 7.8, hours in seconds, without daemon, agent or RocksDB."""

import json
import logging
from pathlib import Path
from typing import Annotated

import typer

from adocd.cli import completing, parameters, show_simulate
from adocd.cli.exits import Exit, fail
from adocd.cli.parameters import bytes_per_s, megabytes_per_s, parse_parameters, parse_pin
from adocd.cli.policy import Parameter
from adocd.cli.target import Json


def simulate(
    policy: Annotated[
        str, typer.Option(help="The control law; `adocctl controllers` lists them.", autocompletion=completing.laws)
    ] = "fixed",
    parameter: Parameter = None,
    profile: Annotated[str, typer.Option(help="cap-N (N in MB/s, such as cap-210) or uncapped.")] = "cap-210",
    workload: Annotated[
        str, typer.Option(help="Who writes: closed-loop, constant, sine, burst or peaks.")
    ] = "closed-loop",
    seconds: Annotated[
        float, typer.Option(parser=parameters.seconds, metavar="TIME", help="How long, in simulated time.")
    ] = 3600.0,
    tick: Annotated[
        float, typer.Option(parser=parameters.seconds, metavar="TIME", help="Simulated time between two samples.")
    ] = 1.0,
    rate: Annotated[
        float | None,
        typer.Option(
            parser=megabytes_per_s,
            metavar="RATE",
            help="The workload's mean in MB/s; for closed-loop, the clients' maximum.",
        ),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            metavar="OPTION=VALUE",
            help="An option to open the database with; repeatable. bytes_per_sync has no effect: I/O is direct.",
        ),
    ] = None,
    rate_limiter: Annotated[
        int | None,
        typer.Option("--rate-limiter", parser=bytes_per_s, metavar="RATE", help="Open it with a rate limiter: 8MB/s."),
    ] = None,
    flush_rate: Annotated[
        float | None,
        typer.Option(parser=megabytes_per_s, metavar="RATE", help="Write rate of one flush in MB/s; default 200."),
    ] = None,
    compaction_rate: Annotated[
        float | None,
        typer.Option(parser=megabytes_per_s, metavar="RATE", help="Input rate of one compaction in MB/s; default 140."),
    ] = None,
    read_rate: Annotated[
        float | None,
        typer.Option(
            parser=megabytes_per_s, metavar="RATE", help="Device read bandwidth in MB/s; default: the profile's."
        ),
    ] = None,
    mixed_rate: Annotated[
        float | None,
        typer.Option(
            parser=megabytes_per_s,
            metavar="RATE",
            help="Device bandwidth for reads plus writes in MB/s; default: the profile's. `inf`: each has its own cap.",
        ),
    ] = None,
    reads_cached: Annotated[
        float, typer.Option(metavar="SHARE", help="Share of compaction reads served by the page cache, 0 to 1.")
    ] = 0.0,
    cores: Annotated[
        float | None, typer.Option(help="CPU cores that threads share; default: no thread waits for a CPU.")
    ] = None,
    wal_outside: Annotated[
        float, typer.Option(metavar="SHARE", help="The share of the WAL's bytes outside the profile's cap, 0 to 1.")
    ] = 0.0,
    record: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Record the run into a new file, for `adocctl replay`.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Run a policy on a simulated RocksDB 7.8 and chart the result.

    Unless you say otherwise, a law that needs the device's write bandwidth gets the profile's cap, and a law that turns
    a rate limiter finds one with that rate.

    It shows how a law behaves and does not predict a machine: it leaves out seeks, clients' reads, the cost of large
    memtables and, without --cores, CPU limits (docs/simulator.md). It models RocksDB 7.8, not later versions such as
    rocksdict's 9.8. The same arguments always give the same result.
    """
    # Imported here: it would slow the start of every other command.
    from adocd.controllers import registry  # noqa: PLC0415
    from adocd.model.policy import Policy  # noqa: PLC0415
    from adocd.recording.format import NotReplayable  # noqa: PLC0415
    from adocd.simulator.device import MB  # noqa: PLC0415
    from adocd.simulator.opening import BadSimulation, SimulationRequest, opened, suited  # noqa: PLC0415
    from adocd.simulator.run import SimulationFailed, run  # noqa: PLC0415
    from adocd.simulator.summary import over_time, summary  # noqa: PLC0415

    asked = SimulationRequest(
        profile=profile,
        workload=workload,
        seconds=seconds,
        tick_s=tick,
        options=_options(option or []),
        rate_bytes_per_s=None if rate is None else rate * MB,
        rate_limiter_bytes_per_s=rate_limiter,
        flush_bytes_per_s=None if flush_rate is None else flush_rate * MB,
        compaction_bytes_per_s=None if compaction_rate is None else compaction_rate * MB,
        read_bytes_per_s=None if read_rate is None else read_rate * MB,
        mixed_bytes_per_s=None if mixed_rate is None else mixed_rate * MB,
        reads_cached_share=reads_cached,
        cores=cores,
        wal_outside_share=wal_outside,
    )
    # The decisions hold what the daemon would log; over hours of simulated time the log would be a flood.
    logging.getLogger("adocd.daemon").setLevel(logging.CRITICAL)
    try:
        asked, chosen = suited(asked, registry.plain(Policy(policy, parse_parameters(parameter or []))))
        simulation = run(opened(asked), chosen, seconds=asked.seconds, tick_s=asked.tick_s, record=record)
    except (BadSimulation, registry.PolicyError) as error:
        fail(str(error), Exit.USAGE)
    except (SimulationFailed, NotReplayable) as error:
        fail(str(error), Exit.FAILED)
    found, parts = summary(asked, chosen, simulation), over_time(simulation.samples, simulation.simulated_s)
    if as_json:
        for part in parts:
            typer.echo(json.dumps({"part": part}))
        typer.echo(json.dumps(found))
    else:
        show_simulate.simulation(found, parts)


def _options(given: list[str]) -> dict[str, str]:
    options: dict[str, str] = {}
    for name, value in (parse_pin(each, "--option") for each in given):
        if options.setdefault(name, value) != value:
            fail(f"--option gives {name} twice: {options[name]} and {value}", Exit.USAGE)
    return options
