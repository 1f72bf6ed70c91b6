package net.adocd.examples.flink;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobmaster.JobResult;
import org.apache.flink.runtime.minicluster.MiniCluster;
import sun.misc.Signal;

/** Runs the job in a mini cluster, and prints each second what it does. The README has the command. */
public final class Payments {
    private Payments() { }

    public static void main(String[] words) throws Exception {
        Arguments arguments;
        try {
            arguments = Arguments.of(words);
            Files.createDirectories(arguments.directory());
        } catch (IllegalArgumentException wrong) {
            System.err.println(wrong.getMessage());
            System.exit(2);
            return;
        } catch (IOException unusable) {
            System.err.println("--directory cannot be used; name another: " + unusable);
            System.exit(2);
            return;
        }
        CountDownLatch stop = new CountDownLatch(1);
        for (String signal : new String[] {"INT", "TERM"}) {
            Signal.handle(new Signal(signal), received -> stop.countDown());
        }
        int status;
        try (MiniCluster cluster = new MiniCluster(Job.cluster(arguments))) {
            cluster.start();
            JobGraph job = Job.graph(arguments);
            cluster.submitJob(job).join();
            CompletableFuture<JobResult> result = cluster.requestJobResult(job.getJobID());
            result.thenRun(stop::countDown);
            watch(arguments.seconds(), stop);
            status = result.isDone() ? failed(result.join()) : 0;
            if (status == 0) {
                cluster.cancelJob(job.getJobID()).join();
                result.join();
            }
        }
        System.exit(status);
    }

    /** The source never ends, so a job that does has failed. */
    private static int failed(JobResult result) {
        System.err.println("The job has ended: " + result.getSerializedThrowable()
            .map(Throwable::getMessage).orElse("by itself"));
        return 1;
    }

    /** Prints what happens in each second from the first record on; {@code seconds}: how long, 0 until stopped. */
    private static void watch(long seconds, CountDownLatch stop) throws InterruptedException {
        boolean running = true;
        while (running && Puts.count() == 0) {
            running = !stop.await(10, TimeUnit.MILLISECONDS);
        }
        OperatingSystemMXBean process = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        long began = System.nanoTime();
        long cpuBefore = process.getProcessCpuTime();
        long before = 0;
        long longestNs = 0;
        for (long second = 1; running; second++) {
            long waitNs = began + TimeUnit.SECONDS.toNanos(second) - System.nanoTime();
            boolean whole = !stop.await(waitNs, TimeUnit.NANOSECONDS);
            running = whole && second != seconds;
            long now = Puts.count();
            long longestNowNs = Puts.longestNs();
            if (whole) {
                System.out.printf(
                    "%5d s  %d records/s  longest put %.1f ms%n", second, now - before, longestNowNs / 1e6);
            }
            before = now;
            longestNs = Math.max(longestNs, longestNowNs);
        }
        System.out.printf(
            "total: %d records in %.1f s, %.1f s of processor time in RocksDB's process, longest put %.1f ms%n",
            before, (System.nanoTime() - began) / 1e9, (process.getProcessCpuTime() - cpuBefore) / 1e9,
            longestNs / 1e6);
    }
}
