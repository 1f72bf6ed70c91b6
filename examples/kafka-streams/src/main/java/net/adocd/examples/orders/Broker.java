package net.adocd.examples.orders;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The process with the Kafka broker and the producer of orders, as the application sees it. */
final class Broker implements AutoCloseable {
    private final Process process;
    private final PrintStream consumed;
    private final String address;

    /** Starts it and waits until it serves; it ends with this process. */
    Broker(Options options) throws IOException {
        // Ctrl-C reaches every process of a terminal; this one serves the application to its end.
        List<String> command = List.of("sh", "-c", "trap '' INT TERM HUP; exec \"$@\"", "broker",
                Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx256m",
                // To be there soon, and leave the processors to the application.
                "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                // It warns of its first start, and of each end.
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
                "-cp", System.getProperty("java.class.path"), BrokerMain.class.getName(),
                options.directory().resolve("kafka").toString(), Integer.toString(options.partitions()),
                Long.toString(options.recordsPerS()), Integer.toString(options.valueBytes()));
        process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        consumed = new PrintStream(process.getOutputStream(), true, StandardCharsets.US_ASCII);
        // Closed with the process.
        address = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.US_ASCII))
                .readLine();
        if (address == null) {
            throw new IOException("the Kafka broker did not start");
        }
    }

    String address() {
        return address;
    }

    boolean isAlive() {
        return process.isAlive();
    }

    /** Tells the producer how many orders have been consumed, so that it is not far ahead; the first starts it. */
    void consumed(long records) {
        consumed.println(records);
    }

    @Override
    public void close() {
        consumed.close();
        try {
            if (!process.waitFor(60, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (InterruptedException error) {
            process.destroyForcibly();
        }
    }
}
