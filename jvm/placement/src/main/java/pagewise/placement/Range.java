package pagewise.placement;

/**
 * Addresses from {@code start} up to, not including, {@code end}, in bytes.
 */
public record Range(long start, long end) {
    public Range {
        if (Long.compareUnsigned(end, start) < 0) {
            end = start;
        }
    }

    public long length() {
        return end - start;
    }

    public boolean isEmpty() {
        return start == end;
    }

    public boolean holds(long address) {
        return Long.compareUnsigned(address, start) >= 0 && Long.compareUnsigned(address, end) < 0;
    }

    public boolean holds(Range other) {
        return Long.compareUnsigned(other.start, start) >= 0 && Long.compareUnsigned(other.end, end) <= 0;
    }

    /** What both have; empty where they have nothing. */
    public Range and(Range other) {
        long from = Math.max(start, other.start);
        return new Range(from, Math.max(from, Math.min(end, other.end)));
    }

    /** The part made of whole units of {@code size} bytes (a power of two) that begin at a multiple of it: what lies beside is left out. */
    public Range whole(long size) {
        long from = (start + size - 1) & -size;
        return new Range(from, Math.max(from, end & -size));
    }

    @Override
    public String toString() {
        return Long.toHexString(start) + "-" + Long.toHexString(end);
    }
}
