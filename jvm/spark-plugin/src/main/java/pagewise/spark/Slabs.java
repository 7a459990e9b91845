package pagewise.spark;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.SparkEnv;
import org.apache.spark.unsafe.memory.MemoryAllocator;
import org.apache.spark.unsafe.memory.MemoryBlock;
import pagewise.placement.Addresses;
import pagewise.placement.Coverage;
import pagewise.placement.Memory;
import pagewise.placement.Range;
import pagewise.placement.Slab;

/**
 * Tungsten's pages. Spark takes them through one object that its memory manager holds; here another is put in its place that hands out
 * memory outside the heap from a {@link Slab}, and remembers which arrays of the heap are pages. What Spark's own allocator handed out goes
 * back to it.
 */
final class Slabs {
    /** Smaller blocks are left to Spark's own allocator. */
    private static final long SMALLEST = 1L << 20;
    private static final String FIELD = "tungstenMemoryAllocator";

    private final Counts counts;
    private final WeakHashMap<long[], Boolean> arrays = new WeakHashMap<>();
    private volatile Slab slab;
    private boolean isSettled;
    private final AtomicLong inUse = new AtomicLong();
    private final AtomicLong inUseAtMost = new AtomicLong();

    Slabs(Counts counts) {
        this.counts = counts;
    }

    /**
     * Puts ours in the place of Spark's own allocator, once; asked too early it does nothing. Says why where another is there already.
     *
     * @param pages that the slab outside the heap asks for
     */
    void install(Slab.PageKind pages) {
        SparkEnv env = SparkEnv.get();
        if (isSettled || env == null || env.memoryManager() == null) {
            return;
        }
        isSettled = true;
        try {
            Field field = Class.forName("org.apache.spark.memory.MemoryManager").getDeclaredField(FIELD);
            field.setAccessible(true);
            Object now = field.get(env.memoryManager());
            MemoryAllocator replaced;
            if (now == MemoryAllocator.UNSAFE) {
                slab = Slab.open(pages);
                replaced = new OutsideHeap((MemoryAllocator) now);
            } else if (now == MemoryAllocator.HEAP) {
                replaced = new InHeap((MemoryAllocator) now);
            } else {
                counts.trouble("Tungsten's pages are handed out by " + now.getClass().getName() + ", another plugin's: left to it");
                return;
            }
            field.set(env.memoryManager(), replaced);
            if (field.get(env.memoryManager()) != replaced) {
                counts.trouble("MemoryManager." + FIELD + " did not change: Tungsten's pages stay as they are");
            }
        } catch (ReflectiveOperationException | RuntimeException | LinkageError refused) {
            counts.trouble("Tungsten's pages stay as they are: " + refused);
        }
    }

    /** Nothing more is taken from the host; what is in use goes back as it is freed, and new blocks are Spark's own. */
    void close() {
        Slab open = slab;
        if (open != null) {
            open.close();
        }
    }

    /** Gives back to the host what has not been needed since the last time this was called, or all that is free. */
    void trim(boolean everything) {
        Slab open = slab;
        if (open == null) {
            return;
        }
        long now = inUse.get();
        long most = Math.max(now, inUseAtMost.getAndSet(now));
        open.trim(everything ? 0 : most - now);
    }

    /** Where pages lie in the heap: a page of half a region or more is humongous and does not move, but in a last-resort collection. */
    List<Range> inHeap() {
        List<Range> found = new ArrayList<>();
        synchronized (arrays) {
            for (long[] array : arrays.keySet()) {
                long address = Addresses.of(array);
                if (address != 0) {
                    found.add(new Range(address, address + 16 + array.length * 8L));
                }
            }
        }
        return found;
    }

    void describe(Map<String, Long> values) {
        Slab open = slab;
        if (open != null) {
            Slab.Usage usage = open.usage();
            Coverage coverage = open.coverage();
            values.put("tungsten.mapped.bytes", usage.mapped());
            values.put("tungsten.slack.bytes", usage.slack());
            values.put("tungsten.reserved.bytes", usage.reserved());
            values.put("tungsten.resident.bytes", coverage.resident());
            values.put("tungsten.huge.bytes", coverage.huge());
            return;
        }
        long resident = 0;
        long huge = 0;
        for (Range range : inHeap()) {
            Coverage coverage = Coverage.of(range.whole(Memory.pageSize()));
            resident += coverage.resident();
            huge += coverage.huge();
        }
        values.put("tungsten.resident.bytes", resident);
        values.put("tungsten.huge.bytes", huge);
    }

    /** Off-heap mode. */
    private final class OutsideHeap implements MemoryAllocator {
        private final MemoryAllocator spark;

        OutsideHeap(MemoryAllocator spark) {
            this.spark = spark;
        }

        @Override
        public MemoryBlock allocate(long size) {
            long address = size < SMALLEST ? 0 : slab.allocate(size);
            if (size >= SMALLEST && !slab.trouble().isEmpty()) {
                counts.say("Tungsten's pages outside the heap: " + slab.trouble());
            }
            if (address == 0) {
                return spark.allocate(size);
            }
            inUseAtMost.accumulateAndGet(inUse.addAndGet(size), Math::max);
            MemoryBlock block = new MemoryBlock(null, address, size);
            if (MemoryAllocator.MEMORY_DEBUG_FILL_ENABLED) {
                block.fill(MemoryAllocator.MEMORY_DEBUG_FILL_CLEAN_VALUE);
            }
            return block;
        }

        @Override
        public void free(MemoryBlock block) {
            if (block.getBaseObject() != null || !slab.owns(block.getBaseOffset())) {
                spark.free(block);
                return;
            }
            if (MemoryAllocator.MEMORY_DEBUG_FILL_ENABLED) {
                block.fill(MemoryAllocator.MEMORY_DEBUG_FILL_FREED_VALUE);
            }
            slab.free(block.getBaseOffset());
            inUse.addAndGet(-block.size());
            // As UnsafeMemoryAllocator leaves it: a second use is noticed.
            block.setObjAndOffset(null, 0);
            block.pageNumber = MemoryBlock.FREED_IN_ALLOCATOR_PAGE_NUMBER;
        }
    }

    /** On-heap mode: Spark's own arrays, remembered. */
    private final class InHeap implements MemoryAllocator {
        private final MemoryAllocator spark;

        InHeap(MemoryAllocator spark) {
            this.spark = spark;
        }

        @Override
        public MemoryBlock allocate(long size) {
            MemoryBlock block = spark.allocate(size);
            if (size >= SMALLEST && block.getBaseObject() instanceof long[] array) {
                synchronized (arrays) {
                    arrays.put(array, true);
                }
            }
            return block;
        }

        @Override
        public void free(MemoryBlock block) {
            spark.free(block);
        }
    }
}
