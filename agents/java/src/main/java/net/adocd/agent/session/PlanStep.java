package net.adocd.agent.session;

/**
 * A change that restores values, and the condition that it waits for.
 *
 * @param when null if the step waits for nothing
 */
public record PlanStep(Change change, Condition when) {
    /** What a restore step waits for: an integer property of a column family is below a value. */
    public record Condition(String columnFamily, String property, long below) { }
}
