package pagewise.placement;

/** The garbage collector of this JVM, by its flags. */
public enum Collector {
    G1(true, ""),
    PARALLEL(true, ""),
    SERIAL(true, ""),
    Z(false, "ZGC moves objects while the program runs and keeps its heap in shared memory: no part of it is storage or execution"
            + " (its whole heap: shmem_enabled, -XX:+UseTransparentHugePages)"),
    SHENANDOAH(false, "Shenandoah gives its regions to no generation and moves objects while the program runs"),
    EPSILON(false, "Epsilon never collects: old and young are one"),
    UNKNOWN(false, "the collector is not one that is known here, or the JVM is not HotSpot");

    private final boolean placeable;
    private final String why;

    Collector(boolean placeable, String why) {
        this.placeable = placeable;
        this.why = why;
    }

    /** Whether old and young memory lie apart, so that one of them can be put on huge pages. */
    public boolean placeable() {
        return placeable;
    }

    /** Why it is not placeable, with what can be done; empty where it is. */
    public String why() {
        return why;
    }
}
