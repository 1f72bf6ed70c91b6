"""The data flow of RocksDB 7.8 with a virtual clock: a target like any other, to test laws and daemon in closed loop.

It does not predict a machine and does not model later versions of RocksDB (rocksdict has 9.8, which among other things
compacts level 0's files by size). docs/simulator.md says what it models, from which source, and what it leaves out.

`device`, `workload` and `options` are the inputs. `memtables`, `levels`, `write_controller`, `limiter`, `jobs` and
`shares` are the parts of a database, which use no clock; `database` moves them from event to event. `target` is its
agent and keeps its lease by the Python agent's own `lease_machine`. `clock` is the virtual time for them and the
daemon. `run` puts it all together.
"""
