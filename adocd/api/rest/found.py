"""Finds the target that a request means, by its id or a unique beginning of it; else the answer is 404."""

from collections.abc import Mapping

from adocd.api.problems import ProblemError
from adocd.daemon.book.book import Book
from adocd.daemon.book.kept import KeptTarget
from adocd.daemon.control.target_loop import TargetLoop
from adocd.daemon.fleet.fleet import Fleet
from adocd.targets.names import no_such


def one_of(paths: Mapping[str, str], target: str) -> str:
    """Return the id that is meant, of those whose paths these are; raises ProblemError 404."""
    found = [id_ for id_ in paths if id_.startswith(target)]
    if len(found) == 1:
        return found[0]
    if found:
        several = ", ".join(f"{id_} ({paths[id_]})" for id_ in found)
        raise ProblemError(404, f"more than one target has an id that begins with {target!r}: {several}")
    raise ProblemError(404, no_such(target, paths.items()))


def loop_of(fleet: Fleet, target: str) -> TargetLoop:
    """Find a target that is open, or was not long ago; raises ProblemError 404."""
    return fleet.loops[one_of({id_: loop.path for id_, loop in fleet.loops.items()}, target)]


def loop_or_kept(fleet: Fleet, book: Book, target: str) -> TargetLoop | KeptTarget:
    """Find a target as `loop_of` does, else a closed one of which the book keeps something; raises ProblemError 404."""
    if any(id_.startswith(target) for id_ in fleet.loops):
        return loop_of(fleet, target)
    kept = book.kept
    paths = {id_: loop.path for id_, loop in fleet.loops.items()} | {id_: one.path for id_, one in kept.items()}
    return kept[one_of(paths, target)]
