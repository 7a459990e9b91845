package pagewise.spark;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkEnv;
import pagewise.placement.Addresses;
import pagewise.placement.Coverage;
import pagewise.placement.Memory;
import pagewise.placement.Range;

/**
 * Where blocks lie that Spark caches outside the heap ({@code OFF_HEAP}): in pieces of {@code spark.storage.unrollMemoryThreshold} that malloc
 * lays out, mostly one after the other. Spark has no hook for them, so its own list of what is in memory is read.
 */
final class Blocks {
    /** malloc's own bytes between two pieces. */
    private static final long GAP = 4096;

    private final Counts counts;
    private boolean isUnreadable;

    Blocks(Counts counts) {
        this.counts = counts;
    }

    /** By address, joined where only malloc's own bytes lie between. A block that is dropped meanwhile is harmless: advice keeps content. */
    List<Range> outsideHeap() {
        SparkEnv env = SparkEnv.get();
        if (isUnreadable || env == null || env.blockManager() == null) {
            return List.of();
        }
        List<Range> pieces = new ArrayList<>();
        try {
            Object store = env.blockManager().memoryStore();
            var field = store.getClass().getDeclaredField("entries");
            field.setAccessible(true);
            Map<?, ?> entries = (Map<?, ?>) field.get(store);
            // Spark puts and drops blocks under the same lock: nothing is done under it but to copy.
            List<Object> now;
            synchronized (entries) {
                now = new ArrayList<>(entries.values());
            }
            for (Object entry : now) {
                if (entry.getClass().getSimpleName().equals("SerializedMemoryEntry")) {
                    add(entry, pieces);
                }
            }
        } catch (ReflectiveOperationException | RuntimeException | LinkageError changed) {
            isUnreadable = true;
            counts.trouble("blocks outside the heap stay as they are: " + changed);
        }
        return joined(pieces);
    }

    private static void add(Object entry, List<Range> pieces) throws ReflectiveOperationException {
        Object buffer = entry.getClass().getMethod("buffer").invoke(entry);
        for (ByteBuffer piece : (ByteBuffer[]) buffer.getClass().getMethod("chunks").invoke(buffer)) {
            if (piece.isDirect()) {
                long address = Addresses.of(piece);
                pieces.add(new Range(address, address + piece.capacity()));
            }
        }
    }

    static List<Range> joined(List<Range> ranges) {
        List<Range> sorted = new ArrayList<>(ranges);
        sorted.sort((one, other) -> Long.compareUnsigned(one.start(), other.start()));
        List<Range> joined = new ArrayList<>();
        for (Range range : sorted) {
            int last = joined.size() - 1;
            if (last >= 0 && joined.get(last).end() + GAP >= range.start()) {
                joined.set(last, new Range(joined.get(last).start(), Math.max(joined.get(last).end(), range.end())));
            } else {
                joined.add(range);
            }
        }
        return joined;
    }

    void describe(Map<String, Long> values) {
        long resident = 0;
        long placeable = 0;
        long huge = 0;
        for (Range range : outsideHeap()) {
            Coverage coverage = Coverage.of(range.whole(Memory.pageSize()));
            resident += coverage.resident();
            placeable += range.whole(Memory.hugePageSize()).length();
            huge += coverage.huge();
        }
        values.put("blocks.resident.bytes", resident);
        values.put("blocks.placeable.bytes", placeable);
        values.put("blocks.huge.bytes", huge);
    }
}
