"""Converts a LOG's local time to unix seconds.

RocksDB stamps its lines with the local time of the machine that wrote them, without the time zone (port/port_posix.h,
LocalTimeR). An EVENT_LOG_v1 line has both that stamp and `time_micros`, which is unix time: the difference is the
zone's offset, even if summer time begins or ends within the file.
"""

import re
from datetime import UTC, datetime, tzinfo

from adocd.probes.log.lines import STAMP

#: All time zone offsets are whole quarters of an hour (s).
_QUARTER_S = 900
#: A line is stamped moments after its JSON was made, or later if the machine hangs for a while (s).
_APART_MOST_S = 120
_OFFSET_MOST_S = 15 * 3600
_STAMPED_EVENT = re.compile(
    rb"^(?:"
    + STAMP
    + rb" \S{1,24} \(Original Log Time )?("
    + STAMP
    + rb")(?:\)| \S{1,24}) EVENT_LOG_v1 \{\"time_micros\": (\d{1,18}),",
    re.M,
)


def zone_here() -> tzinfo:
    """Return this machine's current UTC offset, used for a LOG written here until the LOG shows its own."""
    return datetime.now().astimezone().tzinfo or UTC


def offset_in(beginning: bytes) -> int | None:
    """Return the offset by the first EVENT_LOG_v1 line in these bytes; None if there is none."""
    clock = LocalClock()
    for m in _STAMPED_EVENT.finditer(beginning):
        clock.learn(m[1], int(m[2]) / 1e6)
        if clock.offset_s is not None:
            break
    return clock.offset_s


class LocalClock:
    """Turns `2026/11/20-20:04:10.122835` into unix seconds: by the offset last seen, or by `zone` before that."""

    def __init__(self, zone: tzinfo = UTC, offset_s: int | None = None) -> None:
        self._zone = zone
        self.offset_s = offset_s
        #: The minute last converted: lines come in clusters.
        self._minute = b""
        self._minute_s: float | None = None
        #: The minute in which the offset was last checked: once a minute is enough.
        self._compared = b""

    def unix_s(self, stamp: bytes) -> float | None:
        """Convert the stamp to unix seconds; None if there is no such time."""
        minute = stamp[:16]
        if minute != self._minute:
            self._minute = minute
            self._minute_s = self._convert(minute)
        if self._minute_s is None:
            return None
        # float() on these nine characters keeps the microseconds: 2^53 microseconds are 285 years.
        return round(self._minute_s + float(stamp[17:26]), 6)

    def learn(self, stamp: bytes, unix_s: float) -> None:
        """Compute the offset from a line's stamp and the unix time in the line."""
        if stamp[:16] == self._compared:
            return
        local_s = _as_utc_s(stamp[:16])
        if local_s is None:
            return
        apart_s = local_s + float(stamp[17:26]) - unix_s
        offset_s = round(apart_s / _QUARTER_S) * _QUARTER_S
        if abs(offset_s) > _OFFSET_MOST_S or abs(apart_s - offset_s) > _APART_MOST_S:
            return  # a damaged line
        self._compared = stamp[:16]
        self.tell(offset_s)

    def tell(self, offset_s: int) -> None:
        """Set the UTC offset, in seconds east of Greenwich."""
        if offset_s != self.offset_s:
            self.offset_s = offset_s
            self._minute = b""

    def _convert(self, minute: bytes) -> float | None:
        local_s = _as_utc_s(minute)
        if local_s is None:
            return None
        if self.offset_s is not None:
            return local_s - self.offset_s
        try:
            return datetime.fromtimestamp(local_s, UTC).replace(tzinfo=self._zone).timestamp()
        except (ValueError, OverflowError):
            return None


def _as_utc_s(minute: bytes) -> float | None:
    try:
        when = datetime(
            int(minute[0:4]), int(minute[5:7]), int(minute[8:10]), int(minute[11:13]), int(minute[14:16]), tzinfo=UTC
        )
    except (ValueError, OverflowError):
        return None
    return when.timestamp()
