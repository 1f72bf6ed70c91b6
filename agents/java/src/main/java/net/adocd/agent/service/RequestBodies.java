package net.adocd.agent.service;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import net.adocd.agent.json.JsonException;
import net.adocd.agent.json.JsonParser;
import net.adocd.agent.session.Change;
import net.adocd.agent.session.ChangeRequest;
import net.adocd.agent.session.PlanStep;
import net.adocd.agent.session.Refusal;

/** Checks the bodies of requests member by member; the error sentence names the wrong member. */
final class RequestBodies {
    private static final int MAX_CHANGES = 1000;
    private static final int MAX_PLAN_STEPS = 5000;
    private static final int MAX_HOLDER = 200;
    private static final int MAX_THREADS = 1024;
    private static final double MIN_TTL_S = 0.5;
    private static final double MAX_TTL_S = 3600;
    /** A request of the protocol has at most five levels, and some 20 values for each change and step. */
    private static final int MAX_DEPTH = 16;
    private static final int MAX_VALUES = 200_000;

    private RequestBodies() { }

    /** The body of PUT lease; {@code epoch} is null where it names none. */
    record LeaseRequest(String holder, double ttlS, Long epoch) { }

    private static Object parse(byte[] data) {
        if (!JsonParser.isBounded(data, MAX_DEPTH, MAX_VALUES)) {
            throw new Refusal(400, "bad_request",
                "The body nests deeper, or has more values, than any request does.");
        }
        try {
            return JsonParser.parse(data);
        } catch (JsonException error) {
            throw new Refusal(400, "bad_request", "The body is not JSON: " + error.getMessage() + ".");
        }
    }

    /** Parses and checks the body of PUT .../lease. */
    static LeaseRequest lease(byte[] data) {
        Map<String, Object> body = object(parse(data), "body", List.of("holder", "ttl_s"), Set.of("epoch"));
        String holder = string(body.get("holder"), "holder");
        if (holder.isEmpty() || holder.codePointCount(0, holder.length()) > MAX_HOLDER) {
            throw fault("holder", "1 to " + MAX_HOLDER + " characters are expected");
        }
        double ttlS = body.get("ttl_s") instanceof Number number ? number.doubleValue() : Double.NaN;
        if (!(ttlS >= MIN_TTL_S && ttlS <= MAX_TTL_S)) {
            throw fault("ttl_s", "0.5 to 3600 seconds are expected");
        }
        Long epoch = body.containsKey("epoch") ? integer(body.get("epoch"), "epoch", 1, Long.MAX_VALUE) : null;
        return new LeaseRequest(holder, ttlS, epoch);
    }

    /** Parses and checks the body of PATCH .../options. */
    static ChangeRequest change(byte[] data) {
        Map<String, Object> body = object(
            parse(data), "body", List.of("holder", "epoch", "changes", "restore_plan"),
            Set.of("repeat", "lift_rate_limit"));
        List<?> changes = list(body.get("changes"), "changes", 1, MAX_CHANGES);
        List<?> plan = list(body.get("restore_plan"), "restore_plan", 0, MAX_PLAN_STEPS);
        String holder = string(body.get("holder"), "holder");
        long epoch = integer(body.get("epoch"), "epoch", Long.MIN_VALUE, Long.MAX_VALUE);
        List<Change> wanted = new ArrayList<>();
        for (Object change : changes) {
            wanted.add(change(change, "changes[" + wanted.size() + "]"));
        }
        List<PlanStep> steps = new ArrayList<>();
        for (Object step : plan) {
            steps.add(step(step, "restore_plan[" + steps.size() + "]"));
        }
        return new ChangeRequest(
            holder, epoch, wanted, steps, isTrue(body, "repeat"), isTrue(body, "lift_rate_limit"));
    }

    private static boolean isTrue(Map<String, Object> body, String name) {
        if (!(body.getOrDefault(name, false) instanceof Boolean value)) {
            throw fault(name, "true or false is expected");
        }
        return value;
    }

    private static Change change(Object value, String where) {
        Object scope = value instanceof Map<?, ?> members ? members.get("scope") : null;
        if (!(scope instanceof String named)) {
            throw noScope(where);
        }
        switch (named) {
            case "column_family" -> {
                Map<String, Object> body = object(value, where, List.of("scope", "column_family", "options"), Set.of());
                String family = string(body.get("column_family"), where + ".column_family");
                return new Change.Family(family, options(body.get("options"), where + ".options"));
            }
            case "database" -> {
                Map<String, Object> body = object(value, where, List.of("scope", "options"), Set.of());
                return new Change.Database(options(body.get("options"), where + ".options"));
            }
            case "rate_limiter" -> {
                Map<String, Object> body = object(value, where, List.of("scope", "bytes_per_s"), Set.of());
                BigInteger rate = whole(body.get("bytes_per_s"), where + ".bytes_per_s");
                if (rate.signum() <= 0) {
                    throw fault(where + ".bytes_per_s", "at least 1 is expected");
                }
                if (rate.bitLength() > 63) {
                    throw new Refusal(422, "bad_value", "bytes_per_s does not fit into 63 bits.")
                        .with("option", "bytes_per_s");
                }
                return new Change.Limiter(rate.longValue());
            }
            case "thread_pool" -> {
                Map<String, Object> body = object(value, where, List.of("scope", "pool", "threads"), Set.of());
                if (!(body.get("pool") instanceof String pool && List.of("low", "high", "bottom").contains(pool))) {
                    throw fault(where + ".pool", "one of low, high, bottom is expected");
                }
                int threads = (int) integer(body.get("threads"), where + ".threads", 1, MAX_THREADS);
                return new Change.Pool(pool, threads);
            }
            default -> throw noScope(where);
        }
    }

    private static Refusal noScope(String where) {
        return fault(where, "an object is expected with a scope of column_family, database, rate_limiter or "
            + "thread_pool");
    }

    private static Map<String, String> options(Object value, String where) {
        if (!(value instanceof Map<?, ?> members) || members.isEmpty()) {
            throw fault(where, "an object with at least one option is expected");
        }
        Map<String, String> options = new LinkedHashMap<>();
        members.forEach((name, text) -> {
            if (!(text instanceof String written)) {
                throw fault(where + "." + Refusal.shown((String) name),
                    "option values are strings, as RocksDB writes them");
            }
            options.put((String) name, written);
        });
        return options;
    }

    private static PlanStep step(Object value, String where) {
        Map<String, Object> body = object(value, where, List.of("change"), Set.of("when"));
        Change change = change(body.get("change"), where + ".change");
        if (!body.containsKey("when")) {
            return new PlanStep(change, null);
        }
        String place = where + ".when";
        Map<String, Object> when =
            object(body.get("when"), place, List.of("column_family", "property", "below"), Set.of());
        String family = string(when.get("column_family"), place + ".column_family");
        String property = string(when.get("property"), place + ".property");
        // What no property reaches is as good as the largest number that one can reach.
        long below = integer(when.get("below"), place + ".below", 1, Long.MAX_VALUE);
        return new PlanStep(change, new PlanStep.Condition(family, property, below));
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> object(Object value, String where, List<String> required, Set<String> optional) {
        if (!(value instanceof Map<?, ?> members)) {
            throw fault(where, "an object is expected");
        }
        for (String name : required) {
            if (!members.containsKey(name)) {
                throw fault(where, "the member " + name + " is missing");
            }
        }
        for (Object name : members.keySet()) {
            if (!required.contains(name) && !optional.contains(name)) {
                throw fault(where, "the member " + Refusal.shown((String) name) + " is not known");
            }
        }
        return (Map<String, Object>) members;
    }

    private static List<?> list(Object value, String where, int atLeast, int atMost) {
        if (!(value instanceof List<?> items) || items.size() < atLeast || items.size() > atMost) {
            throw fault(where, "a list of " + atLeast + " to " + atMost + " is expected");
        }
        return items;
    }

    private static String string(Object value, String where) {
        if (!(value instanceof String text)) {
            throw fault(where, "a string is expected");
        }
        return text;
    }

    private static long integer(Object value, String where, long minimum, long maximum) {
        BigInteger number = whole(value, where);
        if (number.compareTo(BigInteger.valueOf(minimum)) < 0 || number.compareTo(BigInteger.valueOf(maximum)) > 0) {
            if (minimum == Long.MIN_VALUE || (maximum == Long.MAX_VALUE && number.signum() > 0)) {
                return number.signum() > 0 ? Long.MAX_VALUE : Long.MIN_VALUE; // an epoch that never was
            }
            throw fault(where, "at least " + minimum + " is expected"
                + (maximum == Long.MAX_VALUE ? "" : ", at most " + maximum));
        }
        return number.longValue();
    }

    /** 1.0 is an integer in JSON Schema. */
    private static BigInteger whole(Object value, String where) {
        if (value instanceof Long number) {
            return BigInteger.valueOf(number);
        }
        if (value instanceof BigInteger number) {
            return number;
        }
        if (value instanceof Double number && number == Math.rint(number) && !number.isInfinite()) {
            return new java.math.BigDecimal(number).toBigInteger();
        }
        throw fault(where, "a whole number is expected");
    }

    private static Refusal fault(String where, String what) {
        return new Refusal(422, "bad_request", where + ": " + what + ".");
    }
}
