package pagewise.spark;

import java.util.ArrayList;
import java.util.List;
import pagewise.placement.Heap;
import pagewise.placement.Range;
import pagewise.placement.Region;

/**
 * Which part of the heap old memory goes to and which part young memory, as it was at one moment.
 *
 * <p>G1 takes old and humongous regions from the lowest free ones and young regions from the highest (JDK 17, 21, 25:
 * {@code from_head = !type.is_young()}), so the cut goes through what is free, and moves as they grow. Under Parallel and Serial either
 * generation has its own place.
 *
 * @param old   where old memory goes
 * @param young where young memory goes: the rest of the heap
 * @param next  free memory that old memory takes next, in that order, as much of it as the window has
 */
record Cut(Range old, Range young, List<Range> next) {

    /**
     * Of a heap whose structures are known.
     *
     * @param window       bytes that are kept ready for old memory
     * @param largestYoung bytes that young memory may grow to
     * @param hugePage     bytes
     */
    static Cut of(Heap heap, long window, long largestYoung, long hugePage) {
        if (heap.old().isEmpty()) {
            return ofRegions(heap.regions(), heap.range(), window, largestYoung, hugePage);
        }
        List<Range> next = new ArrayList<>();
        for (Region region : heap.regions()) {
            if (region.kind() == Region.Kind.OLD) {
                next.add(new Range(region.top(), Math.min(region.end(), region.top() + window)));
            }
        }
        return new Cut(heap.old(), heap.young(), next);
    }

    static Cut ofRegions(List<Region> regions, Range heap, long window, long largestYoung, long hugePage) {
        List<Region> free = new ArrayList<>();
        long freeBytes = 0;
        long youngBytes = 0;
        long lowestYoung = heap.end();
        for (Region region : regions) {
            if (region.kind() == Region.Kind.FREE) {
                free.add(region);
                freeBytes += region.range().length();
            } else if (region.kind() == Region.Kind.YOUNG) {
                youngBytes += region.used().length();
                lowestYoung = Math.min(lowestYoung, region.bottom());
            }
        }
        // A collection promotes no more than was young: at most all that young memory may grow to, and where there is no room for that, what
        // it is now. Half of what is free is left to young memory, which may come down before the heap is read again.
        long reach = window + largestYoung <= freeBytes / 2 ? window + largestYoung : Math.min(window + youngBytes, freeBytes / 2);
        long at = free.isEmpty() ? lowestYoung : free.get(0).bottom();
        List<Range> next = new ArrayList<>();
        long passed = 0;
        for (Region region : free) {
            if (passed >= reach) {
                break;
            }
            long bytes = region.range().length();
            if (passed < window) {
                next.add(new Range(region.bottom(), region.bottom() + Math.min(bytes, window - passed)));
            }
            passed += bytes;
            at = region.end();
        }
        at = Math.min(heap.end(), (at + hugePage - 1) & -hugePage);
        return new Cut(new Range(heap.start(), at), new Range(at, heap.end()), next);
    }
}
