"""Applies a changed configuration while the daemon runs, and reports each key that it did not apply, and why."""

import asyncio
import logging
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from adocd.daemon.book.book import Book
from adocd.daemon.book.journal.errors import PolicyNotUnderstood
from adocd.daemon.control.target_loop import TargetLoop
from adocd.daemon.fleet import config as configuration
from adocd.daemon.fleet.config import Config, ConfigError
from adocd.daemon.fleet.fleet import Fleet
from adocd.daemon.fleet.noted import noted
from adocd.daemon.fleet.operators import in_words
from adocd.daemon.fleet.run import loop_settings, memory_budget_bytes
from adocd.model.in_words import named

_log = logging.getLogger(__name__)
#: Keys that can change while databases are under control; `policy` and `targets` can, too, database by database.
LIVE = frozenset(
    {
        "daemon.tick_s",
        "daemon.lease_ttl_s",
        "daemon.memory_budget_bytes",
        "daemon.history_s",
        "daemon.arbiter",
        "safety.compaction_off_s",
        "safety.compaction_off_l0_files",
        "safety.compaction_off_pending_bytes",
    }
)
_POLICIES = ("policy", "targets")
_SHARES = "shares"


@dataclass(frozen=True, slots=True)
class Reloaded:
    """The result of a reload, one sentence per change; `failed` when the file could not be read."""

    taken: tuple[str, ...] = ()
    not_taken: tuple[str, ...] = ()
    failed: str | None = None
    #: Why there was nothing to read.
    unread: str | None = None

    def __str__(self) -> str:
        if self.unread is not None:
            return f"the configuration stays as it was: {self.unread}"
        if self.failed is not None:
            return f"the configuration stays as it was: {self.failed}"
        if not self.taken and not self.not_taken:
            return "the configuration was read again, and nothing in it has changed"
        taken = f"taken: {'; '.join(self.taken)}" if self.taken else "nothing was taken"
        not_taken = f"; not taken: {'; '.join(self.not_taken)}" if self.not_taken else ""
        return f"the configuration was read again; {taken}{not_taken}"


class Reload:
    """Reloads the configuration file on request. `had_file` is whether there was one at the start."""

    def __init__(self, fleet: Fleet, book: Book, file: Path, *, had_file: bool) -> None:
        self._fleet = fleet
        self._book = book
        self._file = file
        self._had_file = had_file
        self._turn = asyncio.Lock()
        fleet.settings.vitals.configured_unix_s = fleet.wall_clock()

    async def again(self) -> Reloaded:
        """Reload the file; a broken or missing one changes nothing. Never raises."""
        async with self._turn:
            try:
                done = await self._read()
            except Exception as error:
                _log.exception("reading the configuration again failed; going on")
                done = Reloaded(failed=f"{type(error).__name__}: {error}")
            vitals = self._fleet.settings.vitals
            vitals.is_configured = done.failed is None
            if done.failed is None and done.unread is None:
                vitals.configured_unix_s = self._fleet.wall_clock()
            _log.log(logging.WARNING if done.failed or done.unread or done.not_taken else logging.INFO, "%s", done)
            self._fleet.audit.note("reload", "SIGHUP", str(done))
            self._fleet.events.publish("daemon", self._fleet.wall_clock(), about="configuration", sentence=str(done))
            return done

    async def _read(self) -> Reloaded:
        if not self._had_file and not self._file.exists():
            return Reloaded(unread=f"there is no {self._file}, as there was none at the start")
        try:
            new = await asyncio.to_thread(configuration.load, self._file)
        except ConfigError as error:
            return Reloaded(failed=str(error))
        self._had_file = True
        old = self._fleet.config
        changed = _changed(old, new)
        kept = {key for key in changed if key not in LIVE}
        in_force = _with(new, old, kept)
        other = loop_settings(in_force, self._fleet.holder)
        # Only plain values are replaced; the loops keep the objects that they share.
        settings = replace(
            self._fleet.settings,
            tick_s=other.tick_s,
            lease_ttl_s=other.lease_ttl_s,
            history=other.history,
            compaction=other.compaction,
            priority_of=other.priority_of,
        )
        self._fleet.take_config(in_force, settings, memory_budget_bytes(in_force))
        taken = [words for key, words in changed.items() if key in LIVE]
        not_taken = [f"{words}: it needs a restart" for key, words in changed.items() if key in kept]
        if old.shares != new.shares:
            taken.append("shares")
        if (old.policy, old.targets) != (new.policy, new.targets):
            if self._fleet.has_given_policy:
                not_taken.append("policy, targets: --policy of adocd serve beats them")
            else:
                taken.append("policy, targets")
                # At once: a loop whose agent hangs must not keep the old policy in force on the others.
                loops = tuple(self._fleet.loops.values())
                done = [asyncio.create_task(self._policy_of(loop, old, new, taken, not_taken)) for loop in loops]
                await asyncio.gather(*done, return_exceptions=True)
                for loop, task in zip(loops, done, strict=True):
                    if (failure := task.exception()) is not None:
                        not_taken.append(f"{loop.path}: its policy could not be set: {failure}")
        return Reloaded(tuple(taken), tuple(not_taken))

    async def _policy_of(
        self, loop: TargetLoop, old: Config, new: Config, taken: list[str], not_taken: list[str]
    ) -> None:
        if old.policy_for(loop.path) == new.policy_for(loop.path):
            return  # a target that has fallen back stays so unless its own policy changes
        try:
            is_set = self._book.policy_of(loop.id) is not None
        except PolicyNotUnderstood:
            is_set = True
        if is_set:
            not_taken.append(f"{loop.path} keeps the policy that an operator has set; adocctl reset-policy ends that")
            return
        before, policy = loop.status.policy, self._fleet.policy_for(loop.id, loop.path)
        await loop.set_policy(policy)
        # Of each target, too: by this the verdict knows when the policy began.
        said = f"the configuration set the policy to {in_words(policy)}"
        noted(self._fleet.audit, "set-policy", loop, "SIGHUP", said)
        was = "" if before.controller == policy.controller else f", which was {before.controller}"
        taken.append(f"{loop.path} has {policy.controller}{was}")


def _flat(config: Config) -> dict[str, Any]:
    sections = {name: section for name, section in config.model_dump().items() if name not in (*_POLICIES, _SHARES)}
    return {f"{name}.{key}": value for name, section in sections.items() for key, value in section.items()}


def _changed(old: Config, new: Config) -> dict[str, str]:
    """Return each changed key outside the policies, with its old and new value."""
    before, after = _flat(old), _flat(new)
    return {
        key: f"{key} {_word(key, before[key])} -> {_word(key, value)}"
        for key, value in after.items()
        if before[key] != value
    }


def _word(key: str, value: object) -> str:
    return "[" + ", ".join(map(str, value)) + "]" if isinstance(value, tuple | list) else named(key, value)


def _with(new: Config, old: Config, kept: set[str]) -> Config:
    """Keep the old value of each key that was not applied, so that the next reload reports it again."""
    sections = {key.partition(".")[0] for key in kept}
    update = {}
    for section in sections:
        names = [key.partition(".")[2] for key in kept if key.startswith(f"{section}.")]
        values = {name: getattr(getattr(old, section), name) for name in names}
        update[section] = getattr(new, section).model_copy(update=values)
    return new.model_copy(update=update)
