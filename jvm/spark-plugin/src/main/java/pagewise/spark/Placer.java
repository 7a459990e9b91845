package pagewise.spark;

import java.io.IOException;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import pagewise.placement.Advice;
import pagewise.placement.Collector;
import pagewise.placement.Coverage;
import pagewise.placement.Heap;
import pagewise.placement.HostMode;
import pagewise.placement.Memory;
import pagewise.placement.Outcome;
import pagewise.placement.Range;
import pagewise.placement.Region;
import pagewise.placement.Slab;

/**
 * The thread that places an executor's memory: it advises the part of the heap that the policy names before it is touched, keeps some of it
 * ready ahead of old memory, puts together what came to lie on small pages all the same, and reads from the kernel what came of it.
 */
final class Placer implements Runnable {
    private static final long MILLISECOND = 1_000_000L;
    private static final long CYCLE = 100 * MILLISECOND;
    /** Between two checks of a heap where nothing moves: no collection, which is what makes old memory grow, and nothing to do. */
    private static final long CHECK_EVERY = 1_000 * MILLISECOND;
    private static final long REPAIR_EVERY = 1_000 * MILLISECOND;
    /** Where nothing was to be repaired. */
    private static final long CHECK_AGAIN_AFTER = 5_000 * MILLISECOND;
    /** After so many refusals in a row there is a pause. */
    private static final int REFUSALS = 20;
    private static final long PAUSE = 30_000 * MILLISECOND;
    private static final long STATE_EVERY = 5_000 * MILLISECOND;
    /** Reading the state may take one part in so many of a CPU. */
    private static final long STATE_SHARE = 500;
    private static final int POPULATED_PER_CYCLE = 64;
    /** The share of the heap for old memory where its regions cannot be told: Spark's own default for all that it manages. */
    private static final double SHARE = 0.6;
    /** The cut is lowered only by more than this part of the heap: each way costs advice on all between. */
    private static final int LOWERED_BY = 10;
    /** Young memory may take no more than this share of a heap, or it meets old memory: the rest of what Spark's own default manages. */
    private static final double YOUNG_SHARE = 1 - SHARE;
    /** Percent of time that some task waited for memory, above which nothing free is kept. */
    private static final double PRESSURE = 5;

    private static final List<GarbageCollectorMXBean> COLLECTORS = ManagementFactory.getGarbageCollectorMXBeans();

    private final Settings settings;
    private final Counts counts;
    private final Slabs slabs;
    private final Blocks blocks;
    private final Consumer<State> tell;
    private final Container container = new Container();
    private final long huge = Memory.hugePageSize();
    private final BitSet populated = new BitSet();
    private final Deque<Long> repairs = new ArrayDeque<>();
    private volatile boolean stopped;
    private HostMode.Enabled host = HostMode.Enabled.UNKNOWN;
    private Promotion promotion;
    private boolean ready;
    private boolean populates;
    /** Whether all of the heap is committed from start to end. */
    private boolean keepsSize;
    /** Where old memory ends, as last advised; 0 before the first time. */
    private long cutAt;
    private Range wanted = new Range(0, 0);
    private Range old = new Range(0, 0);
    private int refused;
    private long repairAt;
    private long stateAt;
    private long checkedAt;
    private long collections;
    /** Whether the last cycle populated or collapsed, and may have more to do. */
    private boolean isBusy;

    Placer(Settings settings, Counts counts, Slabs slabs, Consumer<State> tell) {
        this.settings = settings;
        this.counts = counts;
        this.slabs = slabs;
        this.blocks = new Blocks(counts);
        this.tell = tell;
    }

    void stop() {
        stopped = true;
    }

    @Override
    public void run() {
        try {
            begin();
            // An error of ours must not end more than this.
            while (!stopped) {
                long begun = System.nanoTime();
                cycle(begun);
                long left = CYCLE - (System.nanoTime() - begun);
                Thread.sleep(Math.max(1, (ready && settings.enforce() ? left : CHECK_EVERY) / MILLISECOND));
            }
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
        } catch (Exception | LinkageError surprise) {
            counts.trouble("placement has ended, the job goes on without it: " + surprise);
        }
    }

    private void begin() {
        if (!Memory.missing().isEmpty()) {
            counts.trouble("nothing is placed: " + Memory.missing());
            stop();
            return;
        }
        if (Memory.pageSize() != 4096 || huge != 2 << 20) {
            counts.trouble("nothing is placed: this host has pages of " + Memory.pageSize() + " bytes and huge pages of " + huge
                    + "; it is known how to with 4096 and 2097152");
            stop();
            return;
        }
        Heap heap = Heap.inspect();
        HostMode mode = Memory.hostMode();
        host = mode.enabled();
        keepsSize = Heap.isFixedSize();
        examine(heap, mode);
        if (settings.enforce()) {
            if (settings.policy() != Policy.BOTH && host == HostMode.Enabled.ALWAYS) {
                keepSmall(heap);
            }
        }
        ready = heap.source() == Heap.Source.STRUCTURES;
        if (ready) {
            long most = settings.windowBytes() > 0 ? settings.windowBytes() : heap.range().length() / 20;
            promotion = new Promotion(Math.max(16 << 20, heap.range().length() / 64), most);
            populates = settings.policy().storage && keepsSize && !Heap.isPreTouched() && host != HostMode.Enabled.NEVER;
        } else if (settings.enforce() && heap.source() == Heap.Source.RANGE_ONLY && settings.policy() != Policy.NONE) {
            advise(settings.policy() == Policy.BOTH ? heap.range()
                    : settings.policy().storage ? heap.placeOfOld(SHARE) : heap.placeOfYoung(SHARE), Advice.HUGEPAGE);
        }
        counts.say("policy " + settings.policy() + ", " + (settings.enforce() ? "enforced" : "only observed") + "; heap " + heap.range()
                + " of " + heap.collector() + "; " + mode.text());
    }

    /** What stands in the way, each with the line that mends it. */
    private void examine(Heap heap, HostMode mode) {
        if (settings.policy() == Policy.NONE) {
            return;
        }
        String options = "spark.executor.extraJavaOptions";
        if (heap.source() != Heap.Source.STRUCTURES) {
            counts.trouble(heap.source() == Heap.Source.NONE
                    ? "the heap is not placed: " + heap.why()
                    : "the heap is cut at " + SHARE + " of its length, once and for all: " + heap.why());
        }
        if (heap.source() != Heap.Source.NONE && !keepsSize) {
            counts.trouble("the heap may be smaller than spark.executor.memory, and memory it gives back and takes again loses advice: add -Xms"
                    + " with that size to " + options + "; until then advice is given again and again, and nothing is populated");
        }
        if (Heap.isPreTouched()) {
            counts.trouble("-XX:+AlwaysPreTouch has put the heap on small pages before advice could be given: leave it out of " + options
                    + "; until then pages are put together later, at " + settings.collapsesPerSecond() + " a second");
        }
        if (Heap.isHugeByFlag() && settings.policy() != Policy.BOTH) {
            counts.trouble("-XX:+UseTransparentHugePages or -XX:+UseLargePages puts all of the heap on huge pages: leave it out of " + options);
        }
        long largest = Heap.largestYoung();
        if (heap.collector() == Collector.G1 && settings.policy() != Policy.BOTH && largest > heap.range().length() * (YOUNG_SHARE + 0.01)) {
            counts.say("young memory may grow to " + (largest >> 20) + " MiB and then uses what old memory used before: where a job works with"
                    + " much memory at once, add -XX:MaxNewSize=" + (long) (heap.range().length() * YOUNG_SHARE / (1 << 20)) + "m to " + options);
        }
        if (settings.pretenure()) {
            counts.say(Settings.PRETENURE + "=on: only the JVM can promote at once: -XX:MaxTenuringThreshold=0 in " + options);
        }
        if (host == HostMode.Enabled.NEVER) {
            counts.say("the host never makes a huge page by a fault (" + mode.text() + ")");
        }
        if (Memory.processMode() == Memory.ProcessMode.DISABLED) {
            counts.trouble("huge pages are switched off for this process (prctl PR_SET_THP_DISABLE, by whoever started it): none will be made");
        }
    }

    /** On a host that makes everything huge, what the policy leaves out stays small. */
    private void keepSmall(Heap heap) {
        Outcome mode = Memory.setProcessMode(Memory.ProcessMode.EXCEPT_ADVISED);
        if (!mode.done() && !heap.range().isEmpty()) {
            advise(heap.range(), Advice.NOHUGEPAGE);
        }
        counts.say(mode.done() ? "only what is advised becomes huge in this process" : mode.text());
        long huge = Coverage.of(heap.range()).huge();
        counts.startHugeBytes.set(huge);
        if (huge > 0) {
            counts.say((huge >> 20) + " MiB of the heap were on huge pages before this began, and stay there, young memory among them");
        }
    }

    private void cycle(long now) {
        if (ready && settings.enforce() && settings.policy() != Policy.NONE && isDue(now)) {
            Heap heap = Heap.inspect();
            if (heap.source() != Heap.Source.STRUCTURES) {
                counts.trouble("the heap is not followed any more: " + heap.why());
                ready = false;
                return;
            }
            promotion.seen(heap.usedBytes(Region.Kind.OLD) + heap.usedBytes(Region.Kind.HUMONGOUS), now);
            long window = promotion.window();
            Cut cut = Cut.of(heap, window, Heap.largestYoung(), huge);
            follow(heap, cut);
            boolean room = container.room() > window + (64 << 20);
            if (!room) {
                counts.say("this container's limit is near: nothing is populated or put together until there is room");
            } else {
                if (populates) {
                    populate(heap, cut.next());
                }
                repair(heap, now);
            }
        }
        if (settings.enforce() && settings.policy().execution) {
            slabs.install(settings.reserved() ? Slab.PageKind.RESERVED : Slab.PageKind.HUGE);
        }
        if (now >= stateAt) {
            long begun = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
            State state = State.read(Heap.inspect(), old, slabs, blocks);
            counts.cpuNanos.set(ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime());
            long took = counts.cpuNanos.get() - begun;
            // The first time is no measure: classes are loaded.
            stateAt = System.nanoTime() + (stateAt == 0 ? STATE_EVERY : Math.max(STATE_EVERY, took * STATE_SHARE));
            tell.accept(state);
            slabs.trim(isUnderPressure());
        }
    }

    private boolean isDue(long now) {
        long count = 0;
        for (GarbageCollectorMXBean collector : COLLECTORS) {
            count += collector.getCollectionCount();
        }
        if (!isBusy && count == collections && now - checkedAt < CHECK_EVERY) {
            return false;
        }
        isBusy = false;
        collections = count;
        checkedAt = now;
        return true;
    }

    private boolean isUnderPressure() {
        try {
            for (String word : Files.readString(Path.of("/proc/pressure/memory")).split("\\s+")) {
                if (word.startsWith("avg10=")) {
                    return Double.parseDouble(word.substring(6)) >= PRESSURE;
                }
            }
        } catch (IOException | NumberFormatException unknown) {
            // A kernel without PSI.
        }
        return false;
    }

    /** Advises what the policy wants huge. */
    private void follow(Heap heap, Cut cut) {
        boolean isFixed = !heap.old().isEmpty();
        long at = cut.old().end();
        if (!isFixed && cutAt != 0 && at < cutAt && cutAt - at < heap.range().length() / LOWERED_BY) {
            at = cutAt;
        }
        cutAt = at;
        old = isFixed ? cut.old() : new Range(heap.range().start(), at);
        Range young = isFixed ? cut.young() : new Range(at, heap.range().end());
        Range now = switch (settings.policy()) {
            case NONE -> new Range(0, 0);
            case STORAGE -> old;
            case EXECUTION -> young;
            case BOTH -> heap.range();
        };
        for (Range lost : without(wanted, now)) {
            advise(lost, Advice.NOHUGEPAGE);
        }
        // What a heap gives back to the host and takes again has no advice any more.
        for (Range gained : keepsSize || now.isEmpty() ? without(now, wanted) : List.of(now)) {
            advise(gained, Advice.HUGEPAGE);
        }
        wanted = now;
    }

    /** What the first has and the second has not. */
    static List<Range> without(Range first, Range second) {
        Range both = first.and(second);
        List<Range> left = new ArrayList<>();
        if (both.isEmpty()) {
            left.add(first);
        } else {
            left.add(new Range(first.start(), both.start()));
            left.add(new Range(both.end(), first.end()));
        }
        left.removeIf(Range::isEmpty);
        return left;
    }

    private void advise(Range range, Advice advice) {
        counts.adviceCalls.incrementAndGet();
        Outcome outcome = Memory.advise(range, advice);
        if (!outcome.done()) {
            counts.adviceRefusals.incrementAndGet();
            counts.trouble(outcome.text());
        }
    }

    /** Faults in what old memory takes next, so that a collection need not. */
    private void populate(Heap heap, List<Range> next) {
        int left = POPULATED_PER_CYCLE;
        for (Range range : next) {
            Range whole = range.whole(huge);
            for (long at = whole.start(); at < whole.end() && left > 0; at += huge) {
                int index = (int) ((at - heap.range().start()) / huge);
                if (populated.get(index)) {
                    continue;
                }
                Outcome outcome = Memory.advise(at, huge, Advice.POPULATE_WRITE);
                if (!outcome.done()) {
                    counts.trouble("memory is not populated ahead of the collector: " + outcome.text());
                    populates = false;
                    return;
                }
                populated.set(index);
                isBusy = true;
                counts.populatedBytes.addAndGet(huge);
                left--;
            }
        }
    }

    /** Puts together what the policy wants huge and lies on small pages, a few pages a cycle. */
    private void repair(Heap heap, long now) {
        if (now >= repairAt && repairs.isEmpty()) {
            repairs.addAll(small(targets(heap)));
            repairAt = now + (repairs.isEmpty() ? CHECK_AGAIN_AFTER : REPAIR_EVERY);
        }
        long budget = Math.max(1, settings.collapsesPerSecond() * CYCLE / (1_000 * MILLISECOND));
        for (long done = 0; done < budget && settings.collapsesPerSecond() > 0 && !repairs.isEmpty() && !stopped; done++) {
            isBusy = true;
            collapse(repairs.poll());
            if (refused >= REFUSALS) {
                refused = 0;
                repairs.clear();
                repairAt = now + PAUSE;
            }
        }
    }

    private List<Range> targets(Heap heap) {
        List<Range> targets = new ArrayList<>();
        if (settings.policy().storage) {
            targets.addAll(heap.used(Region.Kind.OLD, Region.Kind.HUMONGOUS));
            targets.addAll(blocks.outsideHeap());
        }
        if (settings.policy().execution) {
            for (Region region : heap.regions()) {
                boolean isSpare = region.kind() == Region.Kind.FREE && region.bottom() >= old.end();
                if (region.kind() == Region.Kind.YOUNG || isSpare) {
                    targets.add(region.range());
                }
            }
            targets.addAll(slabs.inHeap());
        }
        return targets;
    }

    /** The huge pages' worth of memory in those ranges of which half or more is present, on small pages. */
    private List<Long> small(List<Range> targets) {
        Map<Long, Long> bytes = new TreeMap<>();
        for (Range target : Blocks.joined(targets)) {
            for (Range stretch : Coverage.small(target.whole(huge))) {
                for (long page = stretch.start() & -huge; page < stretch.end(); page += huge) {
                    bytes.merge(page, stretch.and(new Range(page, page + huge)).length(), Long::sum);
                }
            }
        }
        bytes.values().removeIf(present -> present < huge / 2);
        return new ArrayList<>(bytes.keySet());
    }

    private void collapse(long page) {
        long begun = System.nanoTime();
        Outcome outcome = Memory.advise(page, huge, Advice.COLLAPSE);
        if (outcome.errno().equals("EINVAL")) {
            // It may have been told to stay small, when it was not yet what it is now.
            Memory.advise(page, huge, Advice.HUGEPAGE);
            outcome = Memory.advise(page, huge, Advice.COLLAPSE);
        }
        long took = System.nanoTime() - begun;
        counts.collapseNanos.addAndGet(took);
        counts.collapseLongestNanos.accumulateAndGet(took, Math::max);
        if (outcome.done()) {
            counts.collapsedPages.incrementAndGet();
            refused = 0;
        } else {
            counts.collapseRefusals.incrementAndGet();
            refused++;
        }
    }
}
