package pagewise.placement;

import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;

/**
 * Puts chosen Java objects on huge pages, on a JVM as it is. Objects stay where the collector has them; the memory under them becomes huge.
 * It stays so when the collector later moves the objects.
 */
public final class Placement {
    private Placement() {}

    /**
     * Puts the huge pages' worth of old memory that an object and all it refers to lie in on huge pages, as fast as the kernel can. Other
     * threads that fault meanwhile wait: {@link #place(Object, int)} bounds that. Takes some tens of bytes of heap for each object while it
     * walks; the graph should not change meanwhile (a change is harmless, and may be missed).
     */
    public static Placed place(Object root) {
        return place(root, 0);
    }

    /** As {@link #place(Object)}, with at most so many huge pages a second; 0 for no bound. */
    public static Placed place(Object root, int pagesPerSecond) {
        Heap before = Heap.inspect();
        if (root == null || before.source() != Heap.Source.STRUCTURES) {
            return nothing(root == null ? "null refers to nothing" : "cannot tell old memory from young: " + before.why());
        }
        Target target = new Target(before);
        ObjectGraph graph = new ObjectGraph();
        try {
            graph.walk(root, target::add);
        } catch (OutOfMemoryError tooLarge) {
            return nothing("the heap has no room for walking the graph (some tens of bytes for each object)");
        }
        return target.collapse(pagesPerSecond, graph.unseen());
    }

    /**
     * Asks for a full collection first ({@link System#gc}), after which all that lives is old, or nearly: for data that was just made. Under
     * G1 a full collection leaves objects where it finds room, so it does not suit a heap that is cut by {@link Heap#placeOfOld}.
     */
    public static Placed promoteAndPlace(Object root) {
        System.gc();
        return place(root, 0);
    }

    /**
     * A new array on huge pages. Under G1 one of half a region or more never lies in the young generation, and is huge at once; a smaller
     * one, and under other collectors any, may begin young: {@link Placed#youngObjects} says so, and {@link #place(Object)} can be asked
     * again later.
     *
     * @param type such as {@code long[].class}
     * @throws IllegalArgumentException   if {@code type} is not an array's
     * @throws NegativeArraySizeException as for any array
     * @throws OutOfMemoryError           as for any array
     */
    public static <A> HugeArray<A> hugeArray(Class<A> type, int length) {
        if (!type.isArray()) {
            throw new IllegalArgumentException(type + " is no type of array: give one such as long[].class");
        }
        A array = type.cast(Array.newInstance(type.getComponentType(), length));
        Heap heap = Heap.inspect();
        if (heap.source() != Heap.Source.STRUCTURES) {
            return new HugeArray<>(array, nothing("cannot tell old memory from young: " + heap.why()));
        }
        Target target = new Target(heap);
        target.add(array);
        return new HugeArray<>(array, target.collapse(0, 0));
    }

    private static Placed nothing(String why) {
        return new Placed(Outcome.notTried(why), Coverage.unknown(new Range(0, 0), why), 0, 0, 0);
    }

    /** The huge pages' worth of memory in which objects were met. */
    private static final class Target {
        private final Heap heap;
        private final long huge = Memory.hugePageSize();
        private final TreeSet<Long> pages = new TreeSet<>();
        private long objects;
        private long young;
        /** The last region found: neighbours in a graph are mostly neighbours in memory. */
        private Region last = new Region(0, 0, 0, Region.Kind.UNKNOWN);
        private long lastPage;

        Target(Heap heap) {
            this.heap = heap;
        }

        void add(Object object) {
            objects++;
            long address = Addresses.of(object);
            if (!last.range().holds(address)) {
                Region found = heap.regionOf(address);
                if (found == null) {
                    return;
                }
                last = found;
            }
            if (last.kind() == Region.Kind.YOUNG || last.kind() == Region.Kind.FREE) {
                // Free when the heap was read, so young by now.
                young++;
                return;
            }
            if (last.kind() != Region.Kind.OLD && last.kind() != Region.Kind.HUMONGOUS) {
                return;
            }
            long end = address + Math.max(1, ObjectGraph.arrayBytes(object));
            for (long page = address & -huge; page < end; page += huge) {
                if (page != lastPage) {
                    pages.add(page);
                    lastPage = page;
                }
            }
        }

        Placed collapse(int pagesPerSecond, long unseen) {
            // Looked at again: what was free or young below a top may be old by now.
            Heap now = Heap.inspect();
            List<Range> whole = new ArrayList<>();
            List<Range> touched = new ArrayList<>();
            List<Range> used = now.used(Region.Kind.OLD, Region.Kind.HUMONGOUS);
            int at = 0;
            for (long start : pages) {
                Range page = new Range(start, start + huge);
                while (at < used.size() && used.get(at).end() <= start) {
                    at++;
                }
                if (at < used.size() && used.get(at).holds(page)) {
                    whole.add(page);
                }
                for (int part = at; part < used.size() && used.get(part).start() < page.end(); part++) {
                    append(touched, used.get(part).and(page));
                }
            }
            Outcome outcome = whole.isEmpty() ? none() : collapse(whole, pagesPerSecond);
            Coverage coverage = null;
            for (Range range : touched) {
                Coverage one = Coverage.of(range);
                coverage = coverage == null ? one : coverage.and(one);
            }
            if (coverage == null) {
                coverage = Coverage.unknown(new Range(0, 0), "none of the objects lies in old memory");
            }
            return new Placed(outcome, coverage, objects, young, unseen);
        }

        private static void append(List<Range> ranges, Range next) {
            int last = ranges.size() - 1;
            if (last >= 0 && ranges.get(last).end() == next.start()) {
                ranges.set(last, new Range(ranges.get(last).start(), next.end()));
            } else if (!next.isEmpty()) {
                ranges.add(next);
            }
        }

        private Outcome none() {
            return Outcome.notTried(young > 0
                    ? young + " of " + objects + " objects are young, which the next collection moves: place them once they are old"
                    : "no huge page's worth of old memory lies wholly under the objects");
        }

        private Outcome collapse(List<Range> pages, int pagesPerSecond) {
            long begun = System.nanoTime();
            long done = 0;
            long asked = 0;
            Outcome refusal = null;
            for (Range page : pages) {
                if (pagesPerSecond > 0 && !waitUntil(begun + asked * 1_000_000_000L / pagesPerSecond)) {
                    return new Outcome(false, done, "", "interrupted after " + asked + " of " + pages.size() + " huge pages");
                }
                Outcome one = Memory.advise(page, Advice.COLLAPSE);
                asked++;
                done += one.bytes();
                refusal = one.done() ? refusal : one;
            }
            String text = done / huge + " of " + pages.size() + " huge pages put together";
            return refusal == null
                    ? Outcome.done(done, text)
                    : new Outcome(false, done, refusal.errno(), text + "; the last refusal: " + refusal.text());
        }

        private static boolean waitUntil(long instant) {
            try {
                long left = instant - System.nanoTime();
                if (left > 0) {
                    Thread.sleep(left / 1_000_000, (int) (left % 1_000_000));
                }
                return true;
            } catch (InterruptedException stop) {
                Thread.currentThread().interrupt();
                return false;
            }
        }
    }
}
