package pagewise.placement;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The example of the guide, as it stands there. */
class GuideTest {
    private static final Path GUIDE = Path.of("../../docs/guide/huge-pages-in-java.md");

    @ParameterizedTest
    @ValueSource(ints = {17, 25})
    void theExampleCompilesAndDoesWhatThePageSays(int version, @TempDir Path folder) throws Exception {
        Jvm jvm = Jvm.find(version, "theExampleCompilesAndDoesWhatThePageSays");
        Matcher block = Pattern.compile("(?s)```java\n(.*?)```").matcher(Files.readString(GUIDE));
        assertTrue(block.find(), "the page has an example");
        Path source = Files.writeString(folder.resolve("HugePagesExample.java"), block.group(1));
        int status = ToolProvider.getSystemJavaCompiler()
                .run(null, null, null, "-cp", Jvm.classPath(true), "-d", folder.toString(), source.toString());
        assertEquals(0, status, "it compiles");

        String printed = jvm.run(
                List.of("-Xms512m", "-Xmx512m", "-XX:+UseG1GC", "-XX:G1HeapRegionSize=2m"),
                Jvm.classPath(true) + File.pathSeparator + folder,
                "HugePagesExample");
        String figures = "(?s).*cache: (\\d+) of \\1 huge pages put together; 300002 objects; where they lie \\d+ bytes are resident, \\d{9} on huge.*"
                + "table: (3[12]|33) of \\2 huge pages.*slab: 2097152 bytes huge, slack 33554432\n.*";
        assertTrue(printed.matches(figures), printed);
    }
}
