"""Let only one database of a process turn the options that belong to the process. Pure."""

from adocd.daemon.change.guards.guard import Beside, GuardRefusal
from adocd.model.sample import Sample
from adocd.model.values import OptionName, Values


def is_shared(option: OptionName) -> bool:
    """Whether all databases of a process share this option."""
    return option.scope in ("thread_pool", "rate_limiter")


def shared(wanted: Values, sample: Sample, beside: Beside) -> tuple[GuardRefusal, ...]:
    """Refuse thread pools and the rate limiter if another database of the process already turns them.

    Two laws would undo each other's changes for ever, and the second would mistake the first's values for originals.
    """
    options = frozenset(option for option in wanted if is_shared(option))
    path = beside.shared_with if options else None
    if path is None or all(sample.values.get(option) == wanted[option] for option in options):
        return ()
    words = " and ".join(sorted(map(str, options)))
    return (GuardRefusal("shared", options, f"{words} belong to the process, and are turned for {path} already"),)
