"""Decisions that describe what is sent without a new decision of the law."""

from adocd.daemon.change.way_back import DELAYED_WRITE_RATE
from adocd.daemon.control.steering import SteeringStep
from adocd.model.decision import Decision

REPEAT = Decision(
    (),
    "a flush or compaction that began before the last change has ended after it",
    "actuator.repeat",
    "RocksDB before 9.11 may have taken the change back without showing it (facebook/rocksdb#13294)",
)
REARM = Decision(
    (),
    "the owner has changed an option again that adocd had left to its owner",
    "actuator.rearm",
    "a restore now sets the owner's new value",
)


def unasked(step: SteeringStep, controller: str) -> Decision:
    """Return a decision that says why this step is sent without a new decision of the law."""
    sent, origins = step.plan.sent, step.origins
    for refusal in step.refusals:
        if set(refusal.instead) & sent.keys():
            return Decision((), refusal.reason, f"safety.{refusal.guard}", "a safety guard beats law and operator")
    by = {origin: [str(option) for option in sent if origins[option] == origin] for origin in origins.values()}
    if pinned := by.get("override"):
        words = ", ".join(pinned)
        return Decision((), f"pinned: {words}", "operator.override", "an operator's pin beats the law")
    if wanted := by.get("law"):
        words = ", ".join(wanted)
        return Decision((), f"not at the wanted value: {words}", f"{controller}.again", "the law still wants it")
    if sent.keys() == {DELAYED_WRITE_RATE}:
        reason = "a change made during the delay carried the rate then in force"
        signal = "RocksDB has raised the delayed rate to its ceiling" if step.is_delayed else "the write delay is over"
        return Decision((), signal, "actuator.delayed_write_rate", reason)
    words = ", ".join(str(option) for option in sent)
    return Decision((), f"no longer wanted: {words}", "actuator.put_back", "back to the originals")
