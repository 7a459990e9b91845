package pagewise.placement;

/**
 * A piece of the heap as it was when it was read: a region of G1, a space of Parallel or Serial.
 *
 * @param bottom its first address
 * @param top    the end of what is in use, from {@code bottom} on
 * @param end    its end
 */
public record Region(long bottom, long top, long end, Kind kind) {
    public enum Kind {
        FREE,
        YOUNG,
        OLD,
        /** One object that takes half a region or more. */
        HUMONGOUS,
        /** What was mapped from a class data archive. Leave it alone. */
        ARCHIVE,
        UNKNOWN
    }

    public Range range() {
        return new Range(bottom, end);
    }

    public Range used() {
        return new Range(bottom, top);
    }
}
