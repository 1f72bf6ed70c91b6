"""adocd as it is without events that wake it: `python -m adocd_bench.cost.asleep serve ...`, to compare with it."""

from adocd.__main__ import main
from adocd.controllers.registry import LAWS

for law in LAWS.values():
    law.wakes = frozenset()
main()
