"""Writes what an operator did into the audit trail and the log."""

import logging

from adocd.daemon.book.audit import Audit
from adocd.daemon.book.journal.records import What
from adocd.daemon.book.kept import KeptTarget
from adocd.daemon.control.log_context import about
from adocd.daemon.control.target_loop import TargetLoop

_log = logging.getLogger(__name__)


def noted(audit: Audit, what: What, place: TargetLoop | KeptTarget | None, who: str, sentence: str) -> None:
    """Note what was done to a database, open or closed, or to all of them (None); the sentence says who."""
    if place is None:
        _log.info("all databases: %s", sentence)
        audit.note(what, who, sentence)
        return
    with about(place.id, place.path):
        _log.info("%s: %s", place.path, sentence)
    audit.note(what, who, sentence, target=place.id, path=place.path)
