"""Reads from and writes to the open database; each function runs as one step in the journal's own thread."""

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any

from adocd.daemon.book.journal.documents import KINDS, TUNED, DocumentKind, dump, load
from adocd.daemon.book.journal.records import (
    Intent,
    JournaledChange,
    JournaledDecision,
    JournaledSetting,
    Operation,
    Tuned,
)
from adocd.model.values import OptionName

#: Most audit entries kept, of less than 1 KiB each.
OPERATIONS_KEPT = 10_000

_PUT_DECISION = (
    "INSERT INTO decisions (target, run, sequence, unix_s, content) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (target, run, sequence, unix_s) DO UPDATE SET content = excluded.content"
)


def intend(
    connection: sqlite3.Connection,
    target: str,
    path: str | None,
    session: str,
    intents: Iterable[Intent],
    unix_s: float,
) -> tuple[Tuned, ...]:
    """Record an imminent change; an original already recorded stays. Returns all changed options of the target."""
    for intent in intents:
        option = intent.option
        known = TUNED.get(connection, target, option.scope, option.name, option.option)
        if known is None:
            known = Tuned(
                target=target,
                path=path,
                scope=option.scope,
                name=option.name,
                option=option.option,
                original=intent.original,
                sent=(),
                session=session,
                since_unix_s=unix_s,
                sent_unix_s=unix_s,
            )
        now = known.sending(intent.value, unix_s)
        if now.sent != known.sent:
            TUNED.put(connection, replace(now, path=path))
    return TUNED.all(connection, target)


def settled(connection: sqlite3.Connection, target: str, originals: Mapping[OptionName, str | None]) -> int:
    """Delete the options without an original, which are restored, and give the others the owner's new value.

    Returns how many of them were recorded.
    """
    count = 0
    for option, original in originals.items():
        key = target, option.scope, option.name, option.option
        if original is None:
            count += TUNED.delete(connection, *key)
        elif (known := TUNED.get(connection, *key)) is not None:
            TUNED.put(connection, replace(known, original=original))
            count += 1
    return count


def forget(connection: sqlite3.Connection, target: str) -> int:
    """Delete all of a target but its originals, which are still due; returns how many documents there were.

    Originals go by `settled` alone: one that was announced while somebody asked to forget the target must stay.
    """
    count = 0
    for kind in KINDS.values():
        for document in () if kind is TUNED else kind.all(connection, target):
            count += kind.delete(connection, *(getattr(document, member) for member in kind.key))
    connection.execute("DELETE FROM decisions WHERE target = ?", (target,))
    return count


def probe(connection: sqlite3.Connection) -> None:
    """Write a row and delete it, to test whether the file is writable."""
    connection.execute("INSERT INTO documents (kind, key, content, checksum) VALUES ('probe', '', '', 0)")
    connection.execute("DELETE FROM documents WHERE kind = 'probe'")


def put(connection: sqlite3.Connection, kind: DocumentKind[Any], document: Any) -> None:
    """Write a document, replacing the one with the same key."""
    kind.put(connection, document)


def replace_all(connection: sqlite3.Connection, kind: DocumentKind[Any], documents: Iterable[Any]) -> None:
    """Make these the only documents of their kind; what is there already is not written again."""
    wanted, known = tuple(documents), kind.all(connection)
    for document in known:
        if document not in wanted:
            kind.delete(connection, *(getattr(document, member) for member in kind.key))
    for document in wanted:
        if document not in known:
            kind.put(connection, document)


def put_all(connection: sqlite3.Connection, kind: DocumentKind[Any], documents: Iterable[Any]) -> None:
    """Write documents, replacing those with the same keys."""
    for document in documents:
        kind.put(connection, document)


def delete_all(connection: sqlite3.Connection, kind: DocumentKind[Any], keys: Iterable[tuple[str | None, ...]]) -> int:
    """Delete the documents with these keys; returns how many there were."""
    return sum(kind.delete(connection, *key) for key in keys)


def put_decisions(
    connection: sqlite3.Connection, decisions: Iterable[JournaledDecision], kept_per_target: int, kept: int
) -> None:
    """Write decisions or their outcomes, and delete the oldest beyond both limits (counts, never ages)."""
    targets = set()
    for decision in decisions:
        key = (decision.target, decision.run, decision.sequence, decision.unix_s)
        connection.execute(_PUT_DECISION, (*key, dump(asdict(decision))))
        targets.add(decision.target)
    for target in sorted(targets):
        connection.execute(
            "DELETE FROM decisions WHERE target = ? AND id <="
            " (SELECT id FROM decisions WHERE target = ? ORDER BY id DESC LIMIT 1 OFFSET ?)",
            (target, target, kept_per_target),
        )
    (count,) = connection.execute("SELECT count(*) FROM decisions").fetchone()
    if count > kept:
        sql = "DELETE FROM decisions WHERE id IN (SELECT id FROM decisions ORDER BY id LIMIT ?)"
        connection.execute(sql, (count - kept,))


def decisions(connection: sqlite3.Connection, target: str | None, newest: int) -> tuple[JournaledDecision, ...]:
    """Return the newest decisions, oldest first."""
    sql = "SELECT content FROM decisions WHERE target = ? ORDER BY id DESC LIMIT ?"
    parameters: tuple[Any, ...] = (target, newest)
    if target is None:
        sql, parameters = "SELECT content FROM decisions ORDER BY id DESC LIMIT ?", (newest,)
    found = [_decision(content) for (content,) in connection.execute(sql, parameters)]
    return tuple(decision for decision in reversed(found) if decision is not None)


def put_operations(connection: sqlite3.Connection, operations: Iterable[Operation], kept: int) -> None:
    """Write audit entries, and delete the oldest beyond the limit."""
    for operation in operations:
        row = (operation.id, dump(asdict(operation)))
        connection.execute("INSERT OR REPLACE INTO operations (id, content) VALUES (?, ?)", row)
    connection.execute("DELETE FROM operations WHERE id <= (SELECT max(id) FROM operations) - ?", (kept,))


def operations(connection: sqlite3.Connection) -> tuple[Operation, ...]:
    """Return the audit trail, oldest first, without damaged entries, because no option is restored from it."""
    found = []
    for id_, content in connection.execute("SELECT id, content FROM operations ORDER BY id").fetchall():
        with suppress(ValueError, TypeError, AttributeError):
            found.append(Operation(**load(content) | {"id": int(id_)}))
    return tuple(found)


def _decision(content: str) -> JournaledDecision | None:
    """Parse a decision; None if it is damaged. It has no checksum, because no option is restored from it."""
    try:
        members = load(content)
        settings = tuple(JournaledSetting(**setting) for setting in members.pop("settings"))
        changes = tuple(JournaledChange(**change) for change in members.pop("changes", ()))
        return JournaledDecision(**members, settings=settings, changes=changes)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
