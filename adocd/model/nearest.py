"""Answers a misspelt name with the one that was probably meant."""

from collections.abc import Iterable

#: Most names listed where none is near.
_LISTED = 40


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """Say that there is no such thing: `there is no law 'adco'; did you mean adoc?`, or what there is instead."""
    return f"there is no {what} {name[:200]!r}{instead(name, known)}"


def instead(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean adoc?`, or `; there are a, b and c` if nothing is near; "" if there is nothing."""
    known = list(dict.fromkeys(known))
    if near := nearest(name, known):
        return f"; did you mean {near}?"
    if not known:
        return ""
    more = f" and {len(known) - _LISTED} more" if len(known) > _LISTED else ""
    return f"; there {'is' if len(known) == 1 else 'are'} {', '.join(known[:_LISTED])}{more}"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is nearest to a misspelt one; None if none is near."""
    # Imported here: it would slow the start of every command, and only a mistake needs it.
    from difflib import get_close_matches  # noqa: PLC0415

    by_small = {each.lower(): each for each in reversed(list(known))}
    found = get_close_matches(name[:200].lower(), by_small, n=1, cutoff=0.7)
    return by_small[found[0]] if found else None
