"""A host that does with its databases what it is told: one command a line on stdin, one answer a line on stdout.

Answers are "ok", "ok VALUE" or "error: REASON". PATH names a database everywhere; CF a column family. Prints "ready"
first. Attaches the agent to every database it opens, unless told otherwise.

    open PATH [CF ...] [NAME=VALUE ...]  opens (creates) with these column families beside "default", and these options
    open_plain PATH [NAME=VALUE ...]     opens without the agent, and without options unless there are any
    open_read_only PATH                  opens for reading, attached
    attach PATH                          attaches the agent to an open database once more
    attach_alone PATH                    the same without its other column families
    detach PATH [SECONDS]                ends that attachment; waits so long for the conditions of a restore plan
    reopen_with_the_same_options PATH    their Statistics go on
    close PATH                           closes the handles, then the database
    forget PATH                          drops the handles and the database without closing them
    create_cf PATH CF [NAME=VALUE ...]   the agent gets the handle of the new column family
    drop_cf PATH CF
    hand_over PATH NAME CF               tells the agent that the handle of CF is NAME's
    put PATH N [CF] [BYTES]              N keys of BYTES (100) each, random order
    flush PATH [CF]
    set_option PATH CF NAME VALUE        the host's own set_options
    property PATH CF NAME
    stand_still MILLISECONDS             keeps the interpreter lock: no Python thread runs
    sleep MILLISECONDS                   releases it
    fork_child                           a child that ends by itself when told: "ok PID"
    end_child PID                        "ok STATUS"
    threads                              names of this process's Python threads
    quit                                 ends with the databases open, as does the end of stdin
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import adocd_agent
import rocksdict

SETTERS = {
    "write_buffer_size": "set_write_buffer_size",
    "max_write_buffer_number": "set_max_write_buffer_number",
    "level0_file_num_compaction_trigger": "set_level_zero_file_num_compaction_trigger",
    "level0_slowdown_writes_trigger": "set_level_zero_slowdown_writes_trigger",
    "level0_stop_writes_trigger": "set_level_zero_stop_writes_trigger",
    "disable_auto_compactions": "set_disable_auto_compactions",
    "max_background_jobs": "set_max_background_jobs",
    "max_log_file_size": "set_max_log_file_size",
    "stats_dump_period_sec": "set_stats_dump_period_sec",
    "db_log_dir": "set_db_log_dir",
}
WITHOUT_SETTER = {"delayed_write_rate": "16777216"}
"""Options that rocksdict cannot set, with the value they have."""


@dataclass
class Database:
    """An open database with everything that refers to it."""

    db: Any
    attachment: adocd_agent.Attachment | None = None
    families: dict[str, Any] = field(default_factory=dict)
    options: Any = None

    def handle(self, family: str) -> Any:
        """Return the handle of a column family."""
        return self.db if family == "default" else self.families[family]


OPEN: dict[str, Database] = {}
CHILDREN: dict[int, int] = {}


def _options(pairs: dict[str, str]) -> Any:
    options = rocksdict.Options(raw_mode=True)
    options.create_if_missing(True)
    options.create_missing_column_families(True)
    for name, value in pairs.items():
        if name == "statistics":
            options.enable_statistics()
        elif name == "rate_limiter":
            options.set_ratelimiter(int(value), 100_000, 10)
        elif name in WITHOUT_SETTER:
            if value != WITHOUT_SETTER[name]:
                raise ValueError(f"rocksdict cannot set {name}")
        else:
            getattr(options, SETTERS[name])(
                value == "true" if value in ("true", "false") else int(value) if value.isdecimal() else value
            )
    return options


def open_database(path: str, *words: str) -> str:
    pairs = dict(word.split("=", 1) for word in words if "=" in word)
    names = [word for word in words if "=" not in word]
    options = _options(pairs)
    db = rocksdict.Rdict(path, options, column_families={name: _options({}) for name in names})
    families = {name: db.get_column_family(name) for name in names}
    attachment = adocd_agent.attach(db, options, families)
    OPEN[path] = Database(db, attachment, families, options)
    return attachment.error or ""


def open_plain(path: str, *words: str) -> None:
    options = _options(dict(word.split("=", 1) for word in words)) if words else None
    OPEN[path] = Database(rocksdict.Rdict(path, options))


def open_read_only(path: str) -> str:
    db = rocksdict.Rdict(path, access_type=rocksdict.AccessType.read_only())
    attachment = adocd_agent.attach(db)
    OPEN[path] = Database(db, attachment)
    return attachment.error or ""


def attach(path: str) -> str:
    database = OPEN[path]
    database.attachment = adocd_agent.attach(database.db, None, database.families)
    return database.attachment.error or ""


def attach_alone(path: str) -> str:
    database = OPEN[path]
    database.attachment = adocd_agent.attach(database.db)
    return database.attachment.error or ""


def detach(path: str, seconds: str = "10") -> None:
    attachment = OPEN[path].attachment
    if attachment is not None:
        attachment.detach(float(seconds))


def reopen_with_the_same_options(path: str) -> None:
    options = OPEN[path].options
    close(path)
    db = rocksdict.Rdict(path, options)
    OPEN[path] = Database(db, adocd_agent.attach(db, options), {}, options)


def close(path: str) -> None:
    database = OPEN.pop(path)
    for handle in database.families.values():
        handle.close()
    database.db.close()


def forget(path: str) -> None:
    del OPEN[path]
    gc.collect()


def create_cf(path: str, name: str, *words: str) -> None:
    database = OPEN[path]
    handle = database.db.create_column_family(name, _options(dict(word.split("=", 1) for word in words)))
    database.families[name] = handle
    if database.attachment is not None:
        database.attachment.add_column_family(name, handle)


def hand_over(path: str, name: str, family: str) -> None:
    database = OPEN[path]
    if database.attachment is not None:
        database.attachment.add_column_family(name, database.families[family])


def drop_cf(path: str, name: str) -> None:
    database = OPEN[path]
    database.db.drop_column_family(name)
    del database.families[name]


def put(path: str, count: str, family: str = "default", size: str = "100") -> None:
    handle = OPEN[path].handle(family)
    for _ in range(int(count)):
        handle[os.urandom(16)] = os.urandom(int(size))


def flush(path: str, family: str = "default") -> None:
    OPEN[path].handle(family).flush()


def set_option(path: str, family: str, name: str, value: str) -> None:
    OPEN[path].handle(family).set_options({name: value})


def property_value(path: str, family: str, name: str) -> str:
    return str(OPEN[path].handle(family).property_value(name))


def stand_still(milliseconds: str) -> None:
    ctypes.PyDLL(None).usleep(int(milliseconds) * 1000)  # PyDLL keeps the interpreter lock


def sleep(milliseconds: str) -> None:
    time.sleep(int(milliseconds) / 1000)


def fork_child() -> str:
    until_read, until_write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(until_write)
        os.read(until_read, 1)
        os._exit(0)
    os.close(until_read)
    CHILDREN[child] = until_write
    return str(child)


def end_child(pid: str) -> str:
    os.close(CHILDREN.pop(int(pid)))
    return str(os.waitstatus_to_exitcode(os.waitpid(int(pid), 0)[1]))


def threads() -> str:
    return " ".join(sorted(thread.name for thread in threading.enumerate()))


COMMANDS: dict[str, Callable[..., str | None]] = {
    "open": open_database,
    "open_plain": open_plain,
    "open_read_only": open_read_only,
    "attach": attach,
    "attach_alone": attach_alone,
    "detach": detach,
    "reopen_with_the_same_options": reopen_with_the_same_options,
    "close": close,
    "forget": forget,
    "create_cf": create_cf,
    "drop_cf": drop_cf,
    "hand_over": hand_over,
    "put": put,
    "flush": flush,
    "set_option": set_option,
    "property": property_value,
    "stand_still": stand_still,
    "sleep": sleep,
    "fork_child": fork_child,
    "end_child": end_child,
    "threads": threads,
}


def main() -> None:
    """Obey until the end of stdin."""
    print("ready", flush=True)
    for line in sys.stdin:
        words = line.split()
        if words == ["quit"]:
            break
        if not words:
            continue
        try:
            answer = COMMANDS[words[0]](*words[1:])
            print(f"ok {answer}" if answer else "ok", flush=True)
        except Exception as error:
            print("error: " + str(error).replace("\n", " "), flush=True)


if __name__ == "__main__":
    main()
