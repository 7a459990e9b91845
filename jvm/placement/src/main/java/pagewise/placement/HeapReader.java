package pagewise.placement;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

/** The heap from HotSpot's structures, and the checks that it has to pass before anybody believes it. */
final class HeapReader {
    private static HeapReader instance;
    private static VmStructures.Unreadable failure;

    private final VmStructures structures;
    private final long heap;
    private final Range reserved;
    /** Null under other collectors. */
    private final G1Regions g1;

    /** Opened once; a JVM whose structures do not check out is not asked again. */
    static synchronized HeapReader get() throws VmStructures.Unreadable {
        if (failure != null) {
            throw failure;
        }
        if (instance == null) {
            try {
                instance = new HeapReader(VmStructures.open());
            } catch (VmStructures.Unreadable why) {
                failure = why;
                throw why;
            }
        }
        return instance;
    }

    HeapReader(VmStructures structures) throws VmStructures.Unreadable {
        this.structures = structures;
        heap = VmStructures.word(structures.at("heap"));
        long memory = heap + structures.at("heap.reserved");
        long start = structures.word(memory, "memory.start");
        reserved = new Range(start, start + structures.word(memory, "memory.words") * 8);
        check(reserved.length() == JvmFlags.number("MaxHeapSize"),
                "the heap's range " + reserved + " is not as long as MaxHeapSize, " + JvmFlags.number("MaxHeapSize"));
        check(Mappings.cover(Mappings.maps(), reserved), "/proc/self/maps does not have the heap's range " + reserved);
        long object = Addresses.of(new Object());
        check(reserved.holds(object), "a new object at " + Long.toHexString(object) + " lies outside the heap's range " + reserved);
        g1 = Heap.ofThisJvm() == Collector.G1 ? new G1Regions(structures, heap, reserved) : null;
        knowsNewFromOld();
    }

    /**
     * A new object is young and lies below its region's top: the last check, since it takes kinds, tops and the order of regions together.
     * A collection in between may move the object, so it has several attempts.
     */
    private void knowsNewFromOld() throws VmStructures.Unreadable {
        String found = "";
        for (int attempt = 0; attempt < 5; attempt++) {
            long object = Addresses.of(new Object());
            Region region = read().regionOf(object);
            if (region != null && region.kind() == Region.Kind.YOUNG && region.used().holds(object)) {
                return;
            }
            found = "a new object at " + Long.toHexString(object) + " is said to lie in " + region;
        }
        check(false, found);
    }

    Heap read() throws VmStructures.Unreadable {
        return switch (Heap.ofThisJvm()) {
            case G1 -> Heap.known(reserved, g1.regionSize, g1.read(), new Range(0, 0), new Range(0, 0));
            case PARALLEL -> parallel();
            case SERIAL -> serial();
            default -> throw new VmStructures.Unreadable(Heap.ofThisJvm().why());
        };
    }

    private Heap parallel() throws VmStructures.Unreadable {
        long young = VmStructures.word(structures.at("parallel.young"));
        long old = VmStructures.word(structures.at("parallel.old"));
        long[] spaces = {
            structures.word(young, "parallel.eden"), structures.word(young, "parallel.from"), structures.word(young, "parallel.to")
        };
        return generations(
                "parallel",
                parallelMemory(structures.word(young, "parallel.young.memory")),
                parallelMemory(structures.word(old, "parallel.old.memory")),
                spaces,
                structures.word(old, "parallel.old.space"));
    }

    private Range parallelMemory(long memory) throws VmStructures.Unreadable {
        return new Range(structures.word(memory, "parallel.memory.low"), structures.word(memory, "parallel.memory.high"));
    }

    private Heap serial() throws VmStructures.Unreadable {
        long young = structures.word(heap, "serial.young");
        long old = structures.word(heap, "serial.old");
        long[] spaces = {structures.word(young, "serial.eden"), structures.word(young, "serial.from"), structures.word(young, "serial.to")};
        return generations(
                "serial", serialMemory(young), serialMemory(old), spaces, structures.word(old, "serial.old.space"));
    }

    private Range serialMemory(long generation) throws VmStructures.Unreadable {
        long memory = generation + structures.at("serial.generation.reserved");
        long start = structures.word(memory, "memory.start");
        return new Range(start, start + structures.word(memory, "memory.words") * 8);
    }

    private Heap generations(String collector, Range young, Range old, long[] youngSpaces, long oldSpace)
            throws VmStructures.Unreadable {
        // Parallel has its old generation low, Serial high.
        Range low = old.start() < young.start() ? old : young;
        Range high = low == old ? young : old;
        check(low.start() == reserved.start() && low.end() == high.start() && high.end() == reserved.end(),
                "the old generation " + old + " and the young " + young + " do not make up the heap " + reserved);
        List<Region> regions = new ArrayList<>();
        for (long space : youngSpaces) {
            regions.add(space(collector, space, young, Region.Kind.YOUNG));
        }
        regions.add(space(collector, oldSpace, old, Region.Kind.OLD));
        regions.sort(Comparator.comparingLong(Region::bottom));
        return Heap.known(reserved, 0, regions, young, old);
    }

    private Region space(String collector, long space, Range generation, Region.Kind kind) throws VmStructures.Unreadable {
        long bottom = structures.word(space, collector + ".space.bottom");
        long top = structures.word(space, collector + ".space.top");
        long end = structures.word(space, collector + ".space.end");
        // A collection may swap or resize the spaces while they are read: that is no wrong table, so what is read is bounded, not refused.
        Range range = new Range(bottom, end).and(generation);
        return new Region(range.start(), Math.max(range.start(), Math.min(range.end(), top)), range.end(), kind);
    }

    static void check(boolean holds, String fault) throws VmStructures.Unreadable {
        if (!holds) {
            throw new VmStructures.Unreadable(fault + ": HotSpot's structures are not as " + VmStructures.LIST + " has them");
        }
    }

    /** G1's table of regions. */
    private static final class G1Regions {
        final long regionSize;
        private final Range reserved;
        private final int length;
        private final ScatteredReads table;
        private final long[] present;
        private final int[] index;
        private ScatteredReads structures;
        private final int bottomAt;
        private final int topAt;
        private final int endAt;
        private final int tagAt;
        private final int span;
        private final long free;
        private final long young;
        private final long humongous;
        private final long archive;
        private final long old;

        G1Regions(VmStructures structures, long heap, Range reserved) throws VmStructures.Unreadable {
            this.reserved = reserved;
            regionSize = VmStructures.word(structures.at("g1.region_bytes"));
            check(regionSize == JvmFlags.number("G1HeapRegionSize") && Long.bitCount(regionSize) == 1,
                    "regions of " + regionSize + " bytes are not G1HeapRegionSize, " + JvmFlags.number("G1HeapRegionSize"));
            long regions = heap + structures.at("g1.manager") + structures.at("g1.table");
            long entries = structures.word(regions, "g1.table.length");
            check(entries > 0 && entries * regionSize == reserved.length(),
                    entries + " regions of " + regionSize + " bytes are not the heap " + reserved);
            length = (int) entries;
            table = new ScatteredReads(new long[] {structures.word(regions, "g1.table.base")}, length * 8);
            present = new long[length];
            index = new int[length];
            bottomAt = field(structures, "g1.region.bottom");
            topAt = field(structures, "g1.region.top");
            endAt = field(structures, "g1.region.end");
            tagAt = field(structures, "g1.region.type") + field(structures, "g1.type.tag");
            span = Math.max(Math.max(bottomAt, topAt), Math.max(endAt, tagAt)) + 8;
            free = structures.at("g1.tag.free");
            young = structures.at("g1.tag.young_mask");
            humongous = structures.at("g1.tag.humongous_mask");
            old = structures.at("g1.tag.old_mask");
            archive = structures.has("g1.tag.archive_mask") ? structures.at("g1.tag.archive_mask") : 0;
        }

        private static int field(VmStructures structures, String name) throws VmStructures.Unreadable {
            long offset = structures.at(name);
            check(offset >= 0 && offset < 4096, name + " lies " + offset + " bytes into its structure");
            return (int) offset;
        }

        /** One at a time: the buffers are kept. */
        synchronized List<Region> read() throws VmStructures.Unreadable {
            ByteBuffer pointers = table.read();
            // Regions that were never committed have no structure yet.
            int count = 0;
            for (int at = 0; at < length; at++) {
                long pointer = pointers.getLong(at * 8);
                if (pointer != 0) {
                    index[count] = at;
                    present[count++] = pointer;
                }
            }
            if (structures == null || !structures.isOf(present, count)) {
                structures = new ScatteredReads(Arrays.copyOf(present, count), span);
            }
            ByteBuffer all = structures.read();
            List<Region> regions = new ArrayList<>(count);
            for (int at = 0; at < count; at++) {
                regions.add(region(all, structures.place(at), index[at]));
            }
            return regions;
        }

        private Region region(ByteBuffer structures, int at, int index) throws VmStructures.Unreadable {
            long bottom = structures.getLong(at + bottomAt);
            long top = structures.getLong(at + topAt);
            long end = structures.getLong(at + endAt);
            check(bottom == reserved.start() + index * regionSize && end == bottom + regionSize && top >= bottom && top <= end,
                    "region " + index + " from " + Long.toHexString(bottom) + " to " + Long.toHexString(end) + ", in use to "
                            + Long.toHexString(top) + ", is not region " + index + " of the heap " + reserved);
            return new Region(bottom, top, end, kind(structures.getInt(at + tagAt)));
        }

        /** The order matters: in JDK 17 a humongous and an archive region also has the mark of old ones or of pinned ones. */
        private Region.Kind kind(long tag) {
            if (tag == free) {
                return Region.Kind.FREE;
            } else if ((tag & young) != 0) {
                return Region.Kind.YOUNG;
            } else if ((tag & humongous) != 0) {
                return Region.Kind.HUMONGOUS;
            } else if ((tag & archive) != 0) {
                return Region.Kind.ARCHIVE;
            } else if ((tag & old) != 0) {
                return Region.Kind.OLD;
            }
            return Region.Kind.UNKNOWN;
        }
    }
}
