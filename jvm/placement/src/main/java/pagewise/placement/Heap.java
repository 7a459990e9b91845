package pagewise.placement;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/**
 * The Java heap of this process as it was at one moment: where it lies, and what of it is old, young or free.
 *
 * <p>Regions change while they are read. That is harmless: the answer is only good for advice that keeps content, and a stale one
 * wastes work.
 */
public final class Heap {
    /** Where the answer comes from. */
    public enum Source {
        /** HotSpot's own structures, which passed every check. */
        STRUCTURES,
        /** Only the heap's range is known: cut it by a fraction. {@link Heap#why} says what the structures lacked. */
        RANGE_ONLY,
        /** Nothing is known. */
        NONE
    }

    /** A property: {@code off} leaves the structures unread, as on a JVM that does not pass the checks. */
    public static final String STRUCTURES_PROPERTY = "pagewise.placement.structures";

    private static final Collector COLLECTOR = detect();

    private final Source source;
    private final String why;
    private final Range range;
    private final long regionSize;
    private final List<Region> regions;
    private final Range young;
    private final Range old;

    private Heap(Source source, String why, Range range, long regionSize, List<Region> regions, Range young, Range old) {
        this.source = source;
        this.why = why;
        this.range = range;
        this.regionSize = regionSize;
        this.regions = List.copyOf(regions);
        this.young = young;
        this.old = old;
    }

    static Heap known(Range range, long regionSize, List<Region> regions, Range young, Range old) {
        return new Heap(Source.STRUCTURES, "", range, regionSize, regions, young, old);
    }

    /** Reads the heap now. The first time also loads JNA and reads the tables, some tenths of a second. */
    public static Heap inspect() {
        Range nothing = new Range(0, 0);
        if (!COLLECTOR.placeable()) {
            return new Heap(Source.NONE, COLLECTOR.why(), nothing, 0, List.of(), nothing, nothing);
        }
        String why;
        try {
            if (System.getProperty(STRUCTURES_PROPERTY, "").equals("off")) {
                why = "-D" + STRUCTURES_PROPERTY + "=off";
            } else {
                return HeapReader.get().read();
            }
        } catch (VmStructures.Unreadable unread) {
            why = unread.getMessage();
        } catch (LinkageError | RuntimeException surprise) {
            why = "unforeseen: " + surprise;
        }
        Range range = HeapRange.fromMappings();
        return new Heap(
                range.isEmpty() ? Source.NONE : Source.RANGE_ONLY, why, range, JvmFlags.number("G1HeapRegionSize"), List.of(), nothing, nothing);
    }

    static Collector ofThisJvm() {
        return COLLECTOR;
    }

    private static Collector detect() {
        if (JvmFlags.on("UseG1GC")) {
            return Collector.G1;
        } else if (JvmFlags.on("UseParallelGC")) {
            return Collector.PARALLEL;
        } else if (JvmFlags.on("UseSerialGC")) {
            return Collector.SERIAL;
        } else if (JvmFlags.on("UseZGC")) {
            return Collector.Z;
        } else if (JvmFlags.on("UseShenandoahGC")) {
            return Collector.SHENANDOAH;
        } else if (JvmFlags.on("UseEpsilonGC")) {
            return Collector.EPSILON;
        }
        return Collector.UNKNOWN;
    }

    public Collector collector() {
        return COLLECTOR;
    }

    public Source source() {
        return source;
    }

    /** Why not all is known; empty where it is. */
    public String why() {
        return why;
    }

    /** All addresses reserved for the heap; empty where they are not known. */
    public Range range() {
        return range;
    }

    /** Bytes of a region of G1; 0 under other collectors. */
    public long regionSize() {
        return regionSize;
    }

    /** Under G1 every region that is committed or once was, under Parallel and Serial every space; by address. */
    public List<Region> regions() {
        return regions;
    }

    /** What is reserved for the young generation of Parallel and Serial; empty under G1, which has no fixed place for it. */
    public Range young() {
        return young;
    }

    /** What is reserved for the old generation of Parallel and Serial; empty under G1. */
    public Range old() {
        return old;
    }

    /** The region in which an address lies; null where none is known. */
    public Region regionOf(long address) {
        int low = 0;
        int high = regions.size() - 1;
        while (low <= high) {
            int middle = (low + high) >>> 1;
            Region region = regions.get(middle);
            if (region.range().holds(address)) {
                return region;
            } else if (address < region.bottom()) {
                high = middle - 1;
            } else {
                low = middle + 1;
            }
        }
        return null;
    }

    /**
     * Where old memory lies: the old generation of Parallel and Serial, which is exact; under G1 the low part of the heap, since it takes old
     * and humongous regions from the low end and young ones from the high end (JDK 17, 21, 25: {@code from_head = !type.is_young()}). A full
     * collection of G1 compacts where it finds objects, so after one, old regions may lie anywhere: {@link #regions} says where. Where only
     * the heap's range is known it is cut by the fraction, at a huge page; Serial's old memory lies high.
     *
     * @param fraction the share of the heap, 0 to 1, where there is no exact answer
     */
    public Range placeOfOld(double fraction) {
        return old.isEmpty() ? cut(fraction, COLLECTOR != Collector.SERIAL) : old;
    }

    /** The rest of the heap: where young memory lies, as {@link #placeOfOld} with the same fraction has it. */
    public Range placeOfYoung(double fraction) {
        if (!young.isEmpty()) {
            return young;
        }
        Range other = placeOfOld(fraction);
        return other.start() == range.start() ? new Range(other.end(), range.end()) : new Range(range.start(), other.start());
    }

    private Range cut(double fraction, boolean low) {
        double share = Double.isNaN(fraction) ? 0 : Math.max(0, Math.min(1, fraction));
        long length = ((long) (range.length() * share)) & -Memory.hugePageSize();
        return low ? new Range(range.start(), range.start() + length) : new Range(range.end() - length, range.end());
    }

    /** Whether the JVM was started with all of its heap committed ({@code -Xms} as {@code -Xmx}): memory that it gives back and takes again loses advice. */
    public static boolean isFixedSize() {
        long largest = JvmFlags.number("MaxHeapSize");
        return JvmFlags.number("InitialHeapSize") == largest && JvmFlags.number("MinHeapSize") == largest;
    }

    /** Bytes that the young generation may grow to: {@code -XX:MaxNewSize}, under G1 by default 60 % of the heap. */
    public static long largestYoung() {
        return JvmFlags.number("MaxNewSize");
    }

    /** Whether the JVM touched all of its heap before any advice could be given ({@code -XX:+AlwaysPreTouch}). */
    public static boolean isPreTouched() {
        return JvmFlags.on("AlwaysPreTouch");
    }

    /** Whether the JVM itself was told to use huge pages for all of its heap ({@code UseTransparentHugePages}, {@code UseLargePages}). */
    public static boolean isHugeByFlag() {
        return JvmFlags.on("UseTransparentHugePages") || JvmFlags.on("UseLargePages");
    }

    /** Bytes in use in regions of a kind. */
    public long usedBytes(Region.Kind kind) {
        return regions.stream().filter(region -> region.kind() == kind).mapToLong(region -> region.used().length()).sum();
    }

    /**
     * What is in use in regions of the given kinds, joined where it adjoins, by address. Each top is rounded up to a small page, which is taken
     * anyway: a collector leaves the last bytes of a region free where the next object did not fit.
     */
    public List<Range> used(Region.Kind... kinds) {
        long page = Memory.pageSize();
        return joined(List.of(kinds), region -> new Range(region.bottom(), Math.min(region.end(), (region.top() + page - 1) & -page)));
    }

    /** Regions that are free, joined where they adjoin, by address: of what was once in use memory may be present. */
    public List<Range> free() {
        return joined(List.of(Region.Kind.FREE), Region::range);
    }

    private List<Range> joined(List<Region.Kind> kinds, Function<Region, Range> part) {
        List<Range> joined = new ArrayList<>();
        for (Region region : regions) {
            Range next = part.apply(region);
            if (!kinds.contains(region.kind()) || next.isEmpty()) {
                continue;
            }
            int last = joined.size() - 1;
            if (last >= 0 && joined.get(last).end() == next.start()) {
                joined.set(last, new Range(joined.get(last).start(), next.end()));
            } else {
                joined.add(next);
            }
        }
        return joined;
    }
}
