"""What is sent though the law has not just asked for it, put into words as decisions."""

from adocd.daemon.change import planner
from adocd.daemon.control.steering import Step
from adocd.model.decision import Decision

REPEAT = Decision(
    (),
    "a flush or compaction that began before the last change has ended after it",
    "actuator.repeat",
    "RocksDB before 9.11 may have taken the change back without showing it (facebook/rocksdb#13294)",
)
REARM = Decision(
    (),
    "somebody has changed an option again that adocd had left to him",
    "actuator.rearm",
    "the way back leads to the value its owner wants now",
)


def unasked(step: Step, controller: str) -> Decision:
    """Put into words why something is sent that the law has not just asked for."""
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
        return Decision((), f"not there yet, or not any more: {words}", f"{controller}.again", "the law still wants it")
    if sent.keys() == {planner.DELAYED_WRITE_RATE}:
        reason = "a change made during the delay carried the rate then in force"
        signal = "RocksDB lets delayed writes go as fast as it may" if step.is_delayed else "the write delay is over"
        return Decision((), signal, "actuator.delayed_write_rate", reason)
    words = ", ".join(str(option) for option in sent)
    return Decision((), f"nobody wants it otherwise any more: {words}", "actuator.put_back", "back to the originals")
