package pagewise.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.spi.ToolProvider;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * {@link Job} on a stock Spark with the jar as it is shipped: what lies on huge pages, by the kernel, under each policy. The property
 * {@code sparkVersions} says on which; the JDK is the newest that a version is for, and 17.
 */
class OnSparkTest {
    private static final String QUICK = "4.3.0";
    private static final int OBJECTS = 60_000;
    private static final int PASSES = 6;

    @TempDir
    private Path folder;

    private final Map<String, Long> values = new TreeMap<>();
    private String output = "";
    private String events = "";

    static Stream<Arguments> each() {
        List<Arguments> all = new ArrayList<>();
        for (String version : System.getProperty("sparkVersions", QUICK).split(",")) {
            all.add(Arguments.of(version, 17));
            if (version.compareTo("4.2") >= 0) {
                all.add(Arguments.of(version, 25));
            }
        }
        return all.stream();
    }

    /** Of the table, one row: what takes long is tried on one JDK only unless all of it was asked for. */
    static Stream<Arguments> newest() {
        return System.getProperty("sparkVersions") == null ? Stream.of(Arguments.of(QUICK, 25)) : each();
    }

    static Stream<Arguments> oldest() {
        return System.getProperty("sparkVersions") == null ? Stream.of(Arguments.of(QUICK, 17)) : each();
    }

    @BeforeEach
    void packJob() {
        Assumptions.assumeTrue(System.getProperty("pluginJar") != null, "the jar is not there yet: this runs again once it is");
        String classes = Path.of("target", "test-classes").toAbsolutePath().toString();
        int status = ToolProvider.findFirst("jar").orElseThrow()
                .run(System.out, System.err, "cf", folder.resolve("job.jar").toString(), "-C", classes, "pagewise/spark");
        assertEquals(0, status);
    }

    @AfterEach
    void leaveNothing() throws IOException {
        try (Stream<Path> left = Files.walk(folder)) {
            left.sorted(java.util.Comparator.reverseOrder()).filter(path -> !path.equals(folder)).forEach(path -> path.toFile().delete());
        }
    }

    @ParameterizedTest
    @MethodSource("each")
    void storagePutsWhatIsCachedOnHugePagesAndNothingYoung(String version, int jdk) throws Exception {
        run(version, jdk, "local[2]", "storage", "enforce", 0, Map.of());
        assertTrue(value("cached.huge") >= 0.95 * value("cached.bytes"), output);
        // On a host that makes everything huge the JVM has begun before the plugin, and nothing makes those pages small again.
        long begun = reported("start.huge.bytes");
        assertEquals(hostMode().equals("always"), begun > 0, events);
        assertTrue(sum("young.huge") <= 0.05 * sum("young.resident") + begun, output);
    }

    @ParameterizedTest
    @MethodSource("oldest")
    void storageReachesBlocksOutsideTheHeap(String version, int jdk) throws Exception {
        Map<String, String> offHeap =
                Map.of("spark.memory.offHeap.enabled", "true", "spark.memory.offHeap.size", "512m", "spark.rdd.compress", "false");
        run(version, jdk, "local[2]", "storage", "enforce", 0, "OFF_HEAP", offHeap);
        long resident = reported("blocks.resident.bytes");
        assertTrue(resident >= 240_000_000, events);
        // malloc lays them out: it is not the plugin's doing how much of them fills whole huge pages.
        long placeable = reported("blocks.placeable.bytes");
        assertTrue(placeable >= 0.8 * resident && placeable <= resident, events);
        assertTrue(reported("blocks.huge.bytes") >= 0.98 * placeable, events);
        assertTrue(sum("smaps.other.huge") >= 0.98 * placeable, output);
    }

    @ParameterizedTest
    @MethodSource("newest")
    void executionPutsYoungMemoryAndTungstensPagesOnHugePagesAndNothingCached(String version, int jdk) throws Exception {
        Map<String, String> offHeap =
                Map.of("spark.memory.offHeap.enabled", "true", "spark.memory.offHeap.size", "512m", "spark.pagewise.reserved", "on");
        boolean isReserved = !Files.readString(Path.of("/proc/meminfo")).matches("(?s).*HugePages_Free: +0\n.*");
        run(version, jdk, "local[2]", "execution", "enforce", 200_000, offHeap);
        assertTrue(value("cached.huge") <= 0.05 * value("cached.bytes"), output);
        assertTrue(sum("young.huge") >= 0.95 * sum("young.resident"), output);
        long resident = reported("tungsten.resident.bytes");
        assertTrue(resident > 16 << 20, events);
        assertTrue(reported("tungsten.huge.bytes") >= 0.95 * resident, events);
        // Where nothing is reserved, or not enough, transparent ones take their place.
        assertEquals(isReserved, reported("tungsten.reserved.bytes") > 0, events);
        assertTrue(isReserved || output.contains("no hugetlb pages for"), output);
        // At another moment, when some of it was given back, so by another reader only that there is some.
        assertTrue(sum("smaps.other.huge") > 16 << 20, output);
    }

    @ParameterizedTest
    @MethodSource("oldest")
    void bothReachEveryExecutorOfACluster(String version, int jdk) throws Exception {
        run(version, jdk, "local-cluster[2,2,1024]", "both", "enforce", 0, Map.of());
        assertTrue(value("cached.huge") >= 0.95 * value("cached.bytes"), output);
        assertTrue(sum("young.huge") >= 0.95 * sum("young.resident"), output);
        assertEquals(2, values.keySet().stream().filter(name -> name.endsWith("young.huge")).count(), output);
        assertTrue(events.contains("\"executorId\":\"0\"") && events.contains("\"executorId\":\"1\""), events);
    }

    @ParameterizedTest
    @MethodSource("newest")
    void observedOrMisspeltNothingIsChanged(String version, int jdk) throws Exception {
        // A host that makes everything huge does so then, too.
        boolean isAlways = hostMode().equals("always");
        run(version, jdk, "local[2]", "both", "observe", 0, Map.of());
        assertEquals(isAlways, sum("heap.huge") > 0, output);
        assertTrue(reported("heap.young.resident.bytes") > 0 && reported("surprises") == 0 && reported("advice.calls") == 0, events);
        double cpu = cpuShare();
        long start = reported("start.microseconds");
        System.out.printf("Spark %s, JDK %d, observing: %.2f %% of a CPU, %.1f ms at the start%n", version, jdk, 100 * cpu, start / 1e3);
        assertTrue(cpu <= 0.005 && start <= 200_000, events);
        values.clear();
        run(version, jdk, "local[2]", "everything", "enforce", 0, Map.of());
        assertEquals(isAlways, sum("heap.huge") > 0, output);
        assertTrue(output.contains("WARN pagewise: Pagewise: spark.pagewise.policy=everything: it can be none, storage, execution, both"), output);
        assertFalse(events.contains("pagewise.spark.Report"), events);
    }

    /** With the heap verified at every collection. Seconds by the property chaosSeconds; the seed is printed. */
    @ParameterizedTest
    @MethodSource("newest")
    void nothingBreaksUnderChaos(String version, int jdk) throws Exception {
        String seconds = System.getProperty("chaosSeconds", "20");
        String seed = System.getProperty("chaosSeed", String.valueOf(System.nanoTime() % 100_000));
        String verify = "-XX:+UnlockDiagnosticVMOptions -XX:+VerifyAfterGC -XX:G1HeapRegionSize=1m";
        Map<String, String> conf = Map.of(
                "spark.memory.offHeap.enabled", "true", "spark.memory.offHeap.size", "256m", "spark.pagewise.collapsesPerSecond", "500");
        for (String policy : List.of("storage", "both")) {
            submit(version, jdk, "local[2]", policy, "enforce", verify, conf, "pagewise.spark.Chaos", List.of(seconds, seed));
            assertTrue(value("rounds") >= Chaos.FEWEST_ROUNDS, output);
            // What a JVM with Spark takes by itself, and no more: the pools are empty.
            assertTrue(value("outside.resident") < 500 << 20, "seed " + seed + ": " + output);
            assertFalse(output.contains("placement has ended"), output);
        }
    }

    private long value(String name) {
        return values.getOrDefault(name, 0L);
    }

    /** Over all executors. */
    private long sum(String name) {
        return values.entrySet().stream().filter(one -> one.getKey().matches("[0-9]+\\." + name)).mapToLong(Map.Entry::getValue).sum();
    }

    /** The largest that any executor reported. */
    private long reported(String name) {
        Matcher found = Pattern.compile('"' + Pattern.quote(name) + "\":([0-9]+)").matcher(events);
        long most = -1;
        while (found.find()) {
            most = Math.max(most, Long.parseLong(found.group(1)));
        }
        return most;
    }

    /** Of one CPU, by the plugin's thread from its first report on: classes are loaded then. */
    private double cpuShare() {
        Matcher report = Pattern.compile("\"time\":([0-9]+).*\"cpu\\.microseconds\":([0-9]+)").matcher(events);
        List<long[]> read = new ArrayList<>();
        while (report.find()) {
            read.add(new long[] {Long.parseLong(report.group(1)), Long.parseLong(report.group(2))});
        }
        assertTrue(read.size() >= 2, events);
        long[] first = read.get(0);
        long[] last = read.get(read.size() - 1);
        return (last[1] - first[1]) / 1e3 / (last[0] - first[0]);
    }

    private void run(String version, int jdk, String master, String policy, String mode, int groups, Map<String, String> more) throws Exception {
        run(version, jdk, master, policy, mode, groups, "MEMORY_ONLY", more);
    }

    private void run(String version, int jdk, String master, String policy, String mode, int groups, String level, Map<String, String> more)
            throws Exception {
        List<String> job = List.of(String.valueOf(OBJECTS), "4", String.valueOf(PASSES), String.valueOf(groups), "8", level);
        submit(version, jdk, master, policy, mode, "-XX:MaxNewSize=300m", more, "pagewise.spark.Job", job);
        assertEquals(checksum(), value("checksum"), output);
    }

    private void submit(
            String version, int jdk, String master, String policy, String mode, String flags, Map<String, String> more, String program, List<String> job)
            throws Exception {
        Path java = javaHome(jdk);
        Path spark = homeOfRun(sparkHome(version));
        boolean local = master.startsWith("local[");
        String options = "-XX:+UseG1GC " + flags + (jdk >= 22 ? " --enable-native-access=ALL-UNNAMED" : "");
        Path log = Files.createDirectories(folder.resolve("events-" + policy + "-" + mode));
        Map<String, String> conf = new LinkedHashMap<>();
        conf.put("spark.plugins", "pagewise.spark.PagewisePlugin");
        conf.put("spark.pagewise.policy", policy);
        conf.put("spark.pagewise.mode", mode);
        conf.put("spark.ui.enabled", "false");
        conf.put("spark.sql.shuffle.partitions", "4");
        conf.put("spark.eventLog.enabled", "true");
        conf.put("spark.eventLog.dir", log.toUri().toString());
        conf.put("spark.eventLog.compress", "false");
        conf.put("spark.eventLog.rolling.enabled", "false");
        conf.put("spark.local.dir", folder.toString());
        conf.put("spark.executor.memory", "1g");
        conf.put("spark.executor.extraJavaOptions", options + " -Xms1g");
        conf.putAll(more);
        List<String> command = new ArrayList<>(List.of(spark.resolve("bin/spark-submit").toString(), "--master", master, "--driver-memory", "1g",
                "--driver-java-options", options + (local ? " -Xms1g" : ""), "--jars", System.getProperty("pluginJar")));
        conf.forEach((name, value) -> command.addAll(List.of("--conf", name + "=" + value)));
        command.addAll(List.of("--class", program, folder.resolve("job.jar").toString()));
        command.addAll(job);
        Path printed = folder.resolve("printed-" + policy + "-" + mode);
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(printed.toFile()).directory(folder.toFile());
        builder.environment().putAll(Map.of("JAVA_HOME", java.toString(), "SPARK_HOME", spark.toString(), "SPARK_LOCAL_IP", "127.0.0.1"));
        Process process = builder.start();
        boolean ended = process.waitFor(180 + Integer.getInteger("chaosSeconds", 20), TimeUnit.SECONDS);
        if (!ended) {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly().waitFor();
        }
        output = Files.readString(printed).lines().filter(line -> !line.contains(" INFO ") || line.contains("agewise")).collect(Collectors.joining("\n"));
        assertTrue(ended && process.exitValue() == 0, () -> command + "\n" + output);
        output.lines().filter(line -> line.matches("[a-z0-9.]+ -?[0-9]+")).forEach(line -> {
            int space = line.indexOf(' ');
            values.put(line.substring(0, space), Long.parseLong(line.substring(space + 1)));
        });
        StringBuilder all = new StringBuilder();
        for (File file : log.toFile().listFiles()) {
            Files.readString(file.toPath()).lines().filter(line -> line.contains("pagewise.spark.Report")).forEach(line -> all.append(line).append('\n'));
        }
        events = all.toString();
        System.out.println("Spark " + version + ", JDK " + jdk + ", " + master + ", " + policy + " " + mode + ", host " + hostMode() + ": " + values);
    }

    /** The distribution as the run sees it: in {@code local-cluster} workers write to {@code work/} in it, and it is not ours. */
    private Path homeOfRun(Path distribution) throws IOException {
        Path home = folder.resolve("spark-" + distribution.getFileName());
        if (Files.isDirectory(home)) {
            return home;
        }
        Files.createDirectory(home);
        for (File entry : distribution.toFile().listFiles((parent, name) -> !name.equals("work"))) {
            Files.createSymbolicLink(home.resolve(entry.getName()), entry.toPath());
        }
        return home;
    }

    /** When this host makes a huge page: always, madvise or never. */
    private static String hostMode() throws IOException {
        String text = Files.readString(Path.of("/sys/kernel/mm/transparent_hugepage/enabled"));
        return text.substring(text.indexOf('[') + 1, text.indexOf(']'));
    }

    /** What the job must come to, under every policy. */
    private static long checksum() {
        long once = 0;
        for (int number = 0; number < OBJECTS; number++) {
            once += Job.sum(Job.object(number));
        }
        long all = 0;
        for (int pass = 0; pass < PASSES; pass++) {
            all = 31 * all + once;
        }
        return all;
    }

    private static Path javaHome(int version) throws IOException {
        String given = System.getenv("PAGEWISE_JDK_" + version);
        if (given != null) {
            return Path.of(given);
        }
        try (Stream<Path> homes = Files.list(Path.of("/usr/lib/jvm"))) {
            for (Path home : homes.sorted().toList()) {
                Path release = home.resolve("release");
                if (Files.isReadable(release) && Files.readString(release).contains("JAVA_VERSION=\"" + version + ".")) {
                    return home;
                }
            }
        }
        throw skip("jdk" + version, "no JDK " + version);
    }

    private static Path sparkHome(String version) throws IOException, InterruptedException {
        Path reason = Files.createTempFile("spark-home", ".txt");
        try {
            Process process = new ProcessBuilder("../../scripts/spark-home", version).redirectError(reason.toFile()).start();
            String printed = new String(process.getInputStream().readAllBytes()).trim();
            if (process.waitFor() == 0) {
                return Path.of(printed);
            }
            throw skip("pip", Files.readString(reason).trim());
        } finally {
            Files.delete(reason);
        }
    }

    /** As {@code requires!} of the tests in Rust. */
    private static AssertionError skip(String need, String reason) throws IOException {
        if (Arrays.asList(System.getenv().getOrDefault("PAGEWISE_REQUIRE", "").split(",")).contains(need)) {
            fail("this needs '" + need + "', which PAGEWISE_REQUIRE promises: " + reason);
        }
        String line = "SKIP spark-plugin::OnSparkTest: not run: " + reason;
        String log = System.getenv("PAGEWISE_SKIP_LOG");
        if (log != null) {
            Files.writeString(Path.of(log), line + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        }
        Assumptions.abort(line);
        return new AssertionError("abort returns never");
    }
}
