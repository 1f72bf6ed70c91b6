package net.adocd.agent.session;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.DoubleSupplier;

/** Numbered events of one session, read by a cursor; for any thread. */
public final class EventRing {
    /** Most events kept; lost_events counts the dropped ones. */
    public static final int RING_EVENTS = 1024;

    private final DoubleSupplier clock;
    private final Deque<Map<String, Object>> events = new ArrayDeque<>();
    private long last;

    /** Makes an empty ring; {@code clock} returns seconds of CLOCK_MONOTONIC. */
    public EventRing(DoubleSupplier clock) {
        this.clock = clock;
    }

    /** Appends an event. */
    public void emit(String kind, String detail) {
        emit(kind, "detail", detail);
    }

    /** Appends an event with one member of its own. */
    synchronized void emit(String kind, String member, Object value) {
        last++;
        if (events.size() == RING_EVENTS) {
            events.removeFirst();
        }
        events.addLast(Map.of(
            "sequence", last, "monotonic_s", clock.getAsDouble(), "kind", kind, member, value));
    }

    /** Returns the events after a cursor, the newest one's number, and how many were dropped; null: no events. */
    public synchronized Map<String, Object> since(Long after) {
        List<Map<String, Object>> found = new ArrayList<>();
        if (after != null) {
            for (Map<String, Object> event : events) {
                if ((Long) event.get("sequence") > after) {
                    found.add(event);
                }
            }
        }
        Map<String, Object> told = new LinkedHashMap<>();
        told.put("events", found);
        told.put("last_event", last);
        told.put("lost_events", after == null ? 0L : Math.max(0, last - after) - found.size());
        return told;
    }
}
