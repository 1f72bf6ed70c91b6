"""Files of ours in a directory that others may write to: its group, where the state is kept beside the sockets.

Who may write there may put a link, a pipe or a file of his own in the place of ours, and we may be root. So no link is
followed, nothing but a file is opened, and none that is another's: not by its owner, and not by a second name, for a
hard link to a file of root's is root's too. That ours goes, or is replaced by nothing, we cannot keep anybody from.
"""

import errno
import os
import stat
from pathlib import Path

from adocd.targets import run_dir

_ALWAYS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def opened(path: Path, flags: int, mode: int = 0o600, *, of_anyone: bool = False) -> int:
    """Open a file of ours and return its descriptor; with O_CREAT it is made where there is none.

    `of_anyone`: a file that another user has left there does as well, for nothing in it is read or written. Raises
    OSError, whose `strerror` names the file and the way out where it is none of ours.
    """
    try:
        descriptor = os.open(path, flags | _ALWAYS, mode)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _not_ours(path, "is a symbolic link") from None
        if error.errno == errno.ENXIO:  # a pipe that nobody reads, or a socket
            raise _not_ours(path, "is no file") from None
        raise
    try:
        _check(path, os.fstat(descriptor), of_anyone=of_anyone)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def check(path: Path, *, of_anyone: bool = False) -> None:
    """See that a file which is going to be opened by its path is ours, where there is one; raises OSError.

    `of_anyone`: for reading what is checked as a stranger's word is anyway. In a directory that nobody else may write
    to it is what its owner wants it to be, a link too.
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
    """Say whose a file of ours may be: root's `adocctl` leaves it to the user that the directory belongs to."""
    return run_dir.trusted_owners() | {directory.stat().st_uid}


def _is_shared(directory: Path) -> bool:
    status = directory.stat()
    return bool(status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)) or status.st_uid not in (0, os.geteuid())


def _not_ours(path: Path, what: str) -> OSError:
    return OSError(errno.EPERM, f"{path.name} {what}; look who has put it there, and remove it")
