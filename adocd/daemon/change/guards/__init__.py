"""Safety guards: what no law and no operator can get past. Each says in its own name what it refused.

A new one is a function of its own file, its name in `guard.GuardName`, and its place in `GUARDS`.
"""

from adocd.daemon.change.guards.bounds import bounds
from adocd.daemon.change.guards.guard import Guard
from adocd.daemon.change.guards.memory import memory_budget, memory_shortage
from adocd.daemon.change.guards.order import order
from adocd.daemon.change.guards.shared import shared

#: In the order in which they are asked; each session's CompactionGuard, which remembers, comes last.
GUARDS: tuple[Guard, ...] = (bounds, order, memory_budget, memory_shortage, shared)
