package pagewise.placement;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

class HotspotFieldsTest {
    @Test
    void everyLineHasANameAKindAndSpellings() {
        Set<String> names = new HashSet<>();
        for (String line : VmStructures.list()) {
            String[] columns = line.split("\t");
            assertEquals(3, columns.length, line);
            assertTrue(names.add(columns[0]), "twice: " + columns[0]);
            assertTrue(Set.of("static", "offset", "constant").contains(columns[1]), line);
            for (String spelling : columns[2].split(" ")) {
                assertTrue(spelling.matches("\\w+::\\w+"), line);
            }
        }
    }

    /** A JVM whose structures moved is noticed, by the kernel or by the checks: it is never believed, and nothing crashes. */
    @Test
    void aFieldThatMovedIsNoticed() throws VmStructures.Unreadable {
        Assumptions.assumeTrue(Heap.inspect().collector() == Collector.G1, "not run: these tests were not started under G1");
        Map<String, Long> right = VmStructures.open().values();
        assertDoesNotThrow(() -> new HeapReader(new VmStructures(right)).read());
        for (String name : List.of(
                "heap", "heap.reserved", "memory.start", "memory.words", "g1.region_bytes", "g1.manager", "g1.table", "g1.table.base",
                "g1.table.length", "g1.region.bottom", "g1.region.top", "g1.region.end")) {
            for (long by : new long[] {-16, -8, 8, 16, 64, 1L << 40}) {
                Map<String, Long> moved = new HashMap<>(right);
                moved.merge(name, by, Long::sum);
                // What lies 8 bytes before the top is the end, which is a possible top.
                if (name.equals("g1.region.top") && by == -8) {
                    continue;
                }
                // Before the base of the table lies where its memory was allocated: the same address, if that was aligned already.
                if (name.equals("g1.table.base") && by == -8 && tableBase(moved) == tableBase(right)) {
                    continue;
                }
                assertThrows(
                        VmStructures.Unreadable.class, () -> new HeapReader(new VmStructures(moved)).read(), name + " moved by " + by);
            }
            Map<String, Long> without = new HashMap<>(right);
            without.remove(name);
            assertThrows(VmStructures.Unreadable.class, () -> new HeapReader(new VmStructures(without)).read(), "without " + name);
        }
    }

    private static long tableBase(Map<String, Long> values) throws VmStructures.Unreadable {
        VmStructures structures = new VmStructures(values);
        long heap = VmStructures.word(structures.at("heap"));
        return structures.word(heap + structures.at("g1.manager") + structures.at("g1.table"), "g1.table.base");
    }
}
