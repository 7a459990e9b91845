package pagewise.placement;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/** The heap's range where HotSpot's structures do not say it: what lies around a fresh object and is as long as the heap may become. */
final class HeapRange {
    private HeapRange() {}

    /** A read of the mappings is not atomic: where one does not add up, another may. */
    private static final int ATTEMPTS = 5;

    /** Empty where it cannot be told. */
    static Range fromMappings() {
        Range heap = new Range(0, 0);
        for (int attempt = 0; attempt < ATTEMPTS && heap.isEmpty(); attempt++) {
            heap = around(Mappings.maps(), Addresses.of(new Object()), JvmFlags.number("MaxHeapSize"));
        }
        return heap;
    }

    /**
     * The heap is one reservation of exactly its greatest size, anonymous but for objects that G1 maps from the class data archive
     * ({@code classes.jsa}). Other memory may adjoin it: compressed classes above, and below too, since newer JDKs put them at a random
     * place. So it is what begins and ends with a mapping; where its end has grown together with what follows, it begins where the run of
     * such mappings does. What fits in two ways is not told. The kernel gives the list in pieces; a mapping that was joined to the one
     * before it in between is listed from its new beginning, and overlaps what came before.
     */
    static Range around(List<Mappings.Mapping> mappings, long object, long size) {
        Range run = new Range(0, 0);
        Set<Long> starts = new TreeSet<>();
        Set<Long> ends = new HashSet<>();
        boolean found = false;
        for (Mappings.Mapping mapping : mappings) {
            boolean fits = mapping.anonymous() || mapping.file().endsWith(".jsa");
            if (!fits || mapping.range().start() > run.end()) {
                if (found) {
                    break;
                }
                starts.clear();
                ends.clear();
                run = fits ? mapping.range() : new Range(0, 0);
            }
            if (fits) {
                run = new Range(Math.min(run.start(), mapping.range().start()), Math.max(run.end(), mapping.range().end()));
                starts.add(mapping.range().start());
                ends.add(mapping.range().end());
                found |= mapping.range().holds(object);
            }
        }
        if (!found || size <= 0) {
            return new Range(0, 0);
        }
        List<Range> whole = new ArrayList<>();
        for (long start : starts) {
            Range heap = new Range(start, start + size);
            if (ends.contains(heap.end()) && heap.holds(object)) {
                whole.add(heap);
            }
        }
        if (whole.isEmpty()) {
            Range heap = new Range(run.start(), run.start() + size);
            return run.holds(heap) && heap.holds(object) ? heap : new Range(0, 0);
        }
        return whole.size() == 1 ? whole.get(0) : new Range(0, 0);
    }
}
