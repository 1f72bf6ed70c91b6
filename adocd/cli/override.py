"""`adocctl override`: pins of options, which beat the law."""

from typing import Annotated, Any
from urllib.parse import quote

import typer

from adocd.api.client import RestClient, RestError
from adocd.cli import completing, show, show_overrides
from adocd.cli.exits import EPILOG, Exit, fail
from adocd.cli.parameters import parse_duration_s, parse_pin
from adocd.cli.target import All, Json, TargetName, daemon, place, target_id
from adocd.cli.terminal import say

app = typer.Typer(help="Pin options: a pin beats the law until it expires or is removed.", no_args_is_help=True)

Family = Annotated[
    str | None, typer.Option("--column-family", metavar="NAME", help="One column family; without it all of them.")
]


Pins = list[dict[str, Any]]


@app.command(name="set", epilog=EPILOG)
def set_(
    pin: Annotated[
        str,
        typer.Argument(
            metavar="OPTION=VALUE",
            help="A RocksDB option; a size or rate may have a unit: 64MiB, 64MB.",
            autocompletion=completing.pins,
        ),
    ],
    target: TargetName = None,
    everything: All = False,
    column_family: Family = None,
    for_: Annotated[
        str, typer.Option("--for", metavar="TIME", help="How long: 90s, 10min, 2h, 1d, or `ever`: until it is removed.")
    ] = "1h",
    reason: Annotated[str, typer.Option("--reason", help="Why; shown to other operators.")] = "",
    as_json: Json = False,
) -> None:
    """Pin an option: adocctl override set write_buffer_size=128MiB --for 2h."""
    option, value = parse_pin(pin, then=target)
    body = {"value": value, "column_family": column_family, "for_s": parse_duration_s(for_), "reason": reason}
    client = daemon()
    answer = client.put(f"{place(client, target, everything)}/overrides/{_in_path(option)}", body)
    show.json_or(as_json, answer, show_overrides.pinned)


@app.command(name="list", epilog=EPILOG)
def list_(target: TargetName = None, everything: All = False, as_json: Json = False) -> None:
    """List the pins that apply to a target, and whether each has an effect."""
    client = daemon()
    answer = client.get(f"{place(client, target, everything, also_kept=True)}/overrides")
    show.json_or(as_json, answer["overrides"], show_overrides.listed)


@app.command(epilog=EPILOG)
def remove(
    option: Annotated[str, typer.Argument(help="The option that is pinned.", autocompletion=completing.pinned)],
    target: TargetName = None,
    everything: All = False,
    column_family: Family = None,
    as_json: Json = False,
) -> None:
    """Remove a pin: the law controls the option again, or its original value returns."""
    client = daemon()
    query = {} if column_family is None else {"column_family": column_family}
    where = place(client, target, everything, also_kept=True)
    answer = client.delete(f"{where}/overrides/{_in_path(option)}", **query)
    show.json_or(as_json, answer, lambda _: say(f"{option} is not pinned any more"))
    if not as_json:
        show.warning(answer)


@app.command(epilog=EPILOG)
def clear(target: TargetName = None, everything: All = False, as_json: Json = False) -> None:
    """Remove all pins of one target; with --all, the pins for all targets and those of each target, also if closed.

    Clearing one target keeps the pins that are for all targets. It is no error if nothing is pinned.
    """
    client = daemon()
    if everything:
        place(client, target, everything)  # says that --all and a target exclude each other
        removed, left = _clear(client, "/v1", None)
        listed = client.get("/v1/targets")
        for each in [*listed["targets"], *(kept for kept in listed.get("kept", ()) if kept["overrides"])]:
            removed += _clear(client, f"/v1/targets/{each['id']}", each["id"])[0]
    else:
        id_ = _target_not_option(client, target)
        removed, left = _clear(client, f"/v1/targets/{id_}", id_)
    show.json_or(as_json, {"removed": removed, "left": left}, show_overrides.cleared)


def _clear(client: RestClient, where: str, of_target: str | None) -> tuple[Pins, Pins]:
    """Remove the pins of this target itself; return them, and the others that apply there.

    A pin that expires meanwhile counts as removed.
    """
    pins: Pins = client.get(f"{where}/overrides")["overrides"]
    own = [pin for pin in pins if pin["target"] == of_target]
    for pin in own:
        family = pin["column_family"]
        try:
            answer = client.delete(
                f"{where}/overrides/{pin['option']}", **({} if family is None else {"column_family": family})
            )
        except RestError as error:
            if error.status != 404:
                raise
        else:
            show.warning(answer)
    return own, [pin for pin in pins if pin["target"] != of_target]


def _target_not_option(client: RestClient, name: str | None) -> str:
    from adocd.model.options import OPTIONS  # noqa: PLC0415

    if name in OPTIONS:
        fail(
            f"{name} is an option, and `clear` takes a target: adocctl override remove {name} takes back one pin",
            Exit.USAGE,
        )
    return target_id(client, name, also_kept=True)


def _in_path(option: str) -> str:
    """Return an option as a part of a path, whatever was typed, so that the daemon says what is wrong with it."""
    return quote(option, safe="")
