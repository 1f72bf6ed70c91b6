"""Human-readable output of adocctl."""

import json
from collections.abc import Callable
from typing import Any

import typer
from rich.table import Table

from adocd.api import remedy, sentences
from adocd.api import restored as after_restore
from adocd.api.changed import changed
from adocd.api.latency_in_words import write_latency
from adocd.api.repeats import in_rows
from adocd.cli.console import Terminal, columns
from adocd.cli.terminal import clock, say
from adocd.model.in_words import UNKNOWN, knob_value, option_value, size
from adocd.model.printable import printable_content

console = Terminal(width=columns())


def json_or(as_json: bool, content: Any, for_a_person: Callable[[Any], None]) -> None:
    """Print the content as one line of JSON, or for a person with foreign text made printable."""
    if as_json:
        typer.echo(json.dumps(content))
    else:
        for_a_person(printable_content(content))


def kept_in_words(kept: dict[str, Any], before: str = "") -> str:
    """List what is kept, or was, of a closed database; "" for nothing."""
    pins = kept["overrides"]
    words = ["its policy"] * kept["policy"] + ["its pause"] * kept["paused"]
    words += [f"{pins} {'pins' if pins > 1 else 'pin'}"] * bool(pins)
    words += [f"the originals of {', '.join(kept['originals'])}"] * bool(kept["originals"])
    return before + ", ".join(words) if words else ""


def _add_state(facts: Table, t: dict[str, Any]) -> None:
    if labels := labels_in_words(t):
        facts.add_row("labels", labels)
    facts.add_row("state", t["state"])
    facts.add_row("policy", policy_in_words(t))
    if t["paused"]:
        facts.add_row("paused", t["paused"])
    facts.add_row("last cycle", t["sentence"])
    if t["stall"]:
        facts.add_row("stall", _stall(t["stall"]))
    if t["state"] == "silent":
        facts.add_row("what to do", str(remedy.wake(t["process"])))


def _tuner(t: dict[str, Any]) -> str:
    verdict = t["verdict"]
    step = remedy.undo(verdict, t) or remedy.let_act(t)
    return f"{verdict['title']}. {verdict['sentence']}" + (f" {step}" if step else "")


def status(t: dict[str, Any]) -> None:
    """Show one target."""
    process, sample = t["process"], t["sample"]
    is_directory = process is not None and process["agent"].startswith("directory ")
    facts = _facts()
    facts.add_row("target", f"{t['id']}  {t['path']}")
    if process:
        facts.add_row("process", f"{program_in_words(process)}, RocksDB {process['rocksdb_version']}")
        facts.add_row("seen by", "its directory alone" if is_directory else process["agent"])
    if t.get("opened_before_agent"):  # an older daemon has none
        facts.add_row("attached", "while it was open: its original options are those that were found then")
    _add_state(facts, t)
    if (old := sentences.old_figures(t)) is not None:
        facts.add_row("last figures", old)
    if t.get("verdict") is not None:
        facts.add_row("tuner", _tuner(t))
    if t["lease"]:
        facts.add_row("lease", f"{t['lease']['holder']}, expires in {t['lease']['expires_in_s']:.1f} s")
    if t["restore"] and t["restore"]["state"] in ("running", "waiting"):
        facts.add_row("restore", sentences.steps_left(t["restore"]))
    if sample:
        _sample_facts(facts, sample, is_directory=is_directory, now="now" if t["state"] == "attached" else "then")
    if t.get("shared") and t["state"] == "attached":  # an older daemon has none
        facts.add_row("disks", t["shared"])
    if t["unseen_column_families"]:
        facts.add_row("left alone", ", ".join(t["unseen_column_families"]) + ": the agent has no handle to them")
    for override in t["overrides"]:
        family = f" ({override['column_family']})" if override["column_family"] else ""
        effect = override["ineffective"] or "in force"
        facts.add_row("override", f"{override['option']}{family} = {override['value']}, by {override['who']}: {effect}")
    for each in changed(t) or ():
        facts.add_row(f"changed in {each.scope}", f"{each.option} = {each.now} (originally {each.original})")
    console.print(facts)
    if t["last_decision"]:
        console.print("\nThe last decision:")
        decisions([t["last_decision"]])


def waits(t: dict[str, Any]) -> str:
    """Say whether writes are stalled, and because of what."""
    stall = t["stall"]
    if stall is None:
        return t["condition"] or "-"
    causes = ", ".join(dict.fromkeys(cause["cause"] for cause in stall["causes"]))
    words = f"{stall['condition']} stalled" if stall["condition"] == "possibly" else stall["condition"]
    return f"{words} ({causes})" if causes else str(words)


def _stall(stall: dict[str, Any]) -> str:
    return f"{stall['condition']} since {clock(stall['since_unix_s'])}, by {stall['evidence']}: {stall['why']}"


def _waited(sample: dict[str, Any], *, is_directory: bool) -> str:
    fraction = sample["waited_fraction"]
    # Several writers can wait at once, and RocksDB counts a wait only when it is over.
    many = fraction is not None and fraction > 1
    waited = f"writers waited, added up, {fraction:.1f} times" if many else f"writers waited {percent(fraction)} of"
    if not is_directory:
        return f"{waited} the last {sample['interval_s']:.1f} s"
    if sample["waited_fraction"] is None:
        return "how long writers waited is known when RocksDB dumps its statistics"
    return f"{waited} the time between RocksDB's last two statistics dumps"


def _sample_facts(facts: Table, sample: dict[str, Any], *, is_directory: bool, now: str) -> None:
    written = "-" if sample["written_bytes_per_s"] is None else size(sample["written_bytes_per_s"])
    facts.add_row("writes", f"{rate(sample['writes_per_s'])}/s, {written}/s")
    facts.add_row(
        "stalls",
        f"{_waited(sample, is_directory=is_directory)}; "
        f"stopped {percent(sample['stopped_fraction'])}, delayed {percent(sample['delayed_fraction'])}; "
        f"{now} {sample['condition']}",
    )
    facts.add_row("write latency", write_latency(sample.get("write_latency")))
    facts.add_row("overflow", ", ".join(sample["overflow"]) or "none")
    facts.add_row("background jobs", jobs_in_words(sample))
    for cf in sample["column_families"]:
        options = cf["options"]
        batch = size(options["write_buffer_size_bytes"])
        facts.add_row(
            cf["name"],
            f"{known(cf['l0_files'])} L0 files (slowdown at {options['level0_slowdown_writes_trigger']}), "
            f"{known(cf['immutable_memtables'])} immutable memtables, batch {batch}, "
            f"pending compaction {size(cf['pending_compaction_bytes'])}",
        )


def program_in_words(process: dict[str, Any]) -> str:
    """Name a program and its pid."""
    return "unknown" if process["pid"] is None else f"{process['program']} ({process['pid']})"


def jobs_in_words(sample: dict[str, Any]) -> str:
    """Say how many background jobs are set, by which option or thread pool, and the maximum."""
    if sample["background_jobs"] is None:
        return "cannot be turned here"
    most = sample["background_jobs_max"]
    return f"{sample['background_jobs']} by {sample['threads_by']}" + ("" if most is None else f", at most {most}")


def decisions_of_all_runs(records: list[dict[str, Any]]) -> None:
    """Show decisions of several runs of the daemon, which may be days old."""
    decisions(records, date=True)


def decisions(records: list[dict[str, Any]], *, date: bool = False) -> None:
    """Show decisions, oldest first; those that repeat one are in its row."""
    if not records:
        console.print(sentences.NO_DECISIONS)
        return
    rows = table("#", "time", "rule", "set", "because", "outcome")
    for repeated in in_rows(records):
        record = repeated.record
        often = [f"{repeated.often}, until {clock(repeated.last_unix_s, date=date)}"] if repeated.often else []
        notes = [record["outcome"], *often, *record["guards"], *([record["detail"]] if record["detail"] else [])]
        rows.add_row(
            str(repeated.first_sequence),
            clock(repeated.first_unix_s, date=date),
            record["rule"],
            "\n".join(_setting(s) for s in record["settings"]) or "\n".join(map(_change, record["changes"])) or "-",
            record["signal"],
            "\n".join(notes),
        )
    console.print(rows)


def controllers(laws: list[dict[str, Any]]) -> None:
    """Show the control laws and their parameters; a required parameter has no value."""
    for law in laws:
        console.print(f"{law['name']} (what `default` stands for)" if law["default"] else law["name"], style="bold")
        facts = _facts()
        facts.add_row("  what", law["summary"])
        facts.add_row("  source", law["source"])
        facts.add_row("  turns", ", ".join(law["knobs"]) or "nothing")
        if law["parameters"]:
            given = (name if value is None else f"{name}={value}" for name, value in law["parameters"].items())
            facts.add_row("  takes", ", ".join(given))
        console.print(facts)


def policy(content: dict[str, Any]) -> None:
    """Show a policy that was set."""
    console.print(f"The policy is now {policy_in_words({'policy': content, 'paused': None})}")


def paused(answer: dict[str, Any]) -> None:
    """Show a pause."""
    say(f"paused: {answer['paused']}")
    warning(answer)


def resumed(answer: dict[str, Any]) -> None:
    """Show that a law was resumed."""
    say("resumed" if answer["was_paused"] else "it was not paused")
    warning(answer)


def left_alone(*, remembered: bool | None, everything: bool) -> None:
    """Say what keeps the databases unchanged after a restore; None: the daemon has it and did not say so."""
    if remembered is None:
        console.print(
            "The daemon did not say whether it remembers this: once it answers, ask again, and adocctl status says "
            "whether it leaves the databases alone."
        )
    elif not remembered:
        console.print("No daemon remembers it: one that runs or starts later applies its policies.")
    elif everything:
        console.print("Every database is left alone, also one that opens later, until: adocctl resume --all")
    else:
        console.print("It is left alone until: adocctl resume, or adocctl set-policy")


def warning(answer: dict[str, Any]) -> None:
    """Print the answer's warning, if any, on stderr."""
    if answer.get("warning"):
        say(f"warning: {answer['warning']}", err=True)


def restored(answer: dict[str, Any]) -> None:
    """Show the progress of restores."""
    warning(answer)
    for target, restore in answer["restored"].items():
        errors = "".join(f"; FAILED: {error}" for error in restore["errors"])
        unlike = answer.get("unlike", {}).get(target)  # an older daemon does not compare
        console.print(f"{target}: {after_restore.how_far(restore, unlike)}{errors}")
        for option in unlike or ():
            console.print(f"    {sentences.not_original(option)}: {after_restore.whose(option)}")
    for target, reason in answer["failed"].items():
        console.print(f"{target}: FAILED: {reason}")
    if not answer["restored"] and not answer["failed"]:
        console.print("No database is open, so there is nothing to restore.")
    if any("did not answer" in reason for reason in answer["failed"].values()):
        console.print("An agent that did not answer restores its originals when its lease expires. See adocctl status.")


def labels_in_words(t: dict[str, Any]) -> str:
    """List a target's labels as --where takes them; "" without any."""
    return " ".join(f"{name}={value}" for name, value in t.get("labels", {}).items())  # an older daemon has none


def policy_in_words(t: dict[str, Any]) -> str:
    """Name a target's law with its parameters."""
    chosen = t["policy"]
    words = [chosen["controller"], *(f"{name}={value}" for name, value in chosen["parameters"].items())]
    if chosen["dry_run"]:
        words.append("(dry run)")
    if t["paused"]:
        words.append("(paused)")
    return " ".join(words)


def _change(change: dict[str, Any]) -> str:
    if isinstance(change["option"], str):  # as the journal has it
        return f"{change['option']} {change['before']} -> {change['value']}"
    name = change["option"]["name"]
    family = f" ({name})" if name else ""
    option, before, after = change["option"]["option"], change["before"], change["value"]
    if before == after:  # RocksDB keeps it only after it is set a second time
        return f"{option}{family} {option_value(option, after)} again"
    return f"{option}{family} {option_value(option, before)} -> {option_value(option, after)}"


def _setting(setting: dict[str, Any]) -> str:
    family = f" ({setting['column_family']})" if setting["column_family"] else ""
    return f"{setting['knob']} {knob_value(setting['knob'], setting['value'])}{family}"


def rate(value: float | None) -> str:
    """Show writes per second."""
    return "-" if value is None else f"{value:,.0f}"


def known(value: int | None) -> str:
    """Show a figure of a column family; None means that nobody reports it."""
    return UNKNOWN if value is None else str(value)


def percent(value: float | None) -> str:
    """Show a share. It can exceed 100 %, since RocksDB adds up the waits of all writers."""
    return "-" if value is None else f"{value:.0%}"


def table(*columns: str) -> Table:
    """Make a table for a terminal."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _facts() -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    return table
