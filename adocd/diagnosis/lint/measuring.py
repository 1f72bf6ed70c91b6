"""Rules about what can be measured, and about the version of RocksDB and the agent in use."""

from collections.abc import Iterator
from dataclasses import asdict

from adocd.diagnosis.lint.facts import Facts
from adocd.diagnosis.lint.finding import Hit, Severity, rule
from adocd.model.options import BYTES_PER_SYNC_OFF
from adocd.probes.options_file import Unreadable

#: The agents are tested with 7.8 and newer, and in Flink with 6.20; 6.29 crashed on what newer versions survive.
_OLDEST = (7, 0)
#: The first version whose rate limiter cannot put all who wait for it to sleep.
_LIMITER_WAKES = (8, 5, 3)
#: The first protocol version of a native agent that wakes it.
_PROTOCOL_WAKES = (1, 7)
#: The first version in which a change made during a flush or a compaction lasts.
_CHANGES_LAST = (9, 11)
#: RocksDB 9.8, idle, warm page cache: SetOptions took 1.6 ms with 1 column family, 7.7 with 30, 22 with 100. So with
#: 30, one change in each spends a quarter of a second writing OPTIONS files, and the time grows with the square.
_MANY_FAMILIES = 30


@rule(Severity.DANGER, "MyRocks 10.11, RocksDB 6.29.5 (measured): SIGFPE in the rate limiter")
def rocksdb_is_too_old(facts: Facts) -> Iterator[Hit]:
    """Find that RocksDB is older than 7.0: tested with Flink's 6.20 alone; a delayed_write_rate of 0 killed 6.29."""
    if facts.version is not None and facts.version < _OLDEST:
        yield Hit(
            "RocksDB",
            f"RocksDB {facts.info.rocksdb_version} is older than 7.0: of these adocd is tested with Flink's 6.20 "
            "alone, and a delayed_write_rate of 0 set live killed a 6.29 process",
            "use a newer RocksDB; until then only watch (adocctl set-policy fixed)",
        )


@rule(Severity.NOTE, "facebook/rocksdb#13294")
def changes_may_revert(facts: Facts) -> Iterator[Hit]:
    """Find that before 9.11 a change may silently revert when a flush or compaction that began before it ends."""
    if facts.version is not None and facts.version < _CHANGES_LAST:
        yield Hit(
            "RocksDB",
            f"RocksDB {facts.info.rocksdb_version} is older than 9.11: a change may silently revert when a flush or "
            "compaction that began before it ends, while the new value still reads back",
            "judge a change by its effect, not by the value that reads back; RocksDB 9.11 has fixed this",
        )


@rule(Severity.NOTE, "rocksdict 0.3.29 (measured): put holds the interpreter lock while it waits")
def agent_is_silent_during_stalls(facts: Facts) -> Iterator[Hit]:
    """Find that the agent cannot answer while writes stall, so adocd measures and changes nothing meanwhile."""
    if not facts.capabilities.responds_during_stall:
        yield Hit(
            "agent",
            f"the {facts.info.agent.kind} agent does not answer while writes stall: there are no samples "
            "and no changes in a stall, and its silence may mean a stall",
            "rely on the LOG and the device's counters during a stall; a law acts before the next one",
        )


@rule(Severity.NOTE, "RocksDB statistics.h; db.h, DB::Properties::kCFStats")
def not_all_is_measured(facts: Facts) -> Iterator[Hit]:
    """Find that not all counters can be read, usually because the program has no Statistics."""
    missing = [name for name, value in asdict(facts.snapshot.counters).items() if value is None]
    if any(cf.stall_counts is None for cf in facts.snapshot.column_families.values()):
        missing.append("stall_counts")
    if not missing:
        return
    if not facts.capabilities.can_change:
        yield Hit(
            "statistics",
            f"no agent is in the program, and its LOG has not given {', '.join(missing)} yet: figures made from these "
            "are unknown",
            "RocksDB writes them to its LOG every stats_dump_period_sec, and some of them only with Statistics",
        )
        return
    level = facts.capabilities.statistics
    yield Hit(
        "statistics",
        f"statistics are {level}, and this agent cannot read {', '.join(missing)}: figures made from these are unknown",
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
            "use StatsLevel::kExceptHistogramOrTimers if only adocd needs them: it reads only tickers",
        )


def _limiter_moved(facts: Facts) -> tuple[int, int] | None:
    """Return the rates at open and now if they differ although nobody has changed it through the agent."""
    now, then = facts.snapshot.options.rate_limiter_bytes_per_s, facts.detail.originals.rate_limiter_bytes_per_s
    untouched = facts.snapshot.lease is None and facts.snapshot.restore.state == "none"
    return (then, now) if untouched and now is not None and then is not None and now != then else None


@rule(Severity.DANGER, "facebook/rocksdb#11742; seen with 7.8.3")
def limiter_may_stop_granting(facts: Facts) -> Iterator[Hit]:
    """Find that a rate limiter before 8.5.3 can stop granting for good, where no native agent would wake it."""
    if facts.configured.rate_limiter_bytes_per_s is None or facts.version is None or _wakes_limiters(facts):
        return
    # Older ones have another mistake (rocksdb_is_too_old), and those before 6.24 another limiter.
    if _OLDEST <= facts.version < _LIMITER_WAKES:
        yield Hit(
            "rate_limiter",
            f"the rate limiter of RocksDB {facts.info.rocksdb_version} can leave all flushes and compactions that wait "
            "for it asleep, and writes stop behind them for good; this agent cannot wake it",
            "use RocksDB 8.5.3 or newer, or open the database without a rate limiter; in a program without Java or "
            "Python, the native agent of this version wakes it",
        )


def _wakes_limiters(facts: Facts) -> bool:
    return facts.info.agent.kind == "native" and facts.protocol is not None and facts.protocol >= _PROTOCOL_WAKES


@rule(Severity.USELESS, "RocksDB rate_limiter.h, NewGenericRateLimiter(auto_tuned)")
def limiter_tunes_itself(facts: Facts) -> Iterator[Hit]:
    """Find that something other than adocd has changed the rate limiter's rate, and would overwrite a law."""
    if (moved := _limiter_moved(facts)) is not None:
        then, now = moved
        yield Hit(
            "rate_limiter",
            f"the rate limiter had {then} bytes/s at open and has {now} now, but adocd did not change it: RocksDB "
            "tunes it itself (auto_tuned), or the program does",
            "open it with auto_tuned = false before a law turns it; until then expect the rate to limit compactions",
        )


@rule(Severity.NOTE, "RocksDB rate_limiter.h, NewGenericRateLimiter(auto_tuned)")
def limiter_may_tune_itself(facts: Facts) -> Iterator[Hit]:
    """Find that there is a rate limiter and nothing shows whether RocksDB tunes it itself."""
    rate = facts.configured.rate_limiter_bytes_per_s
    if rate is None or "rate_limiter" in facts.detail.added_options or _limiter_moved(facts) is not None:
        return
    yield Hit(
        "rate_limiter",
        f"the program has a rate limiter of {rate} bytes/s, and adocd cannot read whether RocksDB tunes it "
        "(auto_tuned), which would overwrite a law's values; more threads do not exceed its rate",
        "make sure that the program creates it with auto_tuned = false; if the rate changes without adocd, it is on",
    )


@rule(Severity.NOTE, "RocksDB options.h, bytes_per_sync and delayed_write_rate")
def limiter_was_added(facts: Facts) -> Iterator[Hit]:
    """Find that the agent added a rate limiter at open, as it was configured to, which changes the baseline."""
    rate = facts.detail.added_options.get("rate_limiter")
    if rate is not None:
        yield Hit(
            "rate_limiter",
            f"the agent added a rate limiter of {rate} bytes/s at open, which limits flushes and compactions even "
            "while no law turns it",
            "start the program without ADOCD_AGENT_RATE_LIMITER, unless a law needs it",
        )


@rule(Severity.NOTE, "RocksDB db/db_impl/db_impl.cc, DBImpl::SetDBOptions")
def sync_comes_with_changes(facts: Facts) -> Iterator[Hit]:
    """Find that bytes_per_sync is 0, which RocksDB replaces whenever a database-wide option is changed."""
    if facts.database.number("bytes_per_sync") == 0 and "max_background_jobs" in facts.capabilities.database_options:
        yield Hit(
            "bytes_per_sync",
            "bytes_per_sync = 0: RocksDB would set it to 1 MiB with the first change of max_background_jobs, so adocd "
            f"sets it to {BYTES_PER_SYNC_OFF} with that change: no file gets that large, so it is still off. The "
            "value stays, also in the OPTIONS file, until the program opens the database with its own",
            "nothing to do, unless somebody else changes options of this database live: then set it to 1048576 at open",
        )


@rule(Severity.NOTE, "RocksDB db.h, DB::SetOptions; facebook/rocksdb#12888")
def families_are_many(facts: Facts) -> Iterator[Hit]:
    """Find that changes are slow because there are many column families, and each change rewrites all their options."""
    count = len(facts.all_families)
    if count >= _MANY_FAMILIES:
        yield Hit(
            "column families",
            f"there are {count} column families, and a change in one writes and reads back the options of all",
            "expect changes to be slow, and prefer threads to batches (tune_batch=false)",
        )


@rule(Severity.NOTE, "adocd agents/admin-api.yaml, Database")
def families_are_not_seen(facts: Facts) -> Iterator[Hit]:
    """Find that some column families are neither measured nor changed, because the agent has no handle to them."""
    unseen = facts.all_families - facts.families.keys()
    if unseen:
        yield Hit(
            "column families",
            "the agent neither measures nor changes these: the figures do not include their stalls and their memory",
            "pass their handles to the Python agent's attach(); with the native agent, keep their handles open",
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
    limiter_may_stop_granting,
    limiter_tunes_itself,
    limiter_may_tune_itself,
    limiter_was_added,
    sync_comes_with_changes,
    families_are_many,
    families_are_not_seen,
    options_file_is_not_read,
)
