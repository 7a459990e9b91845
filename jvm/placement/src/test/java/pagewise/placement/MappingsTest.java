package pagewise.placement;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

class MappingsTest {
    /** Cut from a JVM on Linux 6.18, and a hugetlb mapping as the kernel's documentation has it. */
    private static final List<String> SMAPS = List.of(
            "da800000-fde00000 rw-p 00000000 00:00 0 ",
            "Size:             579584 kB",
            "Rss:               40960 kB",
            "AnonHugePages:     32768 kB",
            "Swap:               1024 kB",
            "VmFlags: rd wr mr mw me ac hg",
            "fde00000-fe000000 ---p 00000000 00:00 0 ",
            "Rss:                   0 kB",
            "fe000000-100000000 rw-p 00d5f000 08:01 1234                             /usr/lib/jvm/a b/lib/server/classes.jsa",
            "Rss:                1024 kB",
            "7f0000000000-7f0000400000 rw-p 00000000 00:0f 7                          /anon_hugepage (deleted)",
            "Rss:                   0 kB",
            "Private_Hugetlb:    4096 kB");

    @Test
    void readsWhatIsResidentHugeAndSwapped() {
        List<Mappings.Mapping> found = Mappings.parse(SMAPS);
        assertEquals(4, found.size());
        assertEquals(new Range(0xda800000L, 0xfde00000L), found.get(0).range());
        assertEquals(40960L << 10, found.get(0).resident());
        assertEquals(32768L << 10, found.get(0).huge());
        assertEquals(1024L << 10, found.get(0).swapped());
        assertTrue(found.get(0).anonymous());
        assertEquals("/usr/lib/jvm/a b/lib/server/classes.jsa", found.get(2).file());
        assertEquals(4096L << 10, found.get(3).resident(), "hugetlb pages are in no Rss");
        assertEquals(4096L << 10, found.get(3).huge());
    }

    @Test
    void linesOfAnotherFormSayNothing() {
        assertTrue(Mappings.parse(List.of("", "abc", "zz-yy rw-p 0 0 0", "12345", "Rss: x kB")).isEmpty());
    }

    @Test
    void aGapIsNotCovered() {
        List<Mappings.Mapping> found = Mappings.parse(SMAPS);
        assertTrue(Mappings.cover(found, new Range(0xda800000L, 0x100000000L)));
        assertFalse(Mappings.cover(found, new Range(0xda800000L, 0x100001000L)));
        assertFalse(Mappings.cover(found, new Range(0xda000000L, 0xdb000000L)));
    }

    @Test
    void theHeapIsWhatAdjoinsAnObjectAndIsLongEnough() {
        List<Mappings.Mapping> found = Mappings.parse(SMAPS);
        long size = 600L << 20;
        assertEquals(new Range(0xda800000L, 0x100000000L), HeapRange.around(found, 0xdb000000L, size));
        assertTrue(HeapRange.around(found, 0xdb000000L, size + 4096).isEmpty(), "larger than what is mapped");
        assertTrue(HeapRange.around(found, 0x1000, size).isEmpty(), "no mapping holds the object");
        assertTrue(HeapRange.around(found, 0xdb000000L, 0).isEmpty(), "no size known");
        assertTrue(HeapRange.around(List.of(), 0xdb000000L, size).isEmpty());
    }

    /** The kernel joined two mappings while the list was read: the second is listed from where the first began. */
    @Test
    void aHeapWhoseMappingsWereJoinedMeanwhileIsFound() {
        List<Mappings.Mapping> found = Mappings.parse(List.of(
                "e0000000-e1000000 rw-p 00000000 00:00 0 ", "e0000000-f0000000 rw-p 00000000 00:00 0 ", "f0000000-100000000 ---p 00000000 00:00 0 "));
        Range heap = new Range(0xe0000000L, 0x100000000L);
        assertEquals(heap, HeapRange.around(found, 0xe0800000L, heap.length()));
        assertEquals(heap, HeapRange.around(found, 0xe8000000L, heap.length()));
    }

    /** As JDK 25 once had it: its class space was put right below the heap. */
    @Test
    void aHeapThatOtherMemoryAdjoinsBelowIsFoundByItsLength() {
        List<String> lines = new java.util.ArrayList<>(List.of(
                "9f000000-9f001000 ---p 00000000 00:00 0 ",
                "9f001000-9fd95000 rw-p 00001000 fe:00 315633                             /usr/lib/jvm/jdk-25/lib/server/classes.jsa",
                "9fd95000-a0000000 ---p 00000000 00:00 0 ",
                "a0000000-a0060000 rw-p 00000000 00:00 0 ",
                "a0060000-e0000000 ---p 00000000 00:00 0 ",
                "e0000000-100000000 rw-p 00000000 00:00 0 "));
        Range heap = new Range(0xe0000000L, 0x100000000L);
        assertEquals(heap, HeapRange.around(Mappings.parse(lines), 0xf650b140L, heap.length()));
        lines.set(5, "e0000000-120000000 rw-p 00000000 00:00 0 ");
        assertTrue(HeapRange.around(Mappings.parse(lines), 0xf650b140L, heap.length()).isEmpty(), "no mapping ends with it");
        lines.set(5, "e0000000-f0000000 rw-p 00000000 00:00 0 ");
        lines.add("f0000000-100000000 ---p 00000000 00:00 0 ");
        lines.add("100000000-110000000 rw-p 00000000 00:00 0 ");
        assertTrue(HeapRange.around(Mappings.parse(lines), 0xf650b140L, heap.length()).isEmpty(), "two fit");
    }
}
