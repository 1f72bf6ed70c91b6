package net.adocd.examples.flink;

import java.time.Duration;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.connector.source.util.ratelimit.RateLimiterStrategy;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.CoreOptions;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.configuration.PipelineOptions;
import org.apache.flink.configuration.RestOptions;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.configuration.StateBackendOptions;
import org.apache.flink.configuration.TaskManagerOptions;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.contrib.streaming.state.RocksDBOptions;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** The job "payments" and its cluster. Its operator "balances" has the state; each of its subtasks has a RocksDB. */
final class Job {
    /**
     * What the statements of all accounts are together: in ten seconds each is replaced more than once, which a large
     * memtable absorbs.
     */
    private static final long STATE_BYTES = 200_000_000;
    private static final Duration CHECKPOINT_INTERVAL = Duration.ofSeconds(30);
    /**
     * Flink's managed memory holds all memtables of a slot to a third of what the slot has. These are usual sizes of a
     * task manager; a mini cluster's own default is 128 MiB.
     */
    private static final int MANAGED_MIB = 2048;
    private static final int MANAGED_MIB_PER_SLOT = 32;

    private Job() { }

    /** Returns a task manager in this process, with a slot for each store. */
    static MiniClusterConfiguration cluster(Arguments arguments) {
        return new MiniClusterConfiguration.Builder()
            .setConfiguration(configuration(arguments))
            .setNumTaskManagers(1)
            .setNumSlotsPerTaskManager(arguments.stores())
            .build();
    }

    static JobGraph graph(Arguments arguments) {
        StreamExecutionEnvironment environment =
            StreamExecutionEnvironment.getExecutionEnvironment(configuration(arguments));
        environment.setParallelism(arguments.stores());
        int bytes = arguments.valueBytes();
        // Small statements have keys and overhead that count.
        long accounts = STATE_BYTES / Math.max(bytes, 100);
        DataGeneratorSource<Statement> bank = new DataGeneratorSource<>(
            payment -> Statement.after(payment, accounts, bytes),
            Long.MAX_VALUE,
            pace(arguments.recordsPerS()),
            TypeInformation.of(Statement.class));
        environment.fromSource(bank, WatermarkStrategy.noWatermarks(), "bank").uid("bank").setParallelism(1)
            .keyBy(statement -> statement.account)
            .process(new Balances()).name("balances").uid("balances");
        return environment.getStreamGraph().getJobGraph();
    }

    private static RateLimiterStrategy pace(long recordsPerS) {
        return recordsPerS == 0 ? RateLimiterStrategy.noOp() : RateLimiterStrategy.perSecond(recordsPerS);
    }

    /** What a user would write into Flink's config.yaml. */
    private static Configuration configuration(Arguments arguments) {
        Configuration made = new Configuration();
        made.set(PipelineOptions.NAME, "payments");
        made.set(StateBackendOptions.STATE_BACKEND, "rocksdb");
        made.set(RocksDBOptions.LOCAL_DIRECTORIES, arguments.directory().resolve("rocksdb").toString());
        made.set(RocksDBOptions.OPTIONS_FACTORY, SlowDisk.class.getName());
        made.set(SlowDisk.BYTES_PER_S, arguments.rateLimiterBytesPerS());
        made.set(
            TaskManagerOptions.MANAGED_MEMORY_SIZE,
            MemorySize.ofMebiBytes(Math.max(MANAGED_MIB, MANAGED_MIB_PER_SLOT * arguments.stores())));
        // The default is 64 MiB; the source has a channel to each store.
        MemorySize network = MemorySize.ofMebiBytes(Math.max(64, arguments.stores()));
        made.set(TaskManagerOptions.NETWORK_MEMORY_MIN, network);
        made.set(TaskManagerOptions.NETWORK_MEMORY_MAX, network);
        made.set(CheckpointingOptions.CHECKPOINTING_INTERVAL, CHECKPOINT_INTERVAL);
        made.set(CheckpointingOptions.INCREMENTAL_CHECKPOINTS, true);
        made.set(
            CheckpointingOptions.CHECKPOINTS_DIRECTORY,
            arguments.directory().resolve("checkpoints").toUri().toString());
        // Where Flink puts RocksDB's library, among other things.
        made.set(CoreOptions.TMP_DIRS, arguments.directory().resolve("tmp").toString());
        // Any port that is free; nothing here uses it.
        made.set(RestOptions.BIND_PORT, "0");
        made.set(RestartStrategyOptions.RESTART_STRATEGY, "none");
        return made;
    }
}
