"""Safety guards, which neither a law nor an operator can override. Each reports its refusals under its own name.

To add one: write a function in a new file, add its name to `guard.GuardName` and the function to `GUARDS`.
"""

from adocd.daemon.change.guards.bounds import bounds
from adocd.daemon.change.guards.guard import Guard
from adocd.daemon.change.guards.memory import memory_budget, memory_shortage
from adocd.daemon.change.guards.order import order
from adocd.daemon.change.guards.shared import shared
from adocd.daemon.change.guards.threads import thread_shortage

#: In the order in which they are asked. Each session's CompactionGuard, which has state, comes last.
GUARDS: tuple[Guard, ...] = (bounds, order, memory_budget, memory_shortage, thread_shortage, shared)
