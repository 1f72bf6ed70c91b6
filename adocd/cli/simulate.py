"""`simulate`: a policy on a simulated RocksDB 7.8, hours in seconds, without daemon, agent or RocksDB."""

import json
import logging
from pathlib import Path
from typing import Annotated

import typer

from adocd.cli import completing, show_simulate
from adocd.cli.exits import Exit, fail
from adocd.cli.parameters import parse_parameters, parse_pin
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
    seconds: Annotated[float, typer.Option(help="How long, in simulated seconds.")] = 3600.0,
    tick: Annotated[float, typer.Option(help="Simulated seconds between two samples.")] = 1.0,
    rate: Annotated[
        float | None, typer.Option(help="The workload's mean in MB/s; of the closed loop what clients manage at most.")
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            metavar="OPTION=VALUE",
            help="What the database is opened with; repeatable. bytes_per_sync changes nothing here: I/O is direct.",
        ),
    ] = None,
    rate_limiter: Annotated[
        int | None, typer.Option("--rate-limiter", metavar="BYTES_PER_S", help="Open it with a rate limiter.")
    ] = None,
    flush_rate: Annotated[float | None, typer.Option(help="What one flush writes, in MB/s; 200.")] = None,
    compaction_rate: Annotated[float | None, typer.Option(help="What one compaction takes in, in MB/s; 140.")] = None,
    read_rate: Annotated[float | None, typer.Option(help="What the device reads, in MB/s; the profile's.")] = None,
    mixed_rate: Annotated[
        float | None,
        typer.Option(
            help="What it reads and writes together, in MB/s; the profile's. `inf` where each has a cap of its own."
        ),
    ] = None,
    reads_cached: Annotated[
        float, typer.Option(metavar="SHARE", help="The share of what compactions read in the page cache, 0 to 1.")
    ] = 0.0,
    cores: Annotated[
        float | None, typer.Option(help="Processors, which threads share; else nobody waits for one.")
    ] = None,
    wal_outside: Annotated[
        float, typer.Option(metavar="SHARE", help="The share of the WAL's bytes outside the profile's cap, 0 to 1.")
    ] = 0.0,
    record: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Record it into a new file, for `adocctl replay`.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Run a policy on a simulated RocksDB 7.8, and draw what came of it.

    A law that must be told what the device can write is told the profile's cap, and one that turns a rate limiter finds
    one of that rate, unless you say otherwise.

    It is there to see how a law behaves, not to predict a machine: seeks, reads of clients and the cost of large
    memtables are left out, and processors without --cores (docs/simulator.md). It stands for RocksDB 7.8, not for later
    ones such as rocksdict's 9.8. The same arguments always give the same result.
    """
    # Only here: it would be a part of the time that every other command takes to start.
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
    # What the daemon would log is in the decisions; of a run of hours it would be a flood.
    logging.getLogger("adocd.daemon").setLevel(logging.CRITICAL)
    try:
        asked, chosen = suited(asked, Policy(policy, parse_parameters(parameter or [])))
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
