package pagewise.placement;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** {@link Probe}, on each JDK and collector. */
class OnEachJvmTest {
    private static final String PROBE = "pagewise.placement.Probe";

    private static List<String> heap(String... more) {
        List<String> options = new ArrayList<>(List.of("-Xms512m", "-Xmx512m"));
        options.addAll(List.of(more));
        return options;
    }

    @ParameterizedTest
    @CsvSource({"17,G1", "17,Parallel", "17,Serial", "25,G1", "25,Parallel", "25,Serial"})
    void objectsAreOnHugePagesWhenTheKernelSaysSo(int version, String collector) throws Exception {
        Jvm jvm = Jvm.find(version, "objectsAreOnHugePagesWhenTheKernelSaysSo");
        List<String> options = heap("-XX:+Use" + collector + "GC", "-XX:G1HeapRegionSize=2m");
        System.out.println("JDK " + version + " " + collector + ", " + jvm.run(options, Jvm.classPath(true), PROBE, "placeable", collector.toUpperCase()));
    }

    @ParameterizedTest
    @CsvSource({"17,Z", "25,Z", "17,Shenandoah", "25,Shenandoah"})
    void aCollectorThatCannotBePlacedIsReported(int version, String collector) throws Exception {
        Jvm jvm = Jvm.find(version, "aCollectorThatCannotBePlacedIsReported");
        jvm.run(heap("-XX:+Use" + collector + "GC"), Jvm.classPath(true), PROBE, "not-placeable", collector.toUpperCase());
    }

    @ParameterizedTest
    @ValueSource(ints = {17, 25})
    void oneAdviceBeforeTheFirstTouchPartsOldFromYoung(int version) throws Exception {
        Jvm jvm = Jvm.find(version, "oneAdviceBeforeTheFirstTouchPartsOldFromYoung");
        List<String> options = heap("-XX:+UseG1GC", "-Xmn64m", "-XX:G1HeapRegionSize=2m", "-XX:MaxTenuringThreshold=1");
        System.out.println("JDK " + version + " " + jvm.run(options, Jvm.classPath(true), PROBE, "cut"));
    }

    /** Before ours it is the one that is loaded; after ours it must not disturb. */
    @ParameterizedTest
    @CsvSource({"17,true", "17,false", "25,true", "25,false"})
    void anotherJnaOnTheClassPathDoesNotMatter(int version, boolean first) throws Exception {
        Jvm jvm = Jvm.find(version, "anotherJnaOnTheClassPathDoesNotMatter");
        String other = System.getProperty("otherJna");
        String ours = Jvm.classPath(true);
        String both = first ? other + File.pathSeparator + ours : ours + File.pathSeparator + other;
        jvm.run(heap("-XX:+UseG1GC", "-XX:G1HeapRegionSize=2m"), both, PROBE, "placeable", "G1");
    }

    @ParameterizedTest
    @ValueSource(ints = {17, 25})
    void withoutJnaEverythingAnswersWhy(int version) throws Exception {
        Jvm jvm = Jvm.find(version, "withoutJnaEverythingAnswersWhy");
        jvm.run(heap("-XX:+UseG1GC"), Jvm.classPath(false), PROBE, "no-native", "com.sun.jna");
    }

    @Test
    void whereJnaCannotUnpackEverythingAnswersWhy(@TempDir Path folder) throws Exception {
        Path file = Files.writeString(folder.resolve("file"), "no folder");
        Jvm jvm = Jvm.find(17, "whereJnaCannotUnpackEverythingAnswersWhy");
        jvm.run(heap("-XX:+UseG1GC", "-Djna.tmpdir=" + file), Jvm.classPath(true), PROBE, "no-native", "-Djna.tmpdir");
    }

    @ParameterizedTest
    @ValueSource(ints = {17, 25})
    void aFilterThatRefusesAdviceIsNamed(int version) throws Exception {
        Jvm jvm = Jvm.find(version, "aFilterThatRefusesAdviceIsNamed");
        if (!System.getProperty("os.arch").equals("amd64")) {
            Jvm.skip("aFilterThatRefusesAdviceIsNamed", "x86_64", "the filter is written for x86-64");
        }
        jvm.run(heap("-XX:+UseG1GC"), Jvm.classPath(true), PROBE, "seccomp");
    }
}
