"""`replay`: what a policy would have decided on a recording, without daemon, agent or database."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adocd.cli import completing, show
from adocd.cli.exits import Exit, fail
from adocd.cli.parameters import parse_parameters
from adocd.cli.policy import Parameter, Shape
from adocd.cli.target import Json

if TYPE_CHECKING:
    from adocd.model.policy import Shaping


def replay(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `adocctl record` or `simulate --record` made.")],
    policy: Annotated[
        str, typer.Option(help="A control law, or several as `adoc+mimd`.", autocompletion=completing.laws)
    ],
    parameter: Parameter = None,
    shape: Shape = None,
    as_json: Json = False,
) -> None:
    """Show what a law would have decided on a recording; it cannot show how the database would have responded.

    Some laws need the device's write bandwidth. For a recording of a simulation it is the profile's cap; for one of a
    live database, give it with `--set`.
    """
    # Imported here: they would slow the start of every other command.
    import asyncio  # noqa: PLC0415

    from adocd.cli import show_replay  # noqa: PLC0415
    from adocd.controllers import registry  # noqa: PLC0415
    from adocd.daemon.control.law import LawFailed  # noqa: PLC0415
    from adocd.model.policy import Policy  # noqa: PLC0415
    from adocd.recording.format import NoRecording, NotReplayable  # noqa: PLC0415
    from adocd.recording.reader import Recording  # noqa: PLC0415
    from adocd.recording.replay import run  # noqa: PLC0415
    from adocd.recording.summary import summary  # noqa: PLC0415

    logging.getLogger("adocd.daemon").setLevel(logging.CRITICAL)  # the sentence below says what a law raised
    try:
        chosen = registry.plain(Policy(policy, parse_parameters(parameter or []), shaping=_shaping(shape or [])))
        untold = registry.device_rates(chosen)
        recording = Recording(file)
        if (device_bytes_per_s := recording.header.device_bytes_per_s) is not None:
            chosen = registry.on_device(chosen, device_bytes_per_s)
        elif untold:
            words = " ".join(f"--set {name}=BYTES_PER_S" for name in untold)
            fail(
                f"{policy} must be told what the device can write, which this recording does not know: {words}",
                Exit.USAGE,
            )
        found = asyncio.run(run(recording, chosen))
    except registry.PolicyError as error:
        fail(str(error), Exit.USAGE)
    except NoRecording as error:
        fail(str(error), Exit.USAGE)
    except (NotReplayable, LawFailed) as error:
        fail(str(error), Exit.FAILED)
    show.json_or(as_json, summary(recording, chosen, found), show_replay.replay)


def _shaping(given: list[str]) -> "Shaping":
    from pydantic import ValidationError  # noqa: PLC0415

    from adocd.daemon.fleet.policies import ShapingConfig  # noqa: PLC0415
    from adocd.model import mistakes  # noqa: PLC0415
    from adocd.model.policy import Shaping  # noqa: PLC0415

    try:
        return Shaping(**ShapingConfig.model_validate(parse_parameters(given, "--shape")).model_dump())
    except ValidationError as error:
        first = error.errors()[0]
        what = mistakes.sentence(first, ".".join(map(str, first["loc"])), ShapingConfig.model_fields)
        fail(f"--shape: {what}", Exit.USAGE)
