"""One cycle of one target: sense, decide, guard, plan, act, remember."""
