"""The route of lint: what in a database's configuration makes tuning dangerous or useless."""

from collections.abc import Callable
from dataclasses import asdict
from weakref import WeakKeyDictionary

from fastapi import FastAPI
from pydantic import BaseModel, Field

from adocd.api.problems import ProblemError
from adocd.api.rest.document import TargetId, errors
from adocd.daemon.control.target_loop import TargetLoop
from adocd.diagnosis.lint.finding import Severity
from adocd.diagnosis.lint.gather import gather
from adocd.diagnosis.lint.rules import findings
from adocd.probes.own_thread import OwnThread


class FindingView(BaseModel):
    """One finding; `reason` and `fix` are one sentence each."""

    rule: str = Field(description="the rule's name in docs/lint.md", examples=["old-thread-options"])
    severity: Severity
    subject: str = Field(description="the option or the knob", examples=["max_background_flushes"])
    column_families: list[str] = Field(description="the column families it applies to; empty: the whole database")
    reason: str
    fix: str
    source: str = Field(description="where RocksDB documents or does this", examples=["facebook/rocksdb#13294"])


class LintView(BaseModel):
    """All findings, dangers first."""

    target: str
    path: str
    findings: list[FindingView]


def install(
    app: FastAPI,
    find: Callable[[str], TargetLoop],
    memory: Callable[[str], tuple[int, int]],
) -> None:
    """Add the route; `memory` returns the memory budget and the share of the other targets, in bytes, by id."""
    threads: WeakKeyDictionary[TargetLoop, OwnThread] = WeakKeyDictionary()

    @app.get(
        "/v1/targets/{target}/lint",
        summary="What makes tuning it dangerous or useless",
        responses=errors(404, 409),
    )
    async def lint(target: TargetId) -> LintView:
        loop = find(target)
        status, snapshot = loop.status, await loop.with_recent_events()
        if status.info is None or status.detail is None or snapshot is None:
            raise ProblemError(409, f"{loop.path} is closed or not measured yet: open it, and try again in a second")
        budget_bytes, beside_bytes = memory(loop.id)
        facts = await gather(
            status.info,
            status.detail,
            snapshot,
            status.policy,
            budget_bytes=budget_bytes,
            beside_bytes=beside_bytes,
            thread=threads.setdefault(loop, OwnThread(f"read OPTIONS of {loop.path}")),
        )
        found = [FindingView.model_validate(asdict(finding)) for finding in findings(facts)]
        return LintView(target=loop.id, path=loop.path, findings=found)
