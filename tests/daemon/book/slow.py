"""A journal that answers late, so that a test can do something while a request waits for it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from adocd.daemon.book.book import Book


@contextmanager
def held(book: Book) -> Iterator[None]:
    """Keep the journal's thread busy: what is asked of it inside is done afterwards, in that order."""
    assert book._journal is not None
    answers = threading.Event()
    book._journal._worker._thread.submit(answers.wait, 60)
    try:
        yield
    finally:
        answers.set()


async def turns() -> None:
    """Let every task go as far as it can without the journal."""
    for _ in range(20):
        await asyncio.sleep(0)
