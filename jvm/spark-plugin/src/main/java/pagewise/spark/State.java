package pagewise.spark;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import pagewise.placement.Coverage;
import pagewise.placement.Heap;
import pagewise.placement.Range;
import pagewise.placement.Region;

/**
 * What the kernel says of an executor's memory at one moment, in bytes; counts of regions are numbers. Kept as what it is called in
 * Spark's metrics and in the event log, so that there is one list of names.
 */
record State(Map<String, Long> values, String missing) {
    static final List<String> NAMES = List.of(
            "heap.old.resident.bytes",
            "heap.old.huge.bytes",
            "heap.young.resident.bytes",
            "heap.young.huge.bytes",
            "heap.free.resident.bytes",
            "heap.free.huge.bytes",
            "heap.old.regions",
            "heap.humongous.regions",
            "heap.young.regions",
            "heap.free.regions",
            "heap.cut.bytes",
            "blocks.resident.bytes",
            "blocks.placeable.bytes",
            "blocks.huge.bytes",
            "tungsten.mapped.bytes",
            "tungsten.slack.bytes",
            "tungsten.reserved.bytes",
            "tungsten.resident.bytes",
            "tungsten.huge.bytes");

    static State unknown(String why) {
        return new State(Map.of(), why);
    }

    static State read(Heap heap, Range old, Slabs slabs, Blocks blocks) {
        if (heap.source() != Heap.Source.STRUCTURES) {
            return unknown(heap.why());
        }
        Map<String, Long> values = new LinkedHashMap<>();
        NAMES.forEach(name -> values.put(name, 0L));
        for (Region region : heap.regions()) {
            values.computeIfPresent("heap." + region.kind().name().toLowerCase(Locale.ROOT) + ".regions", (name, count) -> count + 1);
        }
        String missing = add(values, "old", heap.used(Region.Kind.OLD, Region.Kind.HUMONGOUS))
                + add(values, "young", heap.used(Region.Kind.YOUNG))
                + add(values, "free", heap.free());
        if (!missing.isEmpty()) {
            return unknown(missing);
        }
        values.put("heap.cut.bytes", old.length());
        slabs.describe(values);
        blocks.describe(values);
        return new State(values, "");
    }

    /** Why it could not be read, else nothing. */
    private static String add(Map<String, Long> values, String kind, List<Range> ranges) {
        for (Range range : ranges) {
            Coverage coverage = Coverage.of(range);
            if (!coverage.known()) {
                return coverage.missing();
            }
            values.merge("heap." + kind + ".resident.bytes", coverage.resident(), Long::sum);
            values.merge("heap." + kind + ".huge.bytes", coverage.huge(), Long::sum);
        }
        return "";
    }
}
