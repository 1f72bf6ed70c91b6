package net.adocd.agent.service;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import net.adocd.agent.session.ChangeRequest;
import net.adocd.agent.session.DatabaseClosedException;
import net.adocd.agent.session.Refusal;
import net.adocd.agent.session.Session;

/** The admin protocol: answers requests about the sessions of one process (agents/admin-api.yaml). */
public final class Service {
    /** The version of the protocol. */
    public static final String PROTOCOL = "1.8";

    private static final int NUMBER_DIGITS = 18;

    private final Supplier<Map<String, Object>> info;
    private final Supplier<List<Session>> sessions;

    /** An answer: an HTTP status, and what to write as JSON. */
    public record Answer(int status, Object body) { }

    /** {@code info} is the whole answer of /v1/info; {@code sessions} lists what is open. */
    public Service(Supplier<Map<String, Object>> info, Supplier<List<Session>> sessions) {
        this.info = info;
        this.sessions = sessions;
    }

    /** Answers one request; throws Refusal. */
    public Answer answer(String method, String written, byte[] data) {
        try {
            return answerOpen(method, Target.of(written), data);
        } catch (DatabaseClosedException closed) {
            throw Refusal.databaseClosed();
        }
    }

    private Answer answerOpen(String method, Target target, byte[] data) throws DatabaseClosedException {
        List<String> parts = Arrays.asList(target.path().split("/", -1));
        parts = parts.subList(1, parts.size());
        if (parts.equals(List.of("v1", "info"))) {
            allow(method, "GET");
            return new Answer(200, info.get());
        }
        if (parts.equals(List.of("v1", "databases"))) {
            allow(method, "GET");
            return new Answer(200, Map.of("databases", list()));
        }
        if (parts.size() < 3 || parts.size() > 4 || !parts.subList(0, 2).equals(List.of("v1", "databases"))
                || parts.subList(2, parts.size()).contains("")) {
            throw new Refusal(404, "not_found",
                "There is no " + Refusal.shown(target.path()) + " here; begin with /v1/info.");
        }
        return answerDatabase(method, parts.get(2), parts.size() == 4 ? parts.get(3) : "", target.query(), data);
    }

    private List<Object> list() {
        List<Object> listed = new ArrayList<>();
        for (Session session : sessions.get()) {
            try {
                if (!session.isClosed()) {
                    listed.add(session.describe());
                }
            } catch (DatabaseClosedException closed) {
                continue;
            }
        }
        return listed;
    }

    private Answer answerDatabase(String method, String id, String what, Map<String, String> query, byte[] data)
            throws DatabaseClosedException {
        allow(method, switch (what) {
            case "", "snapshot", "wait" -> "GET";
            case "options" -> "PATCH";
            case "lease" -> "PUT, DELETE";
            default -> throw new Refusal(404, "not_found", "A database has no " + Refusal.shown(what) + ".");
        });
        Session session = find(id);
        switch (what) {
            case "" -> {
                Map<String, Object> described = session.describe();
                described.put("originals", session.originalsJson());
                return new Answer(200, described);
            }
            case "snapshot" -> {
                return new Answer(200, session.snapshot(number(query, "events_after")));
            }
            case "wait" -> throw new Refusal(422, "unsupported",
                "This agent cannot wait for events; ask for snapshots.");
            case "options" -> {
                ChangeRequest request = RequestBodies.change(data);
                return new Answer(200, session.change(request));
            }
            default -> {
                if (method.equals("PUT")) {
                    RequestBodies.LeaseRequest lease = RequestBodies.lease(data);
                    return new Answer(200, session.hold(lease.holder(), lease.ttlS(), lease.epoch()));
                }
                return new Answer(202, session.release(query.get("holder"), number(query, "epoch"),
                    flag(query, "restore", true), flag(query, "force", false)));
            }
        }
    }

    private Session find(String id) {
        for (Session session : sessions.get()) {
            if (session.id.equals(id) && !session.isClosed()) {
                return session;
            }
        }
        throw new Refusal(404, "no_such_database", "No open database has the id " + Refusal.shown(id) + ".");
    }

    private static void allow(String method, String allowed) {
        if (!Arrays.asList(allowed.split(", ")).contains(method)) {
            throw new Refusal(405, "method_not_allowed",
                Refusal.shown(method) + " is not possible here; use " + allowed + ".");
        }
    }

    /** Returns a query's whole number; null where it is missing. */
    private static Long number(Map<String, String> query, String name) {
        String text = query.get(name);
        if (text == null) {
            return null;
        }
        if (!text.matches("[0-9]{1," + NUMBER_DIGITS + "}")) {
            throw new Refusal(400, "bad_request", name + " is a whole number, 0 or greater.");
        }
        return Long.valueOf(text);
    }

    private static boolean flag(Map<String, String> query, String name, boolean otherwise) {
        String text = query.getOrDefault(name, Boolean.toString(otherwise));
        if (!text.equals("true") && !text.equals("false")) {
            throw new Refusal(400, "bad_request", name + " is true or false.");
        }
        return text.equals("true");
    }

}
