"""Opens our files safely in a directory that others, such as its group, may write to: the one with the sockets.

Whoever may write there can put a link, a FIFO or a file of their own in place of ours, and we may be root. So we follow
no link and open only regular files that belong to us and have no second name, because a hard link to a file of root's
belongs to root, too. We cannot keep anybody from removing our files.
"""

import errno
import os
import stat
from pathlib import Path

from adocd.targets import run_dir

_ALWAYS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def opened(path: Path, flags: int, mode: int = 0o600, *, of_anyone: bool = False) -> int:
    """Open a file of ours and return its descriptor; with O_CREAT it is created if missing.

    `of_anyone` also accepts another user's file, for when nothing in it is read or written. Raises OSError; for a file
    that is not ours, its `strerror` names the file and the remedy.
    """
    try:
        descriptor = os.open(path, flags | _ALWAYS, mode)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _not_ours(path, "is a symbolic link") from None
        if error.errno == errno.ENXIO:  # a FIFO without a reader, or a socket
            raise _not_ours(path, "is no file") from None
        raise
    try:
        _check(path, os.fstat(descriptor), of_anyone=of_anyone)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def check(path: Path, *, of_anyone: bool = False) -> None:
    """Check that a file to be opened by its path is ours, if it exists; raises OSError.

    `of_anyone` is for reading content that is validated like any untrusted input. In a directory that nobody else may
    write to, anything is accepted, even a link.
    """
    if not _is_shared(path.parent):
        return
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    if stat.S_ISLNK(status.st_mode):
        raise _not_ours(path, "is a symbolic link")
    _check(path, status, of_anyone=of_anyone)


def _check(path: Path, status: os.stat_result, *, of_anyone: bool) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise _not_ours(path, "is no file")
    if of_anyone:
        return
    if status.st_uid not in _owners(path.parent):
        raise _not_ours(path, f"belongs to uid {status.st_uid}")
    if status.st_nlink > 1 and _is_shared(path.parent):
        raise _not_ours(path, "has another name elsewhere")


def _owners(directory: Path) -> set[int]:
    """Return the uids that our files may have: `adocctl`, run by root, gives them to the directory's owner."""
    return run_dir.trusted_owners() | {directory.stat().st_uid}


def _is_shared(directory: Path) -> bool:
    status = directory.stat()
    return bool(status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)) or status.st_uid not in (0, os.geteuid())


def _not_ours(path: Path, what: str) -> OSError:
    return OSError(errno.EPERM, f"{path.name} {what}; look who has put it there, and remove it")
