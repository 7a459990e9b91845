package pagewise.spark;

/** Which of an executor's memory is to lie on huge pages: the values of {@code spark.pagewise.policy}. */
enum Policy {
    NONE(false, false),
    /** What is cached: old and humongous memory, blocks outside the heap. */
    STORAGE(true, false),
    /** What tasks work with: young memory, Tungsten's pages. */
    EXECUTION(false, true),
    BOTH(true, true);

    final boolean storage;
    final boolean execution;

    Policy(boolean storage, boolean execution) {
        this.storage = storage;
        this.execution = execution;
    }
}
