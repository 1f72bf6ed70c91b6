package net.adocd.agent.session;

import java.util.function.DoubleSupplier;

/**
 * Gives a rate limit that a lease has lowered back to its owner for as long as a call of ours waits. A stop of writes
 * holds up such a call, and what ends the stop has to pass the limit (agents/native/src/limiter_lift.h).
 */
final class RateLimitLift {
    /** A call that takes this long waits (s). */
    private static final double PATIENCE_S = 0.5;

    private final Database database;
    private final DoubleSupplier clock;
    /** When the call began that may wait; null without one. */
    private Double callSinceS;
    /** What leases have set; null before they have, or after a restore. */
    private Long setBytesPerS;
    /** What was there before. */
    private Long ownersBytesPerS;
    private boolean lifted;
    private boolean closed;

    RateLimitLift(Database database, DoubleSupplier clock) {
        this.database = database;
        this.clock = clock;
    }

    /** Notes that a change sets the limit, which was {@code foundBytesPerS}: its owner may have set that meanwhile. */
    synchronized void noteSet(long bytesPerS, Long foundBytesPerS) {
        if (foundBytesPerS != null && !foundBytesPerS.equals(setBytesPerS)) {
            ownersBytesPerS = foundBytesPerS;
        }
        setBytesPerS = bytesPerS;
    }

    /** The limit is its owner's, whatever it is. */
    synchronized void forget() {
        setBytesPerS = null;
    }

    /** A call begins that may wait. */
    synchronized void callBegins() {
        callSinceS = clock.getAsDouble();
    }

    /** It has returned: the limit is as the lease has set it again, unless somebody has moved it. */
    synchronized void callEnds() {
        callSinceS = null;
        if (lifted) {
            lifted = false;
            if (!closed) {
                database.turnLimiter(ownersBytesPerS, setBytesPerS);
            }
        }
    }

    /** Lifts the limit if a call waits; returns for how long that has waited (s), null if there was nothing to lift. */
    synchronized Double look() {
        if (callSinceS == null || lifted || closed || setBytesPerS == null || ownersBytesPerS == null) {
            return null;
        }
        double waitedS = clock.getAsDouble() - callSinceS;
        if (waitedS < PATIENCE_S || setBytesPerS >= ownersBytesPerS) {
            return null;
        }
        lifted = database.turnLimiter(setBytesPerS, ownersBytesPerS);
        return lifted ? waitedS : null;
    }

    /** The database closes: a limit that is lifted stays so. */
    synchronized void close() {
        closed = true;
    }
}
