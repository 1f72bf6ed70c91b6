package net.adocd.agent.session;

import java.util.List;

/** The body of PATCH options; {@code repeat}: execute each step even if its values are already set. */
public record ChangeRequest(String holder, long epoch, List<Change> changes, List<PlanStep> plan, boolean repeat) { }
