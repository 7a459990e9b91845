package pagewise.spark;

/** How much old memory has grown lately, from which follows how much of it is kept ready. */
final class Promotion {
    private static final long SECOND = 1_000_000_000L;
    /** The largest growth is remembered for so many seconds. */
    private static final int MEMORY = 10;

    private final long least;
    private final long most;
    private final long[] grown = new long[MEMORY];
    private long second = Long.MIN_VALUE;
    private long last;

    /** Between so many bytes and so many. */
    Promotion(long least, long most) {
        this.least = Math.min(least, most);
        this.most = most;
    }

    /** Old memory in use now, in bytes; nanoseconds. */
    void seen(long used, long now) {
        long current = Math.floorDiv(now, SECOND);
        if (second == Long.MIN_VALUE) {
            second = current;
            last = used;
        }
        for (; second < current; second++) {
            grown[(int) Math.floorMod(second + 1, (long) MEMORY)] = 0;
            if (current - second > MEMORY) {
                second = current - MEMORY;
            }
        }
        grown[(int) Math.floorMod(current, (long) MEMORY)] += Math.max(0, used - last);
        last = used;
    }

    /** Two seconds' worth of the fastest growth lately. */
    long window() {
        long fastest = 0;
        for (long one : grown) {
            fastest = Math.max(fastest, one);
        }
        return Math.max(least, Math.min(most, 2 * fastest));
    }
}
