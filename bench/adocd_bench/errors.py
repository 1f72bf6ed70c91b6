"""The errors of bench; each message is one sentence that says what to do."""


class BenchError(Exception):
    """Base of all errors of bench; `str(error)` is one sentence for the user."""


class BadArgument(BenchError):
    """An option's value makes no sense."""


class CapUnavailable(BenchError):
    """The device cannot be capped here: no disk below the directory, no cgroup, no rights."""


class NotEnoughSpace(BenchError):
    """The directory's file system is too full for the run."""


class ProgramMissing(BenchError):
    """A program that the run needs is not installed."""


class RunFailed(BenchError):
    """A started program failed, or never did what it was started for."""
