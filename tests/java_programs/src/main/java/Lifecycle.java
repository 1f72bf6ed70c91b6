import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.Env;
import org.rocksdb.FlushOptions;
import org.rocksdb.MutableColumnFamilyOptions;
import org.rocksdb.OptimisticTransactionDB;
import org.rocksdb.Priority;
import org.rocksdb.RateLimiter;
import org.rocksdb.RocksDB;
import org.rocksdb.Statistics;
import org.rocksdb.TransactionDB;
import org.rocksdb.TransactionDBOptions;
import org.rocksdb.TtlDB;

/**
 * A host that does with its databases what it is told: one command a line on stdin, one answer a line on stdout.
 *
 * <p>Answers are "ok", "ok VALUE" or "error: REASON". Prints "ready" first. Knows nothing of the agent.
 *
 * <pre>
 * open PATH [CF ...] [NAME=VALUE ...]  opens (creates) with these column families beside "default", and these options;
 *                                      statistics=yes, rate_limiter=BYTES_PER_S; class=transaction, optimistic or ttl;
 *                                      limiter_of=PATH takes the rate limiter of that database
 * open_read_only PATH [NAME]           under that name, where the other commands have PATH
 * close PATH                           closes the handles, then the database
 * close_all                            the same of every database
 * forget PATH                          drops all references to it and what was made for it, and closes nothing
 * close_handle PATH CF                 closes a handle and keeps the object
 * close_limiter PATH                   closes the rate limiter's object; RocksDB keeps its own
 * limiter PATH [BYTES_PER_S]           tells its rate, or sets it
 * pool NAME [THREADS]                  tells the size of a thread pool, or sets it
 * interrupt                            interrupts all threads of its ThreadGroup
 * create_cf PATH CF, drop_cf PATH CF
 * drop_cfs PATH CF ...                 drops several in one call and keeps their handles
 * put PATH N [CF] [BYTES]              N keys of BYTES (100) each, random order
 * flush PATH [CF]
 * set_option PATH CF NAME VALUE        the host's own setOptions, of a few options
 * property PATH CF NAME
 * storm THREADS SECONDS DROPS PATH     opens, writes and closes databases below PATH, each of which creates and drops
 *                                      DROPS column families meanwhile, and writes to those that stay: "ok OPENS"
 * sleep MILLISECONDS
 * exit                                 ends the process with the databases open
 * </pre>
 */
public final class Lifecycle {
    private static final Random RANDOM = new Random(7);
    private static final Map<String, Open> OPEN = new LinkedHashMap<>();

    private Lifecycle() { }

    /** An open database with all that was made for it. */
    private static final class Open implements AutoCloseable {
        final List<AutoCloseable> made = new ArrayList<>();
        final Map<String, ColumnFamilyHandle> handles = new LinkedHashMap<>();
        RocksDB db;

        @Override
        public void close() throws Exception {
            for (ColumnFamilyHandle handle : handles.values()) {
                handle.close();
            }
            db.close();
            for (int i = made.size() - 1; i >= 0; i--) {
                made.get(i).close();
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        RocksDB.loadLibrary();
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.strip().split(" +");
            if (words[0].isEmpty()) {
                continue;
            }
            try {
                String answer = obey(words[0], Arrays.copyOfRange(words, 1, words.length));
                out.println(answer.isEmpty() ? "ok" : "ok " + answer);
            } catch (Exception error) {
                out.println("error: " + error.toString().replace('\n', ' '));
            }
        }
        closeAll();
    }

    private static void closeAll() throws Exception {
        for (Open each : OPEN.values()) {
            each.close();
        }
        OPEN.clear();
    }

    private static String obey(String command, String[] words) throws Exception {
        switch (command) {
            case "open":
                OPEN.put(words[0], open(words[0], Arrays.asList(words).subList(1, words.length)));
                return "";
            case "open_read_only":
                Open reader = new Open();
                reader.db = RocksDB.openReadOnly(words[0]);
                OPEN.put(words[words.length - 1], reader);
                return "";
            case "close":
                OPEN.remove(words[0]).close();
                return "";
            case "close_all":
                closeAll();
                return "";
            case "forget":
                OPEN.remove(words[0]);
                return "";
            case "close_handle":
                OPEN.get(words[0]).handles.get(words[1]).close();
                return "";
            case "close_limiter":
                limiter(OPEN.get(words[0])).close();
                return "";
            case "limiter":
                RateLimiter limiter = limiter(OPEN.get(words[0]));
                if (words.length > 1) {
                    limiter.setBytesPerSecond(Long.parseLong(words[1]));
                }
                return Long.toString(limiter.getBytesPerSecond());
            case "pool":
                Priority pool = Priority.valueOf(words[0]);
                if (words.length > 1) {
                    Env.getDefault().setBackgroundThreads(Integer.parseInt(words[1]), pool);
                }
                return Integer.toString(Env.getDefault().getBackgroundThreads(pool));
            case "interrupt":
                Thread.currentThread().getThreadGroup().interrupt();
                Thread.interrupted(); // its own
                return "";
            case "exit":
                System.exit(0);
                return "";
            case "create_cf":
                create(OPEN.get(words[0]), words[1]);
                return "";
            case "drop_cf":
                drop(OPEN.get(words[0]), words[1]);
                return "";
            case "drop_cfs":
                Open dropping = OPEN.get(words[0]);
                List<ColumnFamilyHandle> dropped = new ArrayList<>();
                for (String name : Arrays.asList(words).subList(1, words.length)) {
                    dropped.add(handle(dropping, name));
                }
                dropping.db.dropColumnFamilies(dropped);
                return "";
            case "put":
                put(OPEN.get(words[0]), Integer.parseInt(words[1]), words.length > 2 ? words[2] : "default",
                    words.length > 3 ? Integer.parseInt(words[3]) : 100);
                return "";
            case "flush":
                flush(OPEN.get(words[0]), words.length > 1 ? words[1] : "default");
                return "";
            case "set_option":
                OPEN.get(words[0]).db.setOptions(handle(OPEN.get(words[0]), words[1]),
                    MutableColumnFamilyOptions.parse(words[2] + "=" + words[3]).build());
                return "";
            case "property":
                Open asked = OPEN.get(words[0]);
                return asked.db.getProperty(handle(asked, words[1]), words[2]).strip().replace('\n', ' ');
            case "storm":
                return Integer.toString(storm(Integer.parseInt(words[0]), Double.parseDouble(words[1]),
                    Integer.parseInt(words[2]), words[3]));
            case "sleep":
                Thread.sleep(Long.parseLong(words[0]));
                return "";
            default:
                throw new IllegalArgumentException("no such command: " + command);
        }
    }

    private static Open open(String path, List<String> words) throws Exception {
        Open opened = new Open();
        DBOptions options = null;
        ColumnFamilyOptions defaults = new ColumnFamilyOptions();
        Properties ofDatabase = new Properties();
        Properties ofFamily = new Properties();
        List<String> names = new ArrayList<>();
        Map<String, String> more = new LinkedHashMap<>();
        for (String word : words) {
            int equals = word.indexOf('=');
            String name = equals < 0 ? "" : word.substring(0, equals);
            String value = word.substring(equals + 1);
            if (equals < 0) {
                names.add(word);
            } else if (Arrays.asList("statistics", "rate_limiter", "limiter_of", "class").contains(name)) {
                more.put(name, value);
            } else if (Arrays.asList("max_background_jobs", "delayed_write_rate").contains(name)) {
                ofDatabase.setProperty(name, value);
            } else {
                ofFamily.setProperty(name, value);
            }
        }
        options = ofDatabase.isEmpty() ? new DBOptions() : DBOptions.getDBOptionsFromProps(ofDatabase);
        if (!ofFamily.isEmpty()) {
            defaults = ColumnFamilyOptions.getColumnFamilyOptionsFromProps(ofFamily);
        }
        options.setCreateIfMissing(true).setCreateMissingColumnFamilies(true);
        opened.made.add(options);
        if (more.containsKey("statistics")) {
            Statistics statistics = new Statistics();
            opened.made.add(statistics);
            options.setStatistics(statistics);
        }
        if (more.containsKey("rate_limiter")) {
            RateLimiter limiter = new RateLimiter(Long.parseLong(more.get("rate_limiter")));
            opened.made.add(limiter);
            options.setRateLimiter(limiter);
        }
        if (more.containsKey("limiter_of")) {
            options.setRateLimiter(limiter(OPEN.get(more.get("limiter_of"))));
        }
        List<ColumnFamilyDescriptor> descriptors = new ArrayList<>();
        descriptors.add(new ColumnFamilyDescriptor(RocksDB.DEFAULT_COLUMN_FAMILY, defaults));
        opened.made.add(defaults);
        for (String name : names) {
            ColumnFamilyDescriptor descriptor = new ColumnFamilyDescriptor(name.getBytes(StandardCharsets.UTF_8));
            descriptors.add(descriptor);
            opened.made.add(descriptor.getOptions());
        }
        List<ColumnFamilyHandle> handles = new ArrayList<>();
        opened.db = openAs(more.getOrDefault("class", ""), options, path, descriptors, handles);
        opened.handles.put("default", handles.get(0));
        for (int i = 0; i < names.size(); i++) {
            opened.handles.put(names.get(i), handles.get(i + 1));
        }
        return opened;
    }

    private static RocksDB openAs(String kind, DBOptions options, String path,
            List<ColumnFamilyDescriptor> descriptors, List<ColumnFamilyHandle> handles) throws Exception {
        switch (kind) {
            case "transaction":
                return TransactionDB.open(options, new TransactionDBOptions(), path, descriptors, handles);
            case "optimistic":
                return OptimisticTransactionDB.open(options, path, descriptors, handles);
            case "ttl":
                Integer[] ttls = new Integer[descriptors.size()];
                Arrays.fill(ttls, 0);
                return TtlDB.open(options, path, descriptors, handles, Arrays.asList(ttls), false);
            default:
                return RocksDB.open(options, path, descriptors, handles);
        }
    }

    private static RateLimiter limiter(Open open) {
        return (RateLimiter) open.made.stream().filter(each -> each instanceof RateLimiter).findFirst().orElseThrow();
    }

    private static ColumnFamilyHandle handle(Open open, String family) {
        return open.handles.get(family);
    }

    private static void create(Open open, String name) throws Exception {
        ColumnFamilyDescriptor descriptor = new ColumnFamilyDescriptor(name.getBytes(StandardCharsets.UTF_8));
        open.made.add(descriptor.getOptions());
        open.handles.put(name, open.db.createColumnFamily(descriptor));
    }

    private static void drop(Open open, String name) throws Exception {
        ColumnFamilyHandle handle = open.handles.remove(name);
        open.db.dropColumnFamily(handle);
        open.made.add(handle);
    }

    private static void put(Open open, int count, String family, int size) throws Exception {
        byte[] key = new byte[16];
        byte[] value = new byte[size];
        for (int i = 0; i < count; i++) {
            RANDOM.nextBytes(key);
            RANDOM.nextBytes(value);
            open.db.put(handle(open, family), key, value);
        }
    }

    private static void flush(Open open, String family) throws Exception {
        try (FlushOptions options = new FlushOptions().setWaitForFlush(true)) {
            open.db.flush(options, handle(open, family));
        }
    }

    /** Opens, writes, creates and drops column families, closes; each thread with a database of its own. */
    private static int storm(int threads, double seconds, int drops, String path) throws Exception {
        int[] opens = new int[threads];
        Exception[] failed = new Exception[1];
        List<Thread> running = new ArrayList<>();
        long untilNs = System.nanoTime() + (long) (seconds * 1e9);
        for (int number = 0; number < threads; number++) {
            int mine = number;
            Thread thread = new Thread(() -> {
                try {
                    while (System.nanoTime() - untilNs < 0) {
                        try (Open open = open(path + "/" + mine, List.of("statistics=yes"))) {
                            put(open, 20, "default", 100);
                            for (int i = 0; i < drops; i++) {
                                create(open, "short");
                                put(open, 20, "short", 100);
                                drop(open, "short");
                            }
                            for (Open stays : OPEN.values()) {
                                put(stays, 1, "default", 100);
                            }
                            // It stays in the database's own list, as in Kafka Streams.
                            open.handles.get("default").close();
                            opens[mine]++;
                        }
                    }
                } catch (Exception error) {
                    failed[0] = error;
                }
            });
            thread.start();
            running.add(thread);
        }
        for (Thread thread : running) {
            thread.join();
        }
        if (failed[0] != null) {
            throw failed[0];
        }
        return Arrays.stream(opens).sum();
    }
}
