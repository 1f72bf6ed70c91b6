"""Changes of level 0's triggers, in a database that has 4, 20 and 36, and which of them every agent must not make."""

from __future__ import annotations

TRIGGER, SLOWDOWN = "level0_file_num_compaction_trigger", "level0_slowdown_writes_trigger"
STOP = "level0_stop_writes_trigger"

#: The changes of one PATCH, and the outcomes of those that were tried.
LEVEL0_ORDERS: list[tuple[list[dict[str, str]], list[str]]] = [
    ([{TRIGGER: "21"}], ["error"]),
    ([{SLOWDOWN: "3"}], ["error"]),
    ([{STOP: "3"}], ["error"]),
    ([{STOP: "4"}], ["applied"]),
    ([{TRIGGER: "40", SLOWDOWN: "40"}], ["error"]),
    ([{TRIGGER: "30", SLOWDOWN: "29"}], ["error"]),
    ([{TRIGGER: "3"}, {SLOWDOWN: "3"}, {TRIGGER: "4"}], ["applied", "applied", "error"]),
    ([{TRIGGER: "30", SLOWDOWN: "30"}, {TRIGGER: "20"}], ["applied", "applied"]),
]
