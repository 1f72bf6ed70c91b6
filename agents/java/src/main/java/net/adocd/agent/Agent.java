package net.adocd.agent;

import java.lang.instrument.Instrumentation;
import net.adocd.agent.hook.Hooks;

/**
 * Where the JVM enters: {@code -javaagent:adocd-agent.jar[=SETTINGS]} at start, or a late attach. Nothing that is
 * thrown leaves this class, because an exception out of premain would end the JVM.
 */
public final class Agent {
    private static volatile ProcessAgent current;

    private Agent() { }

    /** Called before main. */
    public static void premain(String settings, Instrumentation instrumentation) {
        begin(settings, instrumentation, false);
    }

    /** Called in a JVM that runs already. */
    public static void agentmain(String settings, Instrumentation instrumentation) {
        begin(settings, instrumentation, true);
    }

    private static synchronized void begin(String written, Instrumentation instrumentation, boolean late) {
        try {
            Settings settings = new Settings(written, System::getenv);
            if (settings.get("ADOCD_AGENT").equals("off") || (current != null && !current.isStopped())) {
                return;
            }
            ProcessAgent agent = new ProcessAgent(settings);
            Hooks hooks = new Hooks(instrumentation, agent.registry());
            agent.start();
            current = agent;
            if (late) {
                new LateSearch(hooks, agent.registry()).start();
            }
        } catch (Throwable mistake) { // NOPMD: whatever it is, the host is to go on without the agent
            complain("cannot start: " + mistake);
        }
    }

    /** Writes the one line that the agent ever writes: why it does not work. */
    static void complain(String reason) {
        System.err.println("adocd agent: " + reason + ".");
    }
}
