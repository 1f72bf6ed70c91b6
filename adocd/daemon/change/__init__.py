"""The small part that has to be trusted: from what is wanted to calls into a live database, and back.

`translate` puts a law's settings into option values, `safety` refuses what could hurt, `planner` orders what is left
and makes the way back, `ledger` knows what is ours and notices what others did, `actuator` sends. All but the actuator
are pure: values in, values out.
"""
