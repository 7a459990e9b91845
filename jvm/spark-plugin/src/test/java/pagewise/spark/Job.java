package pagewise.spark;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.storage.StorageLevel;
import pagewise.placement.Addresses;
import pagewise.placement.Coverage;
import pagewise.placement.Heap;
import pagewise.placement.Memory;
import pagewise.placement.Range;
import pagewise.placement.Region;

/**
 * A job to watch: it caches objects of 4 KiB, makes garbage, aggregates through Tungsten, and then lets every executor read from the
 * kernel what lies on huge pages. Prints {@code NAME VALUE} lines.
 */
public final class Job {
    private static final int OBJECT = 4096 - 16;

    private Job() {}

    /** Cached objects, partitions, passes over them, groups of the aggregation (0 for none), seconds that it goes on, storage level. */
    public static void main(String[] arguments) throws Exception {
        int objects = Integer.parseInt(arguments[0]);
        int partitions = Integer.parseInt(arguments[1]);
        int passes = Integer.parseInt(arguments[2]);
        int groups = Integer.parseInt(arguments[3]);
        int seconds = Integer.parseInt(arguments[4]);
        try (JavaSparkContext spark = new JavaSparkContext(new SparkConf())) {
            List<Integer> numbers = IntStream.range(0, objects).boxed().collect(Collectors.toList());
            JavaRDD<byte[]> cached = spark.parallelize(numbers, partitions).map(Job::object).persist(StorageLevel.fromString(arguments[5]));
            long sum = 0;
            for (int pass = 0; pass < passes; pass++) {
                sum = 31 * sum + cached.map(Job::sum).reduce(Long::sum);
            }
            System.out.println("checksum " + sum);
            for (int round = 0; groups > 0 && round < 3; round++) {
                System.out.println("aggregate " + aggregate(groups));
            }
            // What executors do on their own needs time, and what works with young memory needs work.
            long until = System.nanoTime() + seconds * 1_000_000_000L;
            while (System.nanoTime() < until) {
                sum = cached.map(Job::sum).reduce(Long::sum);
                if (groups > 0) {
                    aggregate(groups);
                }
            }
            System.out.println("sum " + sum);
            Map<String, Long> total = new TreeMap<>();
            // What is kept as bytes is made into objects anew at each visit: those say nothing of it.
            List<Map<String, Long>> seen = arguments[5].equals("MEMORY_ONLY") ? cached.mapPartitions(Job::look).collect() : List.of();
            for (Map<String, Long> one : seen) {
                one.forEach((name, value) -> total.merge(name, value, Long::sum));
            }
            // Of each executor when its young memory was largest: just after a collection there is next to none.
            Map<String, Map<String, Long>> largest = new TreeMap<>();
            for (Map<String, Long> one : spark.parallelize(numbers.subList(0, 16), 16).mapPartitions(Job::lookAtHeap).collect()) {
                largest.merge(
                        one.keySet().iterator().next(),
                        one,
                        (kept, other) -> young(kept) >= young(other) ? kept : other);
            }
            largest.values().forEach(total::putAll);
            total.forEach((name, value) -> System.out.println(name + " " + value));
            System.out.println("cached.blocks " + cached.getNumPartitions());
        }
    }

    private static long young(Map<String, Long> executor) {
        return executor.entrySet().stream().filter(one -> one.getKey().endsWith("young.resident")).mapToLong(Map.Entry::getValue).sum();
    }

    static byte[] object(int number) {
        byte[] bytes = new byte[OBJECT];
        for (int at = 0; at < OBJECT; at += 64) {
            bytes[at] = (byte) (number * 31 + at);
        }
        return bytes;
    }

    static long sum(byte[] bytes) {
        // Garbage, as a real visit makes.
        byte[] copy = bytes.clone();
        long sum = 0;
        for (int at = 0; at < OBJECT; at += 64) {
            sum = sum * 31 + copy[at];
        }
        return sum;
    }

    /** Through Spark SQL, by reflection: its classes differ between the versions this runs on. */
    static long aggregate(int groups) throws ReflectiveOperationException {
        Class<?> sessions = Class.forName("org.apache.spark.sql.SparkSession");
        Object builder = sessions.getMethod("builder").invoke(null);
        Object session = builder.getClass().getMethod("getOrCreate").invoke(builder);
        String query = "SELECT count(*), sum(s) FROM (SELECT id % " + groups + " AS k, sum(id * 7) AS s, max(id) AS m FROM range(0, "
                + 4L * groups + ") GROUP BY id % " + groups + ")";
        Object rows = session.getClass().getMethod("sql", String.class).invoke(session, query);
        Object list = rows.getClass().getMethod("collectAsList").invoke(rows);
        Object row = ((List<?>) list).get(0);
        return (Long) row.getClass().getMethod("get", int.class).invoke(row, 1);
    }

    private static Iterator<Map<String, Long>> look(Iterator<byte[]> cached) {
        long huge = Memory.hugePageSize();
        Heap heap = Heap.inspect();
        Map<Long, Boolean> pages = new TreeMap<>();
        Map<String, Long> found = new TreeMap<>();
        while (cached.hasNext()) {
            long address = Addresses.of(cached.next());
            boolean isHuge = pages.computeIfAbsent(address & -huge, page -> Coverage.of(page, page + huge).huge() == huge);
            Region region = heap.regionOf(address);
            found.merge("cached.bytes", (long) OBJECT, Long::sum);
            found.merge("cached.huge", isHuge ? (long) OBJECT : 0, Long::sum);
            found.merge("cached.young", region != null && region.kind() == Region.Kind.YOUNG ? (long) OBJECT : 0, Long::sum);
        }
        return List.of(found).iterator();
    }

    private static Iterator<Map<String, Long>> lookAtHeap(Iterator<Integer> nothing) throws Exception {
        Heap heap = Heap.inspect();
        long resident = 0;
        long huge = 0;
        for (Region region : heap.regions()) {
            if (region.kind() == Region.Kind.YOUNG) {
                Coverage coverage = Coverage.of(region.used());
                resident += coverage.resident();
                huge += coverage.huge();
            }
        }
        String name = ProcessHandle.current().pid() + ".";
        Map<String, Long> found = new TreeMap<>();
        found.put(name + "young.resident", resident);
        found.put(name + "young.huge", huge);
        found.put(name + "heap.huge", Coverage.of(heap.range()).huge());
        found.put(name + "heap.resident", Coverage.of(heap.range()).resident());
        long inHeap = smaps(heap.range());
        found.put(name + "smaps.heap.huge", inHeap);
        found.put(name + "smaps.other.huge", smaps(new Range(0, Long.MAX_VALUE)) - inHeap);
        return List.of(found).iterator();
    }

    /** Bytes on huge pages, transparent or hugetlb, of the mappings that begin in this range, by another reader than ours. */
    private static long smaps(Range range) throws Exception {
        long bytes = 0;
        boolean inside = false;
        for (String line : Files.readAllLines(Path.of("/proc/self/smaps"))) {
            if (line.matches("[0-9a-f]+-[0-9a-f]+ .*")) {
                long start = Long.parseUnsignedLong(line.substring(0, line.indexOf('-')), 16);
                inside = range.holds(start);
            } else if (inside && (line.startsWith("AnonHugePages:") || line.startsWith("Private_Hugetlb:"))) {
                bytes += Long.parseLong(line.replaceAll("[^0-9]", "")) << 10;
            }
        }
        return bytes;
    }
}
