package pagewise.spark;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.storage.RDDInfo;

/**
 * One run of a workload: its arguments, its Spark context, and what it measured, written as {@code name<TAB>value} lines once it has
 * ended well. Times are wall time in the driver by {@link System#nanoTime}, in seconds.
 */
final class Job implements AutoCloseable {
    private final Map<String, String> arguments = new TreeMap<>();
    private final List<String> lines = new ArrayList<>();
    private final AtomicLong shuffledBytes = new AtomicLong();
    private final AtomicLong taskCpuNanos = new AtomicLong();
    final JavaSparkContext spark;

    /** With words of the form {@code name=value}; {@code result} is the file to write. */
    Job(String name, String[] words) {
        for (String word : words) {
            int at = word.indexOf('=');
            arguments.put(word.substring(0, at), word.substring(at + 1));
        }
        spark = new JavaSparkContext(new SparkConf().setAppName("pagewise spark:" + name));
        spark.sc().addSparkListener(new SparkListener() {
            @Override
            public void onTaskEnd(SparkListenerTaskEnd end) {
                TaskMetrics metrics = end.taskMetrics();
                if (metrics != null) {
                    shuffledBytes.addAndGet(metrics.shuffleWriteMetrics().bytesWritten());
                    taskCpuNanos.addAndGet(metrics.executorCpuTime());
                }
            }
        });
    }

    String word(String name) {
        String value = arguments.get(name);
        if (value == null) {
            throw new IllegalArgumentException("the argument " + name + " is missing");
        }
        return value;
    }

    long number(String name) {
        return Long.parseLong(word(name));
    }

    /** Each partition's number as an element, one per partition: what generators begin with. */
    static List<Integer> numbers(int partitions) {
        List<Integer> numbers = new ArrayList<>();
        for (int number = 0; number < partitions; number++) {
            numbers.add(number);
        }
        return numbers;
    }

    /** Times one step, and keeps its time, the CPU time of its tasks in seconds, and the checksum it gives. */
    void timed(String step, LongSupplier work) {
        long cpuBefore = taskCpuNanos.get();
        long start = System.nanoTime();
        long sum = work.getAsLong();
        keep(step + "_wall", Double.toString((System.nanoTime() - start) / 1e9));
        awaitEvents();
        keep(step + "_cpu", Double.toString((taskCpuNanos.get() - cpuBefore) / 1e9));
        keep(step + "_sum", Long.toString(sum));
    }

    /** Waits until listeners have heard all that happened: without it the metrics of the last tasks, and whole cached partitions, would be missing. */
    private void awaitEvents() {
        try {
            spark.sc().listenerBus().waitUntilEmpty();
        } catch (TimeoutException problem) {
            throw new IllegalStateException("Spark's events did not come in: what it says of tasks and storage is not whole", problem);
        }
    }

    void keep(String name, String value) {
        lines.add(name + "\t" + value);
    }

    /**
     * Keeps how much of what is persisted lies in memory.
     *
     * @throws IllegalStateException if some of it does not: the job would compute it again in every iteration, and measure that.
     */
    void keepCached() {
        awaitEvents();
        long bytes = 0;
        for (RDDInfo info : spark.sc().getRDDStorageInfo()) {
            if (info.numCachedPartitions() < info.numPartitions() || info.diskSize() > 0) {
                throw new IllegalStateException("only " + info.numCachedPartitions() + " of " + info.numPartitions()
                        + " cached partitions fit into Spark's storage memory; give it more heap, or fewer data");
            }
            bytes += info.memSize();
        }
        keep("cached_bytes", Long.toString(bytes));
    }

    /** Ends Spark, so that all events are in, and writes the result. */
    void end() {
        spark.stop();
        keep("shuffled_bytes", Long.toString(shuffledBytes.get()));
        try {
            Files.write(Path.of(word("result")), lines);
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        }
    }

    @Override
    public void close() {
        spark.stop();
    }
}
