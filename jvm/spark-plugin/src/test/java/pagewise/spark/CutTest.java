package pagewise.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import pagewise.placement.Range;
import pagewise.placement.Region;

class CutTest {
    private static final long MIB = 1 << 20;
    private static final long START = 1L << 32;
    private static final long HUGE = 2 * MIB;

    /** A heap of regions of 1 MiB, each letter one of them: o old, h humongous, y young, a archive, any other free. */
    private static Cut cut(String heap, long window) {
        return cut(heap, window, 1L << 40);
    }

    private static Cut cut(String heap, long window, long largestYoung) {
        List<Region> regions = new ArrayList<>();
        for (int at = 0; at < heap.length(); at++) {
            Region.Kind kind = switch (heap.charAt(at)) {
                case 'o' -> Region.Kind.OLD;
                case 'h' -> Region.Kind.HUMONGOUS;
                case 'y' -> Region.Kind.YOUNG;
                case 'a' -> Region.Kind.ARCHIVE;
                default -> Region.Kind.FREE;
            };
            long bottom = START + at * MIB;
            regions.add(new Region(bottom, kind == Region.Kind.FREE ? bottom : bottom + MIB, bottom + MIB, kind));
        }
        Cut cut = Cut.ofRegions(regions, new Range(START, START + heap.length() * MIB), window, largestYoung, HUGE);
        assertEquals(cut.old().end(), cut.young().start());
        assertEquals(START, cut.old().start());
        assertEquals(START + heap.length() * MIB, cut.young().end());
        return cut;
    }

    private static long mib(Cut cut) {
        return (cut.old().end() - START) / MIB;
    }

    @Test
    void itLeavesRoomForWhatTheNextCollectionMayPromote() {
        Cut cut = cut("oohh................yy", 2 * MIB);
        assertEquals(8, mib(cut), "four in use, two of the window, two that are young");
        assertEquals(List.of(new Range(START + 4 * MIB, START + 5 * MIB), new Range(START + 5 * MIB, START + 6 * MIB)), cut.next());
    }

    @Test
    void whereThereIsRoomItReachesAsFarAsYoungMemoryMayEverFill() {
        assertEquals(10, mib(cut("oohh................yy", 2 * MIB, 4 * MIB)));
        assertEquals(8, mib(cut("oohh................yy", 2 * MIB, 9 * MIB)), "there is none");
    }

    @Test
    void halfOfWhatIsFreeIsLeftToYoungMemory() {
        assertEquals(8, mib(cut("oo............yyyyyyyyyyyyyyyyyyyy", 9 * MIB)));
    }

    @Test
    void oldMemoryThatAFullCollectionLeftHighDoesNotDrawItUp() {
        Cut cut = cut("oo................yyoooo", 2 * MIB);
        assertEquals(6, mib(cut));
        assertEquals(6, mib(cut("oo..................oooo", 4 * MIB)), "with no young memory at all");
    }

    @Test
    void holesAreFilledFirst() {
        Cut cut = cut("o.o.o.............yy", 2 * MIB);
        assertEquals(List.of(new Range(START + MIB, START + 2 * MIB), new Range(START + 3 * MIB, START + 4 * MIB)), cut.next());
        assertEquals(8, mib(cut), "rounded up to a huge page");
    }

    @Test
    void aHeapWithoutFreeMemoryIsCutWhereYoungMemoryBegins() {
        assertEquals(4, mib(cut("ooooyyyy", 2 * MIB)));
        assertEquals(8, mib(cut("oooooooo", 2 * MIB)));
        assertTrue(cut("ooooyyyy", 2 * MIB).next().isEmpty());
    }

    @Test
    void whatIsGainedAndLostWhenARangeMoves() {
        Range first = new Range(0x1000, 0x5000);
        assertEquals(List.of(new Range(0x3000, 0x5000)), Placer.without(first, new Range(0x1000, 0x3000)));
        assertEquals(List.of(new Range(0x1000, 0x2000), new Range(0x4000, 0x5000)), Placer.without(first, new Range(0x2000, 0x4000)));
        assertEquals(List.of(first), Placer.without(first, new Range(0x8000, 0x9000)));
        assertEquals(List.of(), Placer.without(first, new Range(0, 0x9000)));
        assertEquals(List.of(), Placer.without(new Range(0, 0), first));
    }
}
