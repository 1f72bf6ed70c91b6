package net.adocd.agent.session;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.BiConsumer;

/**
 * The lease of one session and its restore plan, as agents/admin-api.yaml defines them, without clock, lock or I/O.
 *
 * <p>Each call passes the time in seconds. While somebody holds the lease, no step is due. However a lease ends, the
 * rest of its armed plan is then executed, unless a release says that the changed values stay. {@code due} returns one
 * step at a time, and the caller reports it by {@code done}.
 */
public final class LeaseMachine {
    /** Reads an integer property of a column family; null where it cannot be read. */
    @FunctionalInterface
    public interface Properties {
        /** Reads one. */
        Long read(String columnFamily, String name) throws DatabaseClosedException;
    }

    /** The contract's Lease. */
    public record Lease(String holder, long epoch, double ttlS, double expiresInS) {
        /** Writes it as the contract does. */
        public Map<String, Object> asJson() {
            Map<String, Object> written = new LinkedHashMap<>();
            written.put("holder", holder);
            written.put("epoch", epoch);
            written.put("ttl_s", ttlS);
            written.put("expires_in_s", expiresInS);
            return written;
        }
    }

    private final BiConsumer<String, String> tell;
    private String holder;
    private long epoch;
    private double ttlS;
    private double expiresS;
    private final Deque<PlanStep> steps = new ArrayDeque<>();
    private String state = "none";
    private String waitingFor;
    private List<String> errors = new ArrayList<>();
    private Long revokedEpoch;

    /** Makes one that nobody holds; {@code tell} is called for each event with its kind and detail. */
    public LeaseMachine(BiConsumer<String, String> tell) {
        this.tell = tell;
    }

    /** Ends an expired lease; true if it expired just now. Every call that takes the time does this first. */
    public boolean look(double nowS) {
        if (holder == null || leftS(nowS) > 0) {
            return false;
        }
        tell.accept("lease_expired", holder);
        end();
        return true;
    }

    /** Returns the seconds until the lease expires; infinite if nobody holds it. */
    public double leftS(double nowS) {
        return holder == null ? Double.POSITIVE_INFINITY : expiresS - nowS;
    }

    /**
     * Acquires or renews. An epoch that is not the current one always means "lost", so that a former holder learns
     * what happened even when somebody else holds the lease by now.
     */
    public Lease hold(String by, double forS, Long named, double nowS) {
        look(nowS);
        if (named != null && (holder == null || named != epoch)) {
            throw lost(named);
        }
        if (holder != null && !holder.equals(by)) {
            throw held();
        }
        if (holder == null) {
            holder = by;
            epoch++;
            if (!steps.isEmpty()) { // a restore was running: its remaining steps now belong to the new lease
                state = "armed";
                waitingFor = null;
            }
            tell.accept("lease_acquired", by);
        }
        ttlS = forS;
        expiresS = nowS + forS;
        return new Lease(by, epoch, forS, forS);
    }

    /** Refuses if this is not the current lease. */
    public void require(String by, long named, double nowS) {
        look(nowS);
        if (holder == null) {
            if (named >= 1 && named <= epoch) {
                throw lost(named);
            }
            throw new Refusal(409, "lease_required", "Nobody holds the lease; acquire it with PUT .../lease.");
        }
        if (named != epoch && (holder.equals(by) || named < epoch)) {
            throw lost(named);
        }
        if (!holder.equals(by)) {
            throw held();
        }
    }

    /** Replaces the restore plan; refuses if this is not the current lease, whose end may start the plan. */
    public void arm(String by, long named, Collection<PlanStep> plan, double nowS) {
        require(by, named, nowS);
        steps.clear();
        steps.addAll(plan);
        state = plan.isEmpty() ? "none" : "armed";
        waitingFor = null;
        errors = new ArrayList<>();
    }

    /**
     * Releases, or revokes with {@code force}; false if there was nothing to end. Without {@code restore} the plan is
     * dropped, and the changed values stay.
     */
    public boolean release(String by, Long named, boolean restore, boolean force, double nowS) {
        look(nowS);
        if (holder != null) {
            if (!force) {
                requireForRelease(by, named);
            }
            tell.accept(force ? "lease_revoked" : "lease_released", holder);
        } else if (!force) {
            return false;
        }
        if (force) {
            revokedEpoch = epoch == 0 ? null : epoch;
        }
        if (!restore) {
            steps.clear();
            state = "none";
            waitingFor = null;
        }
        end();
        return true;
    }

    /** Notes that nobody holds the lease any more, and starts the rest of the plan. */
    public void end() {
        holder = null;
        if (!steps.isEmpty() && !isRestoring()) {
            state = "running";
            errors = new ArrayList<>();
            tell.accept("restore_begin", steps.size() + " steps");
        }
    }

    /** Returns the lease; null when nobody holds it. */
    public Lease lease(double nowS) {
        look(nowS);
        return holder == null ? null : new Lease(holder, epoch, ttlS, leftS(nowS));
    }

    /** Returns the epoch of the newest lease at the last revocation, even if it had expired before; null if none. */
    public Long revokedEpoch() {
        return revokedEpoch;
    }

    /** Tells whether there is a plan that is not executed yet, because of a lease or of a condition. */
    public boolean hasPlan() {
        return !steps.isEmpty();
    }

    /** Tells whether a restore is running, even if it waits for a condition. */
    public boolean isRestoring() {
        return state.equals("running") || state.equals("waiting");
    }

    /**
     * Returns the step to execute now; null if there is none, or its condition does not hold yet. A property that
     * cannot be read is one of a column family dropped since the plan was accepted, so the step does not wait.
     */
    public PlanStep due(Properties properties) throws DatabaseClosedException {
        if (!isRestoring()) {
            return null;
        }
        PlanStep step = steps.getFirst();
        PlanStep.Condition when = step.when();
        if (when != null) {
            Long value = properties.read(when.columnFamily(), when.property());
            if (value != null && value >= when.below()) {
                state = "waiting";
                waitingFor = when.property() + " of " + when.columnFamily() + " below " + when.below()
                    + " (it is " + value + ")";
                return null;
            }
        }
        state = "running";
        waitingFor = null;
        return step;
    }

    /** Tells whether this step from {@code due} is still the one to execute: there may be a new lease or plan. */
    public boolean isDue(PlanStep step) {
        return state.equals("running") && steps.peekFirst() == step;
    }

    /** Notes that this step from {@code due} has to wait, and for what. */
    public void waits(PlanStep step, String missing) {
        if (isDue(step)) {
            state = "waiting";
            waitingFor = missing;
        }
    }

    /** Notes that a step was executed, with its error or null. */
    public void done(PlanStep step, String error) {
        String words = step.change().describe();
        tell.accept("restore_step", error == null ? words : words + " (error: " + error + ")");
        if (steps.peekFirst() != step) { // the plan was dropped or replaced meanwhile
            return;
        }
        if (error != null) {
            errors.add(words + ": " + error);
        }
        steps.removeFirst(); // last: the lines above can lack memory, and the step is then booked once more
        if (!steps.isEmpty()) {
            return;
        }
        if (state.equals("armed")) { // a new lease came during the last step: nothing is left for it
            state = "none";
            return;
        }
        state = "done";
        tell.accept("restore_end", errors.size() + " errors");
    }

    /** Returns the progress as the contract's Restore. */
    public Map<String, Object> restore() {
        Map<String, Object> written = new LinkedHashMap<>();
        written.put("state", state);
        written.put("steps_left", steps.size());
        written.put("waiting_for", waitingFor);
        written.put("errors", List.copyOf(errors));
        return written;
    }

    private void requireForRelease(String by, Long named) {
        if (by == null) {
            throw new Refusal(400, "bad_request", "Name the holder and the epoch, or use force=true.");
        }
        if (!by.equals(holder)) {
            throw held();
        }
        if (named != null && !Objects.equals(named, epoch)) {
            throw lost(named);
        }
    }

    private Refusal held() {
        return new Refusal(409, "lease_held",
            holder + " holds the lease; wait until it ends, or revoke it with force=true.").with("holder", holder);
    }

    private static Refusal lost(long named) {
        return new Refusal(409, "lease_lost", "Epoch " + named + " is not the current lease; acquire a new one.");
    }
}
