package pagewise.placement;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Memory outside the Java heap in chunks that begin at a huge page, handed out and taken back. Memory that was used before costs no page
 * fault again; chunks of which nothing is in use go back to the host by {@link #trim}. Safe for several threads.
 *
 * <p>What is handed out again holds what was in it before: clear it where that matters.
 */
public final class Slab implements AutoCloseable {
    /** Which pages a slab asks for. */
    public enum PageKind {
        /** Small pages, also on a host that says {@code always}: a pool without huge pages, to compare with. */
        SMALL,
        /** Transparent huge pages: advised, and put together at once where the host's mode is {@code never}. */
        HUGE,
        /** Pages that an administrator reserved (hugetlb); as HUGE where none is left. */
        RESERVED
    }

    /**
     * All in bytes.
     *
     * @param mapped   taken from the host's address space
     * @param handedOut asked for and not given back
     * @param rounding added to what was asked for, to keep blocks aligned
     * @param free     ready to be handed out without a new chunk: with {@code rounding}, the slack
     * @param reserved of {@code mapped}, on hugetlb pages
     */
    public record Usage(long mapped, long handedOut, long rounding, long free, long reserved) {
        public long slack() {
            return rounding + free;
        }
    }

    private static final int MAP_HUGETLB = 0x40000;
    /** A cache line: smaller pieces would share one. */
    private static final long ALIGNMENT = 64;
    private static final long DEFAULT_CHUNK = 64L << 20;

    private final PageKind kind;
    private final long chunkBytes;
    private final long huge = Memory.hugePageSize();
    /** Start to chunk. */
    private final TreeMap<Long, Chunk> chunks = new TreeMap<>();
    /** Address to what was asked for. */
    private final Map<Long, Long> live = new HashMap<>();
    private long handedOut;
    private long rounding;
    private boolean closed;
    private String trouble = "";

    private static final class Chunk {
        final Range range;
        final boolean reserved;
        /** Start to length of what is free; neighbours are always joined. */
        final TreeMap<Long, Long> free = new TreeMap<>();

        Chunk(Range range, boolean reserved) {
            this.range = range;
            this.reserved = reserved;
            free.put(range.start(), range.length());
        }

        boolean isFree() {
            Long length = free.get(range.start());
            return length != null && length == range.length();
        }
    }

    private Slab(PageKind kind, long chunkBytes) {
        this.kind = kind;
        this.chunkBytes = (Math.max(chunkBytes, huge) + huge - 1) & -huge;
    }

    /** A slab with chunks of 64 MiB. Nothing is taken from the host yet. */
    public static Slab open(PageKind kind) {
        return new Slab(kind, DEFAULT_CHUNK);
    }

    /** {@code chunkBytes} is rounded up to whole huge pages; what is larger than that gets a chunk of its own. */
    public static Slab open(PageKind kind, long chunkBytes) {
        return new Slab(kind, Math.min(chunkBytes, 1L << 40));
    }

    /**
     * The address of so many bytes, at a multiple of 64, of one as large as a huge page or more at a multiple of that; 0 where the host has
     * none left, where native calls cannot be made or the slab is closed ({@link #trouble} says which).
     */
    public synchronized long allocate(long bytes) {
        if (closed || bytes <= 0 || bytes > 1L << 46 || Kernel.missing != null) {
            trouble = closed ? "the slab is closed" : Kernel.missing != null ? Kernel.missing : bytes + " bytes cannot be allocated";
            return 0;
        }
        long alignment = bytes >= huge ? huge : ALIGNMENT;
        long length = (bytes + alignment - 1) & -alignment;
        for (Chunk chunk : chunks.values()) {
            long address = take(chunk, length, alignment);
            if (address != 0) {
                return handOut(address, bytes, length);
            }
        }
        Chunk chunk = map((Math.max(length, chunkBytes) + huge - 1) & -huge);
        return chunk == null ? 0 : handOut(take(chunk, length, alignment), bytes, length);
    }

    /** As a direct buffer, at most 2 GiB - 1; null where {@link #allocate} would answer 0. It must not be used after {@link #free}. */
    public ByteBuffer allocateBuffer(int bytes) {
        long address = allocate(bytes);
        return address == 0 ? null : Kernel.view(address, bytes).order(java.nio.ByteOrder.nativeOrder());
    }

    private long handOut(long address, long bytes, long length) {
        live.put(address, bytes);
        handedOut += bytes;
        rounding += length - bytes;
        return address;
    }

    /** The lowest place that is large enough, so that high chunks become free. */
    private static long take(Chunk chunk, long length, long alignment) {
        for (Map.Entry<Long, Long> stretch : chunk.free.entrySet()) {
            long start = stretch.getKey();
            long end = start + stretch.getValue();
            long address = (start + alignment - 1) & -alignment;
            if (address + length <= end) {
                chunk.free.remove(start);
                if (address > start) {
                    chunk.free.put(start, address - start);
                }
                if (address + length < end) {
                    chunk.free.put(address + length, end - address - length);
                }
                return address;
            }
        }
        return 0;
    }

    private Chunk map(long bytes) {
        if (kind == PageKind.RESERVED) {
            long address = Kernel.map(bytes, MAP_HUGETLB);
            if (address > 0) {
                return add(new Range(address, address + bytes), true);
            }
            trouble = "no hugetlb pages for " + bytes + " bytes: " + Errno.name((int) -address) + "; transparent ones instead";
        }
        // One huge page more, of which what lies beside the aligned part goes back at once.
        long address = Kernel.map(bytes + huge, 0);
        if (address < 0) {
            trouble = "the host gives no " + bytes + " bytes: " + Errno.name((int) -address);
            return null;
        }
        Range all = new Range(address, address + bytes + huge);
        long start = (address + huge - 1) & -huge;
        Range range = new Range(start, start + bytes);
        unmap(new Range(all.start(), range.start()));
        unmap(new Range(range.end(), all.end()));
        advise(range);
        return add(range, false);
    }

    private Chunk add(Range range, boolean reserved) {
        Chunk chunk = new Chunk(range, reserved);
        chunks.put(range.start(), chunk);
        return chunk;
    }

    private void advise(Range range) {
        Outcome advised = Memory.advise(range, kind == PageKind.SMALL ? Advice.NOHUGEPAGE : Advice.HUGEPAGE);
        // A host that never makes a huge page by a fault still makes them when told; that needs a page there first.
        if (kind != PageKind.SMALL && advised.done() && Memory.hostMode().enabled() == HostMode.Enabled.NEVER) {
            advised = Memory.advise(range, Advice.POPULATE_WRITE);
            if (advised.done()) {
                advised = Memory.advise(range, Advice.COLLAPSE);
            }
        }
        if (!advised.done()) {
            trouble = advised.text();
        }
    }

    private static void unmap(Range range) {
        if (!range.isEmpty()) {
            Kernel.unmap(range.start(), range.length());
        }
    }

    /** Whether the address was handed out by this slab and not yet given back. */
    public synchronized boolean owns(long address) {
        return live.containsKey(address);
    }

    /** Takes back what {@link #allocate} gave. False, and nothing done, for any other address, so also for the second time. */
    public synchronized boolean free(long address) {
        Long bytes = live.remove(address);
        if (bytes == null) {
            return false;
        }
        long alignment = bytes >= huge ? huge : ALIGNMENT;
        long length = (bytes + alignment - 1) & -alignment;
        handedOut -= bytes;
        rounding -= length - bytes;
        join(chunks.floorEntry(address).getValue().free, address, length);
        if (closed) {
            trim(0);
        }
        return true;
    }

    /** As {@link #free(long)}, for a buffer of {@link #allocateBuffer}. */
    public boolean free(ByteBuffer buffer) {
        return buffer != null && buffer.isDirect() && free(Addresses.of(buffer));
    }

    private static void join(TreeMap<Long, Long> free, long address, long length) {
        Map.Entry<Long, Long> before = free.lowerEntry(address);
        if (before != null && before.getKey() + before.getValue() == address) {
            free.remove(before.getKey());
            address = before.getKey();
            length += before.getValue();
        }
        Long after = free.remove(address + length);
        free.put(address, after == null ? length : length + after);
    }

    /** Gives chunks of which nothing is in use back to the host, as long as {@code keep} bytes stay free without them; the bytes given back. */
    public synchronized long trim(long keep) {
        long free = usage().free();
        long given = 0;
        for (Chunk chunk : List.copyOf(chunks.descendingMap().values())) {
            if (chunk.isFree() && free - chunk.range.length() >= keep) {
                chunks.remove(chunk.range.start());
                unmap(chunk.range);
                given += chunk.range.length();
                free -= chunk.range.length();
            }
        }
        return given;
    }

    public synchronized Usage usage() {
        long mapped = 0;
        long reserved = 0;
        for (Chunk chunk : chunks.values()) {
            mapped += chunk.range.length();
            reserved += chunk.reserved ? chunk.range.length() : 0;
        }
        return new Usage(mapped, handedOut, rounding, mapped - handedOut - rounding, reserved);
    }

    /** What of all chunks is present and huge, by the kernel. */
    public synchronized Coverage coverage() {
        Coverage all = null;
        for (Range range : ranges()) {
            Coverage one = Coverage.of(range);
            all = all == null ? one : all.and(one);
        }
        return all == null ? new Coverage(new Range(0, 0), 0, 0, 0, "nothing is mapped", "") : all;
    }

    /** Where the chunks lie. */
    public synchronized List<Range> ranges() {
        List<Range> ranges = new ArrayList<>();
        chunks.values().forEach(chunk -> ranges.add(chunk.range));
        return ranges;
    }

    /** The last thing that did not go as asked; empty where all did. */
    public synchronized String trouble() {
        return trouble;
    }

    /** Gives everything back that is not in use. What is in use stays mapped, since somebody may still write there, and goes back as it is freed. */
    @Override
    public synchronized void close() {
        closed = true;
        trim(0);
    }
}
