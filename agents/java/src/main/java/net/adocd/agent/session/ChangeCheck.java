package net.adocd.agent.session;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** Checks before anything is executed: options exist, can be changed live, parse, and are in the restore plan. */
final class ChangeCheck {
    private final OptionState state;
    private final Capabilities capabilities;
    private final Catalogue catalogue;

    ChangeCheck(OptionState state, Capabilities capabilities, Catalogue catalogue) {
        this.state = state;
        this.capabilities = capabilities;
        this.catalogue = catalogue;
    }

    /** Refuses a change that RocksDB would refuse, or would read as something else. */
    void change(Change change) {
        if (change instanceof Change.Limiter) {
            if (state.limiterBytesPerS == null) {
                throw new Refusal(422, "no_rate_limiter", "The database has no rate limiter that this agent reaches.");
            }
        } else if (change instanceof Change.Pool pool) {
            if (!capabilities.threadPools().contains(pool.pool())) {
                throw unsupported("the thread pool " + pool.pool() + " of this database");
            }
        } else if (change instanceof Change.Database database) {
            database.options().forEach((option, value) ->
                option("database", option, value, catalogue.database(), capabilities.databaseOptions()));
        } else if (change instanceof Change.Family family) {
            family(family.columnFamily());
            family.options().forEach((option, value) ->
                option("column_family", option, value, catalogue.columnFamily(), capabilities.columnFamilyOptions()));
        }
    }

    private void family(String name) {
        if (!state.columnFamilies.containsKey(name)) {
            throw new Refusal(422, "no_such_column_family",
                "There is no column family " + Refusal.shown(name) + " here; names are case-sensitive.");
        }
    }

    private void option(
            String scope, String option, String value, Map<String, OptionKind> kinds, Collection<String> live) {
        if (catalogue.notLive().get(scope).contains(option)) {
            throw fault("not_live", option, option + " cannot be changed while RocksDB runs.");
        }
        String reason = catalogue.unchecked().get(option);
        if (reason != null) {
            throw fault("unsupported", option, "This agent does not change " + option + ": " + reason + ".");
        }
        OptionKind kind = kinds.get(option);
        if (kind == null) {
            throw fault("no_such_option", option,
                Refusal.shown(option) + " is no option here; the database's capabilities list them.");
        }
        if (!live.contains(option)) {
            throw fault("unsupported", option, "This agent cannot change " + option + " here.");
        }
        if (!kind.accepts(value)) {
            throw fault("bad_value", option,
                option + ": " + Refusal.shown(value) + " is not what RocksDB would write; send exactly that.");
        }
    }

    /** Refuses a plan that leaves out an option of the change, or one that this session has changed. */
    static void plan(List<PlanStep> plan, List<Change> changes, Set<OptionName> mustName) {
        TreeSet<OptionName> missing = new TreeSet<>(mustName);
        changes.forEach(change -> missing.addAll(change.wanted().keySet()));
        plan.forEach(step -> missing.removeAll(step.change().wanted().keySet()));
        if (!missing.isEmpty()) {
            OptionName first = missing.first();
            String place = (first.scope() + " " + first.where()).strip();
            throw fault("plan_incomplete", first.option(), "The restore plan does not name " + first.option() + " ("
                + place + "); add the step that puts it back.");
        }
    }

    /**
     * Refuses a plan step that waits for an unreadable property, because nobody could correct it later.
     *
     * <p>{@code readable} has the properties of each column family in a snapshot; a column family that is not in it yet
     * is not checked.
     */
    void condition(PlanStep step, Map<String, Set<String>> readable) {
        PlanStep.Condition when = step.when();
        if (when == null) {
            return;
        }
        family(when.columnFamily());
        Set<String> names = readable.get(when.columnFamily());
        if (names != null && !names.contains(when.property())) {
            throw new Refusal(422, "bad_value", Refusal.shown(when.property())
                + " is no property that a snapshot has of that column family.");
        }
    }

    private static Refusal unsupported(String what) {
        return new Refusal(422, "unsupported", "This agent cannot change " + what + ".");
    }

    private static Refusal fault(String code, String option, String detail) {
        return new Refusal(422, code, detail).with("option", option);
    }
}
