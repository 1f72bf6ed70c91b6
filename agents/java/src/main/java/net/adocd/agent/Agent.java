package net.adocd.agent;

import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.nio.ByteBuffer;
import java.nio.channels.SeekableByteChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import net.adocd.agent.json.JsonWriter;

/**
 * Where the JVM enters: {@code -javaagent:adocd-agent.jar[=SETTINGS]} at start, or a late attach. Nothing that is
 * thrown leaves this class, because an exception out of premain would end the JVM.
 *
 * <p>Whoever attaches late may give two more arguments: {@code do=end} ends an agent that was attached, and
 * {@code answer=FILE} is a file that exists and gets a JSON object: its {@code error} is empty when it is done.
 */
public final class Agent {
    private static final String NOT_ATTACHED = "no agent was attached to this process";

    private static final AtomicReference<Presence> CURRENT = new AtomicReference<>();

    private Agent() { }

    /** Called before main. */
    public static void premain(String settings, Instrumentation instrumentation) {
        enter(settings, instrumentation, false);
    }

    /** Called in a JVM that runs already; again for its end. */
    public static void agentmain(String settings, Instrumentation instrumentation) {
        enter(settings, instrumentation, true);
    }

    private static synchronized void enter(String written, Instrumentation instrumentation, boolean late) {
        try {
            Settings settings = new Settings(written, System::getenv);
            String answer = late ? settings.argument("answer") : "";
            try {
                String error = late && settings.argument("do").equals("end")
                    ? end() : begin(settings, instrumentation, late);
                tell(answer, error);
            } catch (RuntimeException | Error mistake) { // whatever it is, the host is to go on without the agent
                if (!tell(answer, mistake.toString())) {
                    complain("cannot start: " + mistake);
                }
            }
        } catch (Throwable mistake) { // NOPMD: there is nobody to tell
            return;
        }
    }

    /** Begins; returns why not, else "". */
    private static String begin(Settings settings, Instrumentation instrumentation, boolean late) {
        if (settings.get("ADOCD_AGENT").equals("off")) {
            return "it is switched off here (ADOCD_AGENT=off)";
        }
        Presence before = CURRENT.get();
        if (before != null && before.isLeaving()) {
            return "the agent that was here before is still leaving: try again";
        }
        if (before != null && before.isAtWork()) {
            return "an agent is in this process already";
        }
        CURRENT.set(Presence.begin(settings, instrumentation, late));
        return "";
    }

    /** Ends an agent that was attached; returns why not, else "". */
    private static String end() {
        Presence here = CURRENT.get();
        if (here == null || !(here.isAtWork() || here.isLeaving())) {
            return NOT_ATTACHED;
        }
        if (!here.isLate()) {
            return NOT_ATTACHED + ": the agent came with the program, and ends with it";
        }
        return here.end(() -> CURRENT.compareAndSet(here, null));
    }

    /** Writes the answer; false if nobody wants it. */
    private static boolean tell(String file, String error) {
        if (file.isEmpty()) {
            return false;
        }
        byte[] text = JsonWriter.write(Map.of("error", error)).getBytes(StandardCharsets.UTF_8);
        try (SeekableByteChannel out = Files.newByteChannel(
                Path.of(file), Set.of(StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS))) {
            out.write(ByteBuffer.wrap(text));
        } catch (IOException gone) {
            return true; // whoever waits for it says that it did not come
        }
        return true;
    }

    /** Writes the one line that the agent ever writes: why it does not work. */
    static void complain(String reason) {
        System.err.println("adocd agent: " + reason + ".");
    }
}
