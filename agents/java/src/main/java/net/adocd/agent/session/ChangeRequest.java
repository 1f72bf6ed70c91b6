package net.adocd.agent.session;

import java.util.List;

/**
 * The body of PATCH options.
 *
 * @param repeat whether to execute each step even if its values are already set
 * @param liftRateLimit whether a rate limit that a lease has lowered is its owner's while a call waits
 */
public record ChangeRequest(
    String holder, long epoch, List<Change> changes, List<PlanStep> plan, boolean repeat, boolean liftRateLimit) { }
