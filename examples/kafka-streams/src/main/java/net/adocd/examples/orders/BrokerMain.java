package net.adocd.examples.orders;

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.Writer;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import kafka.tools.StorageTool;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.utils.Time;

/**
 * A process of its own with a Kafka broker and the producer of orders, so that the application's process has nothing
 * but the application. Prints the broker's address; produces from the first line of stdin on, each of which says how
 * many orders have been consumed; and ends with its stdin.
 */
public final class BrokerMain {
    private static final long RETAINED_BYTES = 512L << 20;

    private BrokerMain() { }

    public static void main(String[] arguments) throws Exception {
        Path directory = Path.of(arguments[0]);
        int partitions = Integer.parseInt(arguments[1]);
        Properties settings = settings(directory);
        format(directory, settings);
        KafkaRaftServer server = new KafkaRaftServer(KafkaConfig.fromProps(settings, false), Time.SYSTEM);
        server.startup();
        String address = settings.getProperty("advertised.listeners").replace("PLAINTEXT://", "");
        createTopic(address, partitions);
        System.out.println(address);
        OrderProducer producer =
                new OrderProducer(address, Long.parseLong(arguments[2]), Integer.parseInt(arguments[3]));
        Thread thread = new Thread(producer, "orders-producer");
        BufferedReader stdin = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = stdin.readLine(); line != null; line = stdin.readLine()) {
            producer.consumed(Long.parseLong(line));
            if (thread.getState() == Thread.State.NEW) {
                thread.start();
            }
        }
        producer.stop();
        thread.join();
        server.shutdown();
        System.exit(0);
    }

    private static Properties settings(Path directory) throws IOException {
        Properties settings = new Properties();
        try (InputStream stream = BrokerMain.class.getResourceAsStream("/server.properties")) {
            settings.load(stream);
        }
        // Both are open at once, so that they are two.
        try (ServerSocket broker = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                ServerSocket controller = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            String brokerAddress = "127.0.0.1:" + broker.getLocalPort();
            String controllerAddress = "127.0.0.1:" + controller.getLocalPort();
            settings.put("listeners", "PLAINTEXT://" + brokerAddress + ",CONTROLLER://" + controllerAddress);
            settings.put("advertised.listeners", "PLAINTEXT://" + brokerAddress);
            settings.put("controller.quorum.voters", "1@" + controllerAddress);
        }
        settings.put("log.dirs", directory.toString());
        return settings;
    }

    /** Formats the directory once, as `kafka-storage.sh format` does. */
    private static void format(Path directory, Properties settings) throws IOException {
        if (Files.exists(directory.resolve("meta.properties"))) {
            return;
        }
        Files.createDirectories(directory);
        Path file = directory.resolveSibling("server.properties");
        try (Writer writer = Files.newBufferedWriter(file)) {
            settings.store(writer, null);
        }
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        String[] command = {"format", "--config", file.toString(), "--cluster-id", Uuid.randomUuid().toString()};
        if (StorageTool.execute(command, new PrintStream(said, true, StandardCharsets.UTF_8)) != 0) {
            throw new IOException(said.toString(StandardCharsets.UTF_8).strip());
        }
    }

    private static void createTopic(String address, int partitions) throws ExecutionException, InterruptedException {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", address))) {
            if (!admin.listTopics().names().get().contains(Application.TOPIC)) {
                // More than the producer may be ahead, whichever partition it prefers for a while.
                long bytes = Math.max(RETAINED_BYTES / partitions, 1 << 24);
                Map<String, String> limits = Map.of(
                        TopicConfig.RETENTION_BYTES_CONFIG, Long.toString(bytes),
                        TopicConfig.SEGMENT_BYTES_CONFIG, Long.toString(bytes / 8));
                NewTopic topic = new NewTopic(Application.TOPIC, partitions, (short) 1).configs(limits);
                admin.createTopics(Set.of(topic)).all().get();
            }
        }
    }
}
