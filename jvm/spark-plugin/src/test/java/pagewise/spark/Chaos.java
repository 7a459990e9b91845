package pagewise.spark;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.storage.StorageLevel;

/**
 * A job that is as unkind to a heap as it can be: blocks are cached, evicted and dropped at random, arrays of many regions come and go, full
 * collections fall in between, Tungsten aggregates. Every result is held against what it must be. Prints {@code NAME VALUE} lines.
 */
public final class Chaos {
    /** However slow the host is. */
    static final long FEWEST_ROUNDS = 8;

    private Chaos() {}

    /** Seconds, or until {@link #FEWEST_ROUNDS} were made; a seed. */
    public static void main(String[] arguments) throws Exception {
        long until = System.nanoTime() + Long.parseLong(arguments[0]) * 1_000_000_000L;
        Random random = new Random(Long.parseLong(arguments[1]));
        StorageLevel[] levels = {
            StorageLevel.MEMORY_ONLY(), StorageLevel.MEMORY_ONLY(), StorageLevel.MEMORY_ONLY_SER(), StorageLevel.MEMORY_AND_DISK(), StorageLevel.OFF_HEAP()
        };
        List<Integer> numbers = IntStream.range(0, 40_000).boxed().collect(Collectors.toList());
        long[] sums = new long[numbers.size() + 1];
        for (int at = 0; at < numbers.size(); at++) {
            sums[at + 1] = sums[at] + Job.sum(Job.object(at));
        }
        Deque<JavaRDD<byte[]>> cached = new ArrayDeque<>();
        Deque<Integer> sizes = new ArrayDeque<>();
        List<long[]> large = new ArrayList<>();
        long rounds = 0;
        try (JavaSparkContext spark = new JavaSparkContext(new SparkConf())) {
            for (; rounds < FEWEST_ROUNDS || System.nanoTime() < until; rounds++) {
                switch (random.nextInt(6)) {
                    case 0, 1 -> {
                        int size = 5_000 + random.nextInt(30_000);
                        JavaRDD<byte[]> one = spark.parallelize(numbers.subList(0, size), 1 + random.nextInt(6)).map(Job::object)
                                .persist(levels[random.nextInt(levels.length)]);
                        cached.add(one);
                        sizes.add(size);
                    }
                    case 2 -> {
                        if (cached.size() > 3) {
                            cached.remove().unpersist(random.nextBoolean());
                            sizes.remove();
                        }
                    }
                    case 3 -> {
                        long[] array = new long[1 << 17 + random.nextInt(5)];
                        for (int at = 0; at < array.length; at += 512) {
                            array[at] = at * 7L;
                        }
                        large.add(array);
                        while (large.size() > 6) {
                            large.remove(random.nextInt(large.size()));
                        }
                    }
                    case 4 -> System.gc();
                    default -> {
                        int groups = 20_000 + random.nextInt(100_000);
                        // 7 times the sum of 0 to 4 groups - 1.
                        long expected = 7L * (4L * groups) * (4L * groups - 1) / 2;
                        check(Job.aggregate(groups) == expected, "an aggregation of " + groups + " groups");
                    }
                }
                for (long[] array : large) {
                    for (int at = 0; at < array.length; at += 512) {
                        check(array[at] == at * 7L, "an array of " + array.length);
                    }
                }
                var size = sizes.iterator();
                for (JavaRDD<byte[]> one : cached) {
                    int objects = size.next();
                    check(one.map(Job::sum).reduce(Long::sum) == sums[objects], "the sum of " + objects + " cached objects");
                }
            }
            cached.forEach(one -> one.unpersist(true));
            large.clear();
            System.gc();
            // The pool outside the heap is given back when it was not needed for some seconds.
            Thread.sleep(15_000);
            System.out.println("rounds " + rounds);
            System.out.println("outside.resident " + outside());
        }
    }

    private static void check(boolean holds, String what) {
        if (!holds) {
            throw new AssertionError("wrong: " + what);
        }
    }

    /** Bytes of anonymous memory outside the heap. */
    private static long outside() throws Exception {
        pagewise.placement.Range heap = pagewise.placement.Heap.inspect().range();
        long bytes = 0;
        boolean inHeap = false;
        for (String line : Files.readAllLines(Path.of("/proc/self/smaps"))) {
            if (line.matches("[0-9a-f]+-[0-9a-f]+ .*")) {
                inHeap = heap.holds(Long.parseUnsignedLong(line.substring(0, line.indexOf('-')), 16));
            } else if (!inHeap && line.startsWith("Anonymous:")) {
                bytes += Long.parseLong(line.replaceAll("[^0-9]", "")) << 10;
            }
        }
        return bytes;
    }
}
