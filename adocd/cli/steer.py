"""`set-policy`, `reset-policy`, `pause`, `resume` and `restore`: an operator's commands for one target or for all."""

from typing import Annotated, Any

import typer

from adocd.api.client import AnswerLost, MayNotAsk, NoDaemon, NotInTime, RestError
from adocd.api.restored import not_back
from adocd.cli import completing, policy, show, show_policy
from adocd.cli.exits import Exit, fail
from adocd.cli.target import All, Json, TargetName, daemon, place, target_id
from adocd.cli.where import TIMEOUT_S, Where, check_alone, reset_policies, set_policies
from adocd.targets import run_dir


def set_policy(
    controller: policy.Controller,
    target: TargetName = None,
    parameter: policy.Parameter = None,
    shape: policy.Shape = None,
    judge: policy.Judge = False,
    dry_run: policy.DryRun = False,
    where: Where = None,
    if_match: Annotated[
        str | None,
        typer.Option(
            "--if-match", metavar="ETAG", help="Refuse unless the policy is still the one that `policy diff` showed."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Set a target's control law until it is reset: adocctl set-policy adoc --set threads_max=8.

    Shows what it replaced. With --if-match, fails with exit code 5 if somebody has set another policy since. With
    --where, sets it for all databases that match and are open now, says for how many, and fails with exit code 5 if
    some of them refused.
    """
    body = policy.wanted(controller, parameter, shape, judge=judge, dry_run=dry_run)
    if where:
        check_alone(where, target, if_match)
        set_policies(daemon(TIMEOUT_S), where, body, as_json=as_json)
        return
    client = daemon()
    answer, replaced = policy.put(client, target_id(client, target), body, if_match)
    show.json_or(as_json, answer, show.policy)
    if not as_json:
        show_policy.replaced(replaced)


def reset_policy(target: TargetName = None, where: Where = None, as_json: Json = False) -> None:
    """Return a target to the control law that `adocd serve` or its configuration chooses."""
    if where:
        check_alone(where, target)
        reset_policies(daemon(TIMEOUT_S), where, as_json=as_json)
        return
    client = daemon()
    answer = client.delete(f"/v1/targets/{target_id(client, target)}/policy")
    show.json_or(as_json, answer, show.policy)


def pause(
    target: TargetName = None,
    everything: All = False,
    reason: Annotated[str, typer.Option("--reason", help="Why; shown to other operators.")] = "",
    as_json: Json = False,
) -> None:
    """Stop a law from deciding until `resume`: values it has set stay, and so do overrides."""
    client = daemon()
    answer = client.post(f"{place(client, target, everything)}/pause", {"reason": reason})
    show.json_or(as_json, answer, show.paused)


def resume(target: TargetName = None, everything: All = False, as_json: Json = False) -> None:
    """Let a law decide again after `pause` or `restore`."""
    client = daemon()
    answer = client.post(f"{place(client, target, everything)}/resume")
    show.json_or(as_json, answer, show.resumed)


def restore(
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="[TARGET]",
            help="Its id, path, or part of one; or --all instead.",
            autocompletion=completing.targets,
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All targets.")] = False,
    as_json: Json = False,
) -> None:
    """Restore the original options now and change nothing until `resume` or `set-policy`.

    Works without a daemon too: it then tells the agents directly.
    """
    if everything == (target is not None):
        fail("say which target to restore, or --all", Exit.USAGE)
    client = daemon()
    remembered: bool | None = False
    is_asked = False
    try:
        path = "/v1/restore" if everything else f"/v1/targets/{target_id(client, target)}/restore"
        is_asked = True
        answer = client.post(path)
        remembered = True
    except NoDaemon as error:
        remembered = None if is_asked and isinstance(error, AnswerLost | NotInTime) else False
        answer = _restore_directly(None if everything else target, error)
    except RestError as error:
        if error.status < 500:
            raise
        # 503: it takes no requests now, and has not seen this one.
        remembered = None if is_asked and error.status != 503 else False
        answer = _restore_directly(None if everything else target, error)
    show.json_or(as_json, answer, show.restored)
    if not as_json:
        show.left_alone(remembered=remembered, everything=everything)
    if not_back(answer):
        raise typer.Exit(Exit.FAILED)


def _restore_directly(target: str | None, because: NoDaemon | RestError) -> dict[str, Any]:
    # Imported here: it loads the protocol's types, which would double the start time of every other command.
    import asyncio  # noqa: PLC0415
    from dataclasses import asdict  # noqa: PLC0415

    from adocd.daemon.change.panic import SeveralMeant, restore_without_daemon  # noqa: PLC0415

    try:
        result = asyncio.run(restore_without_daemon(run_dir.run_dir(), target))
    except SeveralMeant as error:
        fail(f"say which target is meant: {error}", Exit.USAGE)
    if not result.restored and not result.failed:
        if isinstance(because, MayNotAsk):  # who may not see the daemon does not see the agents either
            raise because
        what = "no database" if target is None else f"no database that {target!r} names"
        fail(f"no daemon answers, and {what} has an agent in {run_dir.run_dir()}", Exit.NO_TARGET)
    return asdict(result)
