"""Forgets a closed database for an operator: its policy, pins, pause, decisions and figures."""

from adocd.daemon.book.book import Book
from adocd.daemon.book.journal.errors import JournalError
from adocd.daemon.book.kept import KeptTarget
from adocd.daemon.fleet.fleet import Fleet
from adocd.daemon.fleet.noted import noted
from adocd.daemon.fleet.operators import CannotDo


def closed(fleet: Fleet, book: Book) -> dict[str, KeptTarget]:
    """Return the databases that can be forgotten or still are owed originals, by id: those that are not open."""
    all_kept = book.kept
    found = {id_: kept for id_, kept in all_kept.items() if id_ not in fleet.loops}
    for id_, loop in fleet.loops.items():
        if loop.state == "closed":
            found[id_] = all_kept.get(id_) or KeptTarget(id_, loop.path, False, False, 0, ())
    return found


async def forget(fleet: Fleet, book: Book, target: str, who: str, *, originals_too: bool = False) -> KeptTarget:
    """Forget everything of a closed database but the audit trail; returns what was kept of it.

    Raises CannotDo, with one sentence, while it is open, is observed by its directory, or is owed originals: those are
    in the journal alone, and without them the database would keep the values that adocd has set. `originals_too` is for
    one that was deleted, and never opens again.
    """
    known = closed(fleet, book).get(target)
    if known is None:
        raise CannotDo(f"{fleet.loops[target].path} is open: adocd forgets closed databases alone")
    if known.originals and not originals_too:
        raise CannotDo(
            f"adocd still owes {known.path} the original {'values' if len(known.originals) > 1 else 'value'} of "
            f"{', '.join(known.originals)}: open it under its agent once, and it is restored; if it is deleted, "
            "forget its originals too"
        )
    if target in fleet.directories.ids:
        raise CannotDo(
            f"{known.path} is observed by its directory and would be found again: take it out of --directory or "
            "daemon.directories, and restart the daemon"
        )
    owed = tuple(book.left(target))
    if target in fleet.loops:
        fleet.drop_closed(target)
    try:
        await book.forget_target(target)
    except JournalError as error:
        raise CannotDo(f"it is not forgotten: {error}") from None
    if (loop := fleet.loops.get(target)) is not None:  # opened meanwhile, so it gets its originals
        await loop.set_policy(fleet.policy_for(loop.id, loop.path))
    elif originals_too:
        book.forget(target, owed)
    words = f"{who} let adocd forget it{', and its originals' if known.originals else ''}"
    noted(fleet.audit, "forget", known, who, words)
    return known
