package pagewise.placement;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;

/**
 * JDKs of this machine, and programs run on them. A JDK is where {@code PAGEWISE_JDK_25} (or 17, 21) says, else the first under
 * {@code /usr/lib/jvm} whose file {@code release} has the version. Where there is none the test says so; {@code PAGEWISE_REQUIRE=jdk25}
 * makes that a failure.
 */
record Jvm(int version, Path home) {
    static Jvm find(int version, String test) {
        String named = System.getenv("PAGEWISE_JDK_" + version);
        if (named != null) {
            return new Jvm(version, Path.of(named));
        }
        try (Stream<Path> homes = Files.list(Path.of("/usr/lib/jvm"))) {
            List<Path> found = homes.filter(home -> isVersion(home, version)).sorted().toList();
            if (!found.isEmpty()) {
                return new Jvm(version, found.get(0));
            }
        } catch (IOException none) {
            // As where none of them fits.
        }
        skip(test, "jdk" + version, "no JDK " + version + " (/usr/lib/jvm; PAGEWISE_JDK_" + version + " names another place)");
        throw new AssertionError("skip returns never");
    }

    private static boolean isVersion(Path home, int version) {
        try {
            return Files.isExecutable(home.resolve("bin/java"))
                    && Files.readString(home.resolve("release")).matches("(?s).*JAVA_VERSION=\"" + version + "[.\"].*");
        } catch (IOException none) {
            return false;
        }
    }

    /** As {@code requires!} of the tests in Rust. */
    static void skip(String test, String need, String reason) {
        String promised = System.getenv().getOrDefault("PAGEWISE_REQUIRE", "");
        if (Arrays.asList(promised.split(",")).contains(need)) {
            fail(test + " needs '" + need + "', which PAGEWISE_REQUIRE promises: " + reason);
        }
        String line = "SKIP placement::" + test + ": not run: " + reason;
        String log = System.getenv("PAGEWISE_SKIP_LOG");
        if (log != null) {
            try {
                Files.writeString(Path.of(log), line + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
            } catch (IOException error) {
                fail("cannot append to " + log + ": " + error);
            }
        }
        Assumptions.abort(line);
    }

    /** The class path of the tests, with or without JNA. */
    static String classPath(boolean jna) {
        return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(entry -> jna || !entry.matches(".*/jna-[0-9.]+\\.jar"))
                .collect(Collectors.joining(File.pathSeparator));
    }

    /** What the program printed; it must end with success within a minute. */
    String run(List<String> options, String classPath, String... program) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(home.resolve("bin/java").toString()));
        command.addAll(options);
        if (version >= 22) {
            command.add("--enable-native-access=ALL-UNNAMED");
        }
        command.addAll(List.of("-cp", classPath));
        command.addAll(List.of(program));
        Path output = Files.createTempFile("placement", ".txt");
        try {
            Process process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile()).start();
            boolean ended = process.waitFor(60, TimeUnit.SECONDS);
            if (!ended) {
                process.destroyForcibly().waitFor();
            }
            String text = Files.readString(output);
            assertTrue(ended && process.exitValue() == 0, () -> command + "\n" + text);
            return text;
        } finally {
            Files.delete(output);
        }
    }
}
