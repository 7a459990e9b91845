package pagewise.placement;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class SlabTest {
    private static final int MIB = 1 << 20;

    @Test
    void touchedMemoryIsHugeAndOfASmallSlabIsNot() {
        for (Slab.PageKind kind : List.of(Slab.PageKind.HUGE, Slab.PageKind.SMALL, Slab.PageKind.RESERVED)) {
            try (Slab slab = Slab.open(kind, 8 * MIB)) {
                ByteBuffer buffer = slab.allocateBuffer(8 * MIB);
                for (int at = 0; at < buffer.capacity(); at += 4096) {
                    buffer.put(at, (byte) at);
                }
                long address = Addresses.of(buffer);
                assertEquals(0, address % Memory.hugePageSize());
                long[] seen = KernelView.residentAndHuge(new Range(address, address + buffer.capacity()));
                assertTrue(seen[0] >= 8 * MIB, "resident " + seen[0]);
                assertEquals(kind == Slab.PageKind.SMALL ? 0 : 8 * MIB, seen[1], kind + ": " + slab.trouble());
                Coverage coverage = slab.coverage();
                assertEquals(seen[1], coverage.huge(), coverage.toString());
                assertTrue(slab.free(buffer));
            }
        }
    }

    @Test
    void whatIsFreeGoesBackAndNothingElse() {
        Slab slab = Slab.open(Slab.PageKind.HUGE, 4 * MIB);
        long first = slab.allocate(3 * MIB);
        long second = slab.allocate(3 * MIB);
        assertEquals(8 * MIB, slab.usage().mapped());
        assertEquals(2 * MIB, slab.usage().rounding());
        assertEquals(2 * MIB, slab.usage().slack());
        assertEquals(0, slab.trim(0), "both chunks are in use");
        assertTrue(slab.free(second));
        assertFalse(slab.free(second), "the second time");
        assertFalse(slab.free(first + 64), "inside, not at the beginning");
        assertEquals(0, slab.trim(8 * MIB));
        assertEquals(4 * MIB, slab.trim(0));
        assertTrue(slab.owns(first));
        slab.close();
        assertEquals(4 * MIB, slab.usage().mapped(), "still in use");
        assertEquals(0, slab.allocate(64), "closed");
        assertTrue(slab.free(first));
        assertEquals(0, slab.usage().mapped());
        assertEquals(0, KernelView.residentAndHuge(new Range(first, first + 4 * MIB))[0]);
    }

    @Test
    void whatCannotBeAllocatedIsSaid() {
        try (Slab slab = Slab.open(Slab.PageKind.HUGE)) {
            assertEquals(0, slab.allocate(0));
            assertEquals(0, slab.allocate(-1));
            assertEquals(0, slab.allocate(1L << 46));
            assertFalse(slab.trouble().isEmpty());
            assertNull(slab.allocateBuffer(-5));
            assertFalse(slab.free((ByteBuffer) null));
            assertEquals(0, slab.usage().mapped());
        }
    }

    @Test
    void blocksNeverOverlapAndAllComesBack() {
        Random random = new Random(42);
        try (Slab slab = Slab.open(Slab.PageKind.HUGE, 4 * MIB)) {
            TreeMap<Long, Long> live = new TreeMap<>();
            for (int step = 0; step < 20_000; step++) {
                if (live.size() < 50 || random.nextBoolean() && live.size() < 200) {
                    long bytes = 1 + random.nextInt(random.nextInt(20) == 0 ? 5 * MIB : 50_000);
                    long address = slab.allocate(bytes);
                    assertNotEquals(0, address, slab.trouble());
                    var before = live.floorEntry(address);
                    var after = live.ceilingEntry(address);
                    assertTrue(before == null || before.getKey() + before.getValue() <= address);
                    assertTrue(after == null || address + bytes <= after.getKey());
                    live.put(address, bytes);
                } else {
                    List<Long> addresses = new ArrayList<>(live.keySet());
                    long address = addresses.get(random.nextInt(addresses.size()));
                    live.remove(address);
                    assertTrue(slab.free(address));
                }
                Slab.Usage usage = slab.usage();
                assertEquals(live.values().stream().mapToLong(Long::longValue).sum(), usage.handedOut());
                assertEquals(usage.mapped(), usage.handedOut() + usage.rounding() + usage.free());
            }
            live.keySet().forEach(slab::free);
            assertEquals(slab.usage().mapped(), slab.trim(0), "joined again to whole chunks");
            assertEquals(0, slab.usage().mapped());
        }
    }
}
