"""The trusted core: turns wanted values into calls to a live database, and back into the originals.

`translate` turns a law's settings into option values, `guards` refuses unsafe ones, `planner` orders the calls and
makes the restore plan, `ledger` tracks our changes and notices those of others, `actuator` sends. All but the actuator
are pure: values in, values out.
"""
