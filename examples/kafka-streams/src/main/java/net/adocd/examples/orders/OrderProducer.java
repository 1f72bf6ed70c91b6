package net.adocd.examples.orders;

import java.time.Duration;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.LongSerializer;

/** Sends random orders of a fixed set of customers, evenly paced or as fast as they are consumed. */
final class OrderProducer implements Runnable {
    /** Customers: with values of 500 bytes, 100 MB in all stores together. */
    private static final long KEYS = 200_000;
    private static final long AHEAD_BYTES = 64L << 20;

    private final String address;
    private final long recordsPerS;
    private final int valueBytes;
    private final long ahead;
    private volatile long consumed;
    private volatile boolean stopped;

    OrderProducer(String address, long recordsPerS, int valueBytes) {
        this.address = address;
        this.recordsPerS = recordsPerS;
        this.valueBytes = valueBytes;
        // An application that stalls must not fall so far behind that the topic forgets what it has not read.
        this.ahead = Math.max(1, AHEAD_BYTES / (valueBytes + 100));
    }

    void consumed(long records) {
        consumed = records;
    }

    void stop() {
        stopped = true;
    }

    @Override
    public void run() {
        Map<String, Object> settings = Map.of(
                ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, address,
                // As many as the application's consumer takes in one fetch of a partition are sent together.
                ProducerConfig.BATCH_SIZE_CONFIG, 1 << 18,
                ProducerConfig.LINGER_MS_CONFIG, 10,
                // The order of random orders does not matter. A broker that is slow to start would have the producer
                // repeat first batches, by their numbers, for minutes.
                ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, false);
        KafkaProducer<Long, byte[]> producer =
                new KafkaProducer<>(settings, new LongSerializer(), new ByteArraySerializer());
        try {
            SplittableRandom random = new SplittableRandom();
            long startedNanos = System.nanoTime();
            for (long sent = 0; !stopped; ) {
                if (sent >= consumed + ahead || sent >= due(startedNanos)) {
                    LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(1));
                    continue;
                }
                byte[] value = new byte[valueBytes];
                random.nextBytes(value);
                producer.send(new ProducerRecord<>(Application.TOPIC, random.nextLong(KEYS), value));
                sent++;
            }
        } finally {
            producer.close(Duration.ZERO);
        }
    }

    /** How many should have been sent by now. */
    private long due(long startedNanos) {
        return recordsPerS == 0
                ? Long.MAX_VALUE
                : (long) ((System.nanoTime() - startedNanos) / 1e9 * recordsPerS);
    }
}
