"""The runs that failed: those that are missing, and apart from them those that were made in the end."""

from collections.abc import Sequence

from adocd_bench.evaluation.plan import FailedRun
from adocd_bench.evaluation.report import words
from adocd_bench.evaluation.report.document import Heading, Paragraph, Part, Table


def failed_in_words(failed: Sequence[FailedRun]) -> str:
    """Count them in a clause."""
    missing = sum(not each.succeeded for each in failed)
    said = f"{missing} failed and are not here"
    in_the_end = len(failed) - missing
    return f"{said}; {in_the_end} failed before they succeeded" if in_the_end else said


def failed_parts(failed: Sequence[FailedRun]) -> list[Part]:
    """Name each of them, with its attempts and why the last one failed; nothing where none failed."""
    if not failed:
        return []
    missing, made = ([each for each in failed if each.succeeded is wanted] for wanted in (False, True))
    parts: list[Part] = [
        Heading(2, "Runs that failed"),
        Paragraph(
            "A run that fails is tried again by the same command. What a scheme did to its database may be why it "
            "failed, so a run that was made in the end is named, too."
        ),
    ]
    for title, found in (("Never made", missing), ("Made after they had failed", made)):
        parts += [_table(title, found)] if found else []
    return parts


def _table(title: str, failed: Sequence[FailedRun]) -> Table:
    head = ("run", "failed", "why, the last time")
    # A sentence of another program's may have a backquote, which would begin code.
    rows = [(each.run, words.counted(each.attempts, "time"), each.sentence.replace("`", "'")) for each in failed]
    return Table(title, head, tuple(rows), words=len(head))
