package pagewise.spark;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What was done and what went wrong, and the log: each trouble is said once. */
final class Counts {
    private static final Logger LOG = LoggerFactory.getLogger("pagewise");
    /** More than these are only counted. */
    private static final int MOST_SAID = 50;

    final AtomicLong surprises = new AtomicLong();
    final AtomicLong adviceCalls = new AtomicLong();
    final AtomicLong adviceRefusals = new AtomicLong();
    final AtomicLong populatedBytes = new AtomicLong();
    final AtomicLong collapsedPages = new AtomicLong();
    final AtomicLong collapseRefusals = new AtomicLong();
    final AtomicLong collapseNanos = new AtomicLong();
    final AtomicLong collapseLongestNanos = new AtomicLong();
    /** CPU time of the thread that places. */
    final AtomicLong cpuNanos = new AtomicLong();
    /** By which the executor started later. */
    final AtomicLong startNanos = new AtomicLong();
    /** Of the heap, on huge pages before anything was placed. */
    final AtomicLong startHugeBytes = new AtomicLong();
    private final Set<String> said = ConcurrentHashMap.newKeySet();

    /** Something is not as it should be: counted, and logged if it was not before. */
    void trouble(String what) {
        surprises.incrementAndGet();
        if (said.size() < MOST_SAID && said.add(what)) {
            LOG.warn("Pagewise: {}", what);
        }
    }

    void say(String what) {
        if (said.size() < MOST_SAID && said.add(what)) {
            LOG.info("Pagewise: {}", what);
        }
    }
}
