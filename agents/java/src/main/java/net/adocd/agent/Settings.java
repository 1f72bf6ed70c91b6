package net.adocd.agent;

import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;

/**
 * The agent's settings: its arguments ({@code -javaagent:adocd-agent.jar=run_dir=/run/adocd,allow_uids=7+8}) before the
 * environment that the other agents read. The argument {@code run_dir} is ADOCD_RUN_DIR, {@code agent} ADOCD_AGENT.
 */
public final class Settings {
    private final Map<String, String> arguments = new HashMap<>();
    private final Function<String, String> environment;

    /** Reads {@code NAME=VALUE} pairs with commas between them; a plus sign in {@code allow_uids} is a comma. */
    public Settings(String written, Function<String, String> environment) {
        this.environment = environment;
        for (String pair : written == null ? new String[0] : written.split(",")) {
            int equals = pair.indexOf('=');
            if (equals > 0) {
                String name = pair.substring(0, equals).strip().toUpperCase(Locale.ROOT);
                String value = pair.substring(equals + 1).strip();
                arguments.put("ADOCD_" + name, name.equals("ALLOW_UIDS") ? value.replace('+', ',') : value);
            }
        }
    }

    /** Returns an argument that no variable can replace; "" where there is none. */
    String argument(String name) {
        return arguments.getOrDefault("ADOCD_" + name.toUpperCase(Locale.ROOT), "");
    }

    /** Returns the setting of this environment variable's name; "" where there is none. */
    public String get(String name) {
        String argument = arguments.get(name);
        if (argument != null) {
            return argument;
        }
        String value = environment.apply(name);
        return value == null ? "" : value;
    }
}
