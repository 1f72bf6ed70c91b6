import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.CompressionType;
import org.rocksdb.ConfigOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.OptionsUtil;
import org.rocksdb.RocksDB;
import org.rocksdb.Statistics;

/**
 * What tests/chaos/python_writer.py is, in Java and with the same commands: writes numbered keys, and counts in a file
 * those that were acknowledged.
 *
 * <pre>
 * open own       opens (creates) with options of its own, and begins to write
 * open stored    the same with the options of its newest OPTIONS file
 * close          stops writing, then closes
 * verify         opens for reading and looks up every key that was acknowledged: "ok COUNT"
 * </pre>
 */
public final class Writer {
    private static final int BATCHES_PER_S = 5;

    private final String directory;
    private final int keysPerS;
    /** A shared mapping outlives SIGKILL, as the write-ahead log does. */
    private final MappedByteBuffer acknowledged;
    private final List<AutoCloseable> made = new ArrayList<>();
    private RocksDB database;
    private Thread writer;
    private volatile boolean writing;
    private volatile Exception failure;

    private Writer(String directory, int keysPerS) throws Exception {
        this.directory = directory;
        this.keysPerS = keysPerS;
        try (FileChannel file = FileChannel.open(Path.of(directory + ".acknowledged"),
                StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            acknowledged = file.map(FileChannel.MapMode.READ_WRITE, 0, 8);
        }
    }

    public static void main(String[] arguments) throws Exception {
        RocksDB.loadLibrary();
        Writer writer = new Writer(arguments[0], Integer.parseInt(arguments[1]));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            try {
                out.println(writer.obey(line.strip().split(" +")));
            } catch (Exception error) {
                out.println("error: " + error.toString().replace('\n', ' '));
            }
        }
        writer.close();
    }

    private String obey(String[] words) throws Exception {
        switch (words[0]) {
            case "open":
                open(words[1].equals("stored"));
                return "ok";
            case "close":
                close();
                return "ok";
            case "verify":
                return "ok " + verify();
            default:
                throw new IllegalArgumentException("no such command: " + words[0]);
        }
    }

    private void open(boolean stored) throws Exception {
        DBOptions options = keep(new DBOptions());
        List<ColumnFamilyDescriptor> families = new ArrayList<>();
        if (stored) {
            OptionsUtil.loadLatestOptions(keep(new ConfigOptions()), directory, options, families);
        } else {
            families.add(new ColumnFamilyDescriptor(RocksDB.DEFAULT_COLUMN_FAMILY, ownOptions()));
        }
        options.setCreateIfMissing(true).setStatistics(keep(new Statistics()));
        for (ColumnFamilyDescriptor each : families) {
            keep(each.getOptions());
        }
        List<ColumnFamilyHandle> handles = new ArrayList<>();
        database = RocksDB.open(options, directory, families, handles);
        writing = true;
        writer = new Thread(this::write);
        writer.start();
    }

    private <T extends AutoCloseable> T keep(T object) {
        made.add(object);
        return object;
    }

    /** Small memtables and little patience: see tests/chaos/hosts.py. */
    private static ColumnFamilyOptions ownOptions() {
        return new ColumnFamilyOptions().setCompressionType(CompressionType.NO_COMPRESSION)
            .setWriteBufferSize(256 << 10).setTargetFileSizeBase(1 << 20).setMaxBytesForLevelBase(4 << 20)
            .setLevel0SlowdownWritesTrigger(4).setLevel0StopWritesTrigger(16);
    }

    private void close() throws Exception {
        writing = false;
        if (writer != null) {
            writer.join();
        }
        if (database != null) {
            database.close();
        }
        database = null;
        for (AutoCloseable each : made) {
            each.close();
        }
        made.clear();
        if (failure != null) {
            throw failure;
        }
    }

    private void write() {
        try {
            long number = acknowledged.getLong(0);
            while (writing) {
                long beganNs = System.nanoTime();
                for (int i = 0; i < keysPerS / BATCHES_PER_S; i++) {
                    database.put(keyOf(number), valueOf(number));
                    acknowledged.putLong(0, ++number);
                }
                long leftMs = 1000 / BATCHES_PER_S - (System.nanoTime() - beganNs) / 1_000_000;
                Thread.sleep(Math.max(0, leftMs));
            }
        } catch (Exception error) { // the agent must never be the reason, so the test must hear of it
            failure = error;
        }
    }

    private long verify() throws Exception {
        long count = acknowledged.getLong(0);
        try (RocksDB reader = RocksDB.openReadOnly(directory)) {
            for (long number = 0; number < count; number++) {
                if (!Arrays.equals(reader.get(keyOf(number)), valueOf(number))) {
                    throw new IllegalStateException("key " + number + " of " + count + " is missing or wrong");
                }
            }
        }
        return count;
    }

    /** Numbers that follow each other lie far apart, so that files overlap and compaction has to merge. */
    private static byte[] keyOf(long number) throws Exception {
        return MessageDigest.getInstance("MD5").digest(ByteBuffer.allocate(8).putLong(number).array());
    }

    private static byte[] valueOf(long number) {
        ByteBuffer value = ByteBuffer.allocate(1000);
        while (value.hasRemaining()) {
            value.putLong(number);
        }
        return value.array();
    }
}
