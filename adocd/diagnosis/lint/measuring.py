"""Rules about what can be seen, and about the RocksDB and the agent at hand."""

from collections.abc import Iterator
from dataclasses import asdict

from adocd.diagnosis.lint.facts import Facts
from adocd.diagnosis.lint.finding import Hit, Severity, rule
from adocd.model.options import BYTES_PER_SYNC_OFF
from adocd.probes.options_file import Unreadable

#: The agents are tested with 7.8 and 9.8; 6.29 died of what newer ones survive.
_OLDEST = (7, 0)
#: The first in which a change made during a flush or a compaction lasts.
_CHANGES_LAST = (9, 11)
#: RocksDB 9.8, idle, a warm page cache: SetOptions took 1.6 ms with 1 column family, 7.7 with 30, 22 with 100. So with
#: 30 one change of each takes a quarter of a second of writing OPTIONS files, and it grows with the square.
_MANY_FAMILIES = 30


@rule(Severity.DANGER, "MyRocks 10.11, RocksDB 6.29.5 (measured): SIGFPE in the rate limiter")
def rocksdb_is_too_old(facts: Facts) -> Iterator[Hit]:
    """Find that RocksDB is older than 7.0: untested, and a live delayed_write_rate of 0 kills it."""
    if facts.version is not None and facts.version < _OLDEST:
        yield Hit(
            "RocksDB",
            f"RocksDB {facts.info.rocksdb_version} is older than 7.0: adocd is not tested with it, and a "
            "delayed_write_rate of 0 set live killed a 6.29 process",
            "use a newer RocksDB; until then watch only (adocctl set-policy fixed)",
        )


@rule(Severity.NOTE, "facebook/rocksdb#13294")
def changes_may_revert(facts: Facts) -> Iterator[Hit]:
    """Find that before 9.11 a change may silently revert when a flush or compaction that began before it ends."""
    if facts.version is not None and facts.version < _CHANGES_LAST:
        yield Hit(
            "RocksDB",
            f"RocksDB {facts.info.rocksdb_version} is older than 9.11: a change may silently revert when a flush or "
            "compaction that began before it ends, while the new value still reads back",
            "judge a change by its effect, not by what reads back; RocksDB 9.11 has it mended",
        )


@rule(Severity.NOTE, "rocksdict 0.3.29 (measured): put holds the interpreter lock while it waits")
def agent_is_silent_during_stalls(facts: Facts) -> Iterator[Hit]:
    """Find that the agent cannot answer while writes stall: nothing is measured and nothing is changed meanwhile."""
    if not facts.capabilities.responds_during_stall:
        yield Hit(
            "agent",
            f"the {facts.info.agent.kind} agent does not answer while writes stall: no samples and no changes "
            "come in a stall, and its silence may be one",
            "trust the LOG and the device's counters for the time of a stall; a law acts before the next one",
        )


@rule(Severity.NOTE, "RocksDB statistics.h; db.h, DB::Properties::kCFStats")
def not_all_is_measured(facts: Facts) -> Iterator[Hit]:
    """Find that the agent cannot read all counters, mostly because the program has no Statistics."""
    missing = [name for name, value in asdict(facts.snapshot.counters).items() if value is None]
    if any(cf.stall_counts is None for cf in facts.snapshot.column_families.values()):
        missing.append("stall_counts")
    if not missing:
        return
    level = facts.capabilities.statistics
    yield Hit(
        "statistics",
        f"statistics are {level}, and this agent cannot read {', '.join(missing)}: what is made of them is unknown",
        "open the database with statistics, which cost a little on every write"
        if level == "none"
        else "nothing can be done from outside; rates that show as - are unknown, not 0",
    )


@rule(Severity.NOTE, "RocksDB statistics.h, StatsLevel")
def statistics_take_time(facts: Facts) -> Iterator[Hit]:
    """Find that statistics are on with timers and histograms, which cost time on every operation."""
    if facts.capabilities.statistics == "all":
        yield Hit(
            "statistics",
            "statistics are on with timers and histograms, which cost time on every read and write",
            "take StatsLevel::kExceptHistogramOrTimers if only adocd needs them: it reads tickers alone",
        )


def _limiter_moved(facts: Facts) -> tuple[int, int] | None:
    """Read the rate at open and now, where they differ though nobody has changed it through the agent."""
    now, then = facts.snapshot.options.rate_limiter_bytes_per_s, facts.detail.originals.rate_limiter_bytes_per_s
    untouched = facts.snapshot.lease is None and facts.snapshot.restore.state == "none"
    return (then, now) if untouched and now is not None and then is not None and now != then else None


@rule(Severity.USELESS, "RocksDB rate_limiter.h, NewGenericRateLimiter(auto_tuned)")
def limiter_tunes_itself(facts: Facts) -> Iterator[Hit]:
    """Find that the rate limiter's rate moved without adocd: something else tunes it, and would overwrite a law."""
    if (moved := _limiter_moved(facts)) is not None:
        then, now = moved
        yield Hit(
            "rate_limiter",
            f"the rate limiter had {then} bytes/s at open and has {now} now, which adocd did not do: RocksDB tunes "
            "it by itself (auto_tuned), or the program does",
            "open it with auto_tuned = false before a law turns it; until then expect the rate to bound compactions",
        )


@rule(Severity.NOTE, "RocksDB rate_limiter.h, NewGenericRateLimiter(auto_tuned)")
def limiter_may_tune_itself(facts: Facts) -> Iterator[Hit]:
    """Find that there is a rate limiter, which RocksDB may tune by itself without a way to see it."""
    rate = facts.configured.rate_limiter_bytes_per_s
    if rate is None or "rate_limiter" in facts.detail.added_options or _limiter_moved(facts) is not None:
        return
    yield Hit(
        "rate_limiter",
        f"the program has a rate limiter of {rate} bytes/s, and whether RocksDB tunes it by itself (auto_tuned) cannot "
        "be read: it would overwrite what a law sets, and more threads do not get past it",
        "make sure that the program opens it with auto_tuned = false; if the rate moves without adocd, it is on",
    )


@rule(Severity.NOTE, "RocksDB options.h, bytes_per_sync and delayed_write_rate")
def limiter_was_added(facts: Facts) -> Iterator[Hit]:
    """Find that the agent added a rate limiter at open, as it was told to, which changes the baseline."""
    rate = facts.detail.added_options.get("rate_limiter")
    if rate is not None:
        yield Hit(
            "rate_limiter",
            f"the agent added a rate limiter of {rate} bytes/s at open, which bounds flushes and compactions, also "
            "while no law turns it",
            "start the program without ADOCD_AGENT_RATE_LIMITER, unless a law needs it",
        )


@rule(Severity.NOTE, "RocksDB db/db_impl/db_impl.cc, DBImpl::SetDBOptions")
def sync_comes_with_changes(facts: Facts) -> Iterator[Hit]:
    """Find that bytes_per_sync is 0, which RocksDB lets nobody keep when a database-wide option is changed."""
    if facts.database.number("bytes_per_sync") == 0 and "max_background_jobs" in facts.capabilities.database_options:
        yield Hit(
            "bytes_per_sync",
            "bytes_per_sync = 0: RocksDB would make it 1 MiB with the first change of max_background_jobs, so that "
            f"change sets it to {BYTES_PER_SYNC_OFF}, which no file reaches and so is off as well; it stays so, and "
            "stands in the OPTIONS file, until the program opens the database with a value of its own",
            "nothing, unless somebody else changes options of this database live: then set it to 1048576 at the open",
        )


@rule(Severity.NOTE, "RocksDB db.h, DB::SetOptions; facebook/rocksdb#12888")
def families_are_many(facts: Facts) -> Iterator[Hit]:
    """Find that there are so many column families that each change, which rewrites the OPTIONS file of all, is slow."""
    count = len(facts.all_families)
    if count >= _MANY_FAMILIES:
        yield Hit(
            "column families",
            f"there are {count} column families, and each change of one writes and reads back the options of all",
            "expect changes to come late, and prefer threads to batches (tune_batch=false)",
        )


@rule(Severity.NOTE, "adocd agents/admin-api.yaml, Database")
def families_are_not_seen(facts: Facts) -> Iterator[Hit]:
    """Find that some column families are neither measured nor changed, because the agent has no handle of them."""
    unseen = facts.all_families - facts.families.keys()
    if unseen:
        yield Hit(
            "column families",
            "the agent neither measures nor changes these: their stalls and their memory are not in the figures",
            "hand their handles to the Python agent's attach(); under the native agent keep their handles open",
            tuple(sorted(unseen)),
        )


@rule(Severity.NOTE, "RocksDB options/options_parser.cc")
def options_file_is_not_read(facts: Facts) -> Iterator[Hit]:
    """Find that the OPTIONS file cannot be read, so options that the agent does not report are unknown."""
    if isinstance(facts.options_file, Unreadable):
        yield Hit(
            "OPTIONS file",
            f"{facts.options_file.path} cannot be read: {facts.options_file.why}; so compaction_style, "
            "level_compaction_dynamic_level_bytes, db_write_buffer_size and atomic_flush are not checked",
            "let the daemon's user read the database's directory, and run it where that directory is",
        )


RULES = (
    rocksdb_is_too_old,
    changes_may_revert,
    agent_is_silent_during_stalls,
    not_all_is_measured,
    statistics_take_time,
    limiter_tunes_itself,
    limiter_may_tune_itself,
    limiter_was_added,
    sync_comes_with_changes,
    families_are_many,
    families_are_not_seen,
    options_file_is_not_read,
)
