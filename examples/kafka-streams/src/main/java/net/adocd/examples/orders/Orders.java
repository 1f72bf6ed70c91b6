package net.adocd.examples.orders;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import sun.misc.Signal;

/** A Kafka Streams application whose RocksDB stores stall; README.md says how to run it. */
public final class Orders {
    // Closing it would give the lock up.
    private static FileChannel held;

    private Orders() { }

    public static void main(String[] arguments) {
        int status = 1;
        try {
            Options options = Options.parse(arguments);
            hold(options);
            status = run(options);
        } catch (Options.BadOptionException error) {
            System.err.println(error.getMessage());
            status = 2;
        } catch (IOException error) {
            System.err.println(error.getMessage());
        } catch (InterruptedException error) {
            System.err.println("interrupted");
        }
        System.exit(status);
    }

    /** Takes the directory for as long as this process runs; the file says how many stores it has. */
    private static void hold(Options options) throws Options.BadOptionException {
        Path directory = options.directory();
        Path file = directory.resolve("stores");
        try {
            Files.createDirectories(directory);
            try (var entries = Files.list(directory)) {
                if (!Files.exists(file) && entries.findAny().isPresent()) {
                    throw new Options.BadOptionException(directory + " is not empty, and no directory of this program; "
                            + "give another --directory");
                }
            }
            FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
            if (channel.tryLock() == null) {
                throw new Options.BadOptionException(directory + " is in use by another process; give another "
                        + "--directory");
            }
            String was = Files.readString(file).strip();
            if (!was.isEmpty() && !was.equals(Integer.toString(options.stores()))) {
                throw new Options.BadOptionException(directory + " has --stores " + was + ", not " + options.stores()
                        + "; give another --directory, or remove this one");
            }
            channel.write(ByteBuffer.wrap((options.stores() + "\n").getBytes(StandardCharsets.US_ASCII)));
            held = channel;
        } catch (IOException error) {
            throw new Options.BadOptionException(directory + " cannot be used as --directory: " + error);
        }
    }

    private static int run(Options options) throws IOException, InterruptedException {
        CountDownLatch stop = new CountDownLatch(1);
        // A shutdown hook, as most programs have, would end with status 130.
        Signal.handle(new Signal("INT"), signal -> stop.countDown());
        Signal.handle(new Signal("TERM"), signal -> stop.countDown());
        Meter meter = new Meter();
        try (Broker broker = new Broker(options)) {
            KafkaStreams streams = Application.create(options, broker.address(), meter);
            streams.setUncaughtExceptionHandler(error -> {
                System.err.println("the application failed: " + error);
                return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
            });
            streams.start();
            boolean failed = false;
            boolean over = false;
            while (!failed && !over) {
                over = stop.await(50, TimeUnit.MILLISECONDS)
                        || (options.seconds() > 0 && meter.elapsedS() >= options.seconds());
                meter.look();
                if (streams.state() == KafkaStreams.State.RUNNING) {
                    broker.consumed(meter.records());
                }
                String line = meter.line();
                if (line != null) {
                    System.out.println(line);
                }
                failed = streams.state().hasCompletedShutdown() || !broker.isAlive();
            }
            if (!broker.isAlive()) {
                System.err.println("the Kafka broker has ended");
            }
            System.out.println(meter.total());
            streams.close(Duration.ofMinutes(1));
            return failed ? 1 : 0;
        }
    }
}
