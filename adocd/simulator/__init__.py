"""The data flow of RocksDB 7.8 with a virtual clock: a target like any other, to test laws and daemon in closed loop.

It is no prediction of a machine, and stands for no later RocksDB (rocksdict has 9.8, which among other things merges
level 0's files by size); docs/simulator.md says what it models, from which source, and what it leaves out.

`device`, `workload` and `options` are what is given; `memtables`, `levels`, `write_controller`, `limiter`, `jobs` and
`shares` the parts of a database, which know no clock; `database` moves them from event to event; `target` is its agent,
and keeps its lease by `lease_machine`, which is the Python agent's own; `clock` is the time that they and the daemon
live in; `run` puts it all together.
"""
