package pagewise.placement;

import com.sun.jna.NativeLibrary;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What the tests run in JVMs of their own: every claim is held against the kernel's word, and the first that fails ends it. */
public final class Probe {
    private static Object[] kept;

    private Probe() {}

    public static void main(String[] arguments) throws Exception {
        switch (arguments[0]) {
            case "placeable" -> placeable(Collector.valueOf(arguments[1]));
            case "not-placeable" -> notPlaceable(Collector.valueOf(arguments[1]));
            case "cut" -> cut();
            case "no-native" -> noNative(arguments[1]);
            case "seccomp" -> seccomp();
            default -> throw new IllegalArgumentException(arguments[0]);
        }
        System.out.println("held: " + arguments[0]);
    }

    static void check(boolean holds, Object what) {
        if (!holds) {
            throw new AssertionError(what);
        }
    }

    private static void placeable(Collector collector) throws Exception {
        Heap heap = Heap.inspect();
        check(heap.collector() == collector && heap.source() == Heap.Source.STRUCTURES, heap.collector() + " " + heap.why());
        check(heap.range().length() == 512L << 20, "the heap's range " + heap.range());
        check(Heap.isFixedSize() && !Heap.isPreTouched() && !Heap.isHugeByFlag(), "flags");
        long[] marked = new long[1000];
        marked[7] = 0x5ca1ab1e0ddba11L;
        addressIsTrue(marked);

        System.setProperty(Heap.STRUCTURES_PROPERTY, "off");
        Heap bare = Heap.inspect();
        check(bare.source() == Heap.Source.RANGE_ONLY && bare.range().equals(heap.range()), bare.range() + " " + bare.why());
        System.setProperty(Heap.STRUCTURES_PROPERTY, "");

        Range range = heap.range();
        check(KernelView.residentAndHuge(range)[1] == 0, "nothing is huge yet");
        // A map, so that closed fields are walked too.
        Map<String, byte[]> graph = new HashMap<>();
        for (int at = 0; at < 60_000; at++) {
            byte[] bytes = new byte[1000];
            bytes[at % 1000] = (byte) at;
            graph.put("key " + at, bytes);
        }
        Placed placed = Placement.promoteAndPlace(graph);
        long[] seen = KernelView.residentAndHuge(range);
        System.out.println("graph: " + placed);
        check(placed.outcome().done() && placed.unseenFields() == 0 && placed.youngObjects() == 0, placed);
        // Map, table, and for each entry a node, a key with its bytes, a value.
        check(placed.objects() == 2 + 4 * 60_000, placed.objects() + " objects");
        check(placed.coverage().share() > 0.9 && placed.coverage().huge() >= 60 << 20, placed);
        check(seen[1] == placed.outcome().bytes() && seen[1] == placed.coverage().huge(), seen[1] + " by smaps; " + placed);
        for (int at = 0; at < 60_000; at++) {
            check(graph.get("key " + at)[at % 1000] == (byte) at, "content of " + at);
        }
        addressIsTrue(marked);

        HugeArray<long[]> array = Placement.hugeArray(long[].class, 4 << 20);
        System.out.println("array: " + array.placed());
        check(array.array().length == 4 << 20, "length");
        if (collector == Collector.G1) {
            check(array.placed().coverage().share() > 0.9, array.placed());
            long[] after = KernelView.residentAndHuge(range);
            check(after[1] == seen[1] + array.placed().outcome().bytes(), after[1] + " by smaps, " + seen[1] + " before");
            check(Heap.inspect().regionOf(Addresses.of(array.array())).kind() == Region.Kind.HUMONGOUS, "humongous");
        } else {
            check(array.placed().coverage().share() > 0.9 || array.placed().youngObjects() == 1, array.placed());
        }
        Heap now = Heap.inspect();
        long inMaps = Coverage.of(range).huge();
        check(inMaps == KernelView.residentAndHuge(range)[1], inMaps + " by PAGEMAP_SCAN");
        // Young memory grows meanwhile, but only grows: each account lies between two others.
        long before = KernelView.residentAndHuge(range)[0];
        long small = Coverage.small(range).stream().mapToLong(Range::length).sum();
        long mapped = Coverage.fromMappings(range, "").resident();
        long later = KernelView.residentAndHuge(range)[0];
        check(before <= small + inMaps && small + inMaps <= later, before + " before, " + small + " on small pages, " + later + " later");
        check(before <= mapped && mapped <= later, before + " before, " + mapped + " by smaps, " + later + " later");
        check(now.regionOf(Addresses.of(graph)).kind() == Region.Kind.OLD, "the map is old");
        Placed young = Placement.place(new byte[100]);
        check(!young.outcome().done() && young.youngObjects() == 1, young);

        ByteBuffer direct = ByteBuffer.allocateDirect(100).order(ByteOrder.nativeOrder());
        direct.putLong(0, 0x0ddba11L);
        check(wordAt(Addresses.of(direct)) == 0x0ddba11L, "a direct buffer's address");
    }

    /** The third way to the same word: the file that shows this process's memory. */
    private static void addressIsTrue(long[] marked) throws Exception {
        for (int attempt = 0; attempt < 5; attempt++) {
            if (wordAt(Addresses.of(marked) + 16 + 7 * 8) == marked[7]) {
                return;
            }
        }
        check(false, "at " + Long.toHexString(Addresses.of(marked)) + " there is no such array");
    }

    private static long wordAt(long address) throws Exception {
        try (FileChannel memory = FileChannel.open(Path.of("/proc/self/mem"), StandardOpenOption.READ)) {
            ByteBuffer word = ByteBuffer.allocate(8).order(ByteOrder.nativeOrder());
            check(memory.read(word, address) == 8, "short read");
            return word.getLong(0);
        }
    }

    private static void notPlaceable(Collector collector) {
        Heap heap = Heap.inspect();
        check(heap.collector() == collector && heap.source() == Heap.Source.NONE, heap.collector() + " " + heap.source());
        check(!heap.why().isEmpty() && heap.range().isEmpty() && heap.placeOfOld(0.5).isEmpty(), heap.why());
        check(Addresses.of(new Object()) == 0, "no address");
        Placed placed = Placement.place(new Object[10]);
        check(!placed.outcome().done() && placed.outcome().text().contains(heap.why()), placed);
        HugeArray<int[]> array = Placement.hugeArray(int[].class, 1 << 20);
        check(array.array().length == 1 << 20 && !array.placed().outcome().done(), array);
    }

    /** Old memory huge and young memory small, by one advice before the heap is touched: the fall-back's way, under G1. */
    private static void cut() {
        Heap heap = Heap.inspect();
        Range old = heap.placeOfOld(0.5);
        Range young = heap.placeOfYoung(0.5);
        check(old.start() == heap.range().start() && young.end() == heap.range().end() && old.end() == young.start(), old + " " + young);
        check(Memory.advise(old, Advice.HUGEPAGE).done(), "advised");
        List<byte[]> cached = new ArrayList<>();
        for (int at = 0; at < 150_000; at++) {
            byte[] bytes = new byte[1000];
            if (at % 2 == 0) {
                cached.add(bytes);
            }
        }
        kept = cached.toArray();
        long[] low = KernelView.residentAndHuge(old);
        long[] high = KernelView.residentAndHuge(young);
        System.out.println("old: " + low[0] + " resident, " + low[1] + " huge; young: " + high[0] + " resident, " + high[1] + " huge");
        Heap now = Heap.inspect();
        for (Region region : now.regions()) {
            // JDK 25 loads objects of the class data archive into the last regions and calls them old; 17 calls them archive.
            Region first = heap.regionOf(region.bottom());
            if (first != null && first.kind() == Region.Kind.OLD) {
                continue;
            }
            boolean belongsLow = region.kind() == Region.Kind.OLD || region.kind() == Region.Kind.HUMONGOUS;
            if (belongsLow || region.kind() == Region.Kind.YOUNG) {
                check(old.holds(region.bottom()) == belongsLow, region + " and the cut at " + old);
            }
        }
        check(low[0] > 20 << 20 && low[1] >= low[0] * 0.95, "old memory");
        check(high[0] > 20 << 20 && high[1] == 0, "young memory");
        check(kept.length == 75_000, "kept");
    }

    private static void noNative(String expected) {
        Heap heap = Heap.inspect();
        check(heap.source() == Heap.Source.NONE && heap.why().contains(expected), heap.why());
        check(Memory.missing().contains(expected), Memory.missing());
        check(!Memory.advise(4096, 4096, Advice.HUGEPAGE).done(), "advise");
        check(!Memory.setProcessMode(Memory.ProcessMode.EXCEPT_ADVISED).done(), "prctl");
        check(Memory.processMode() == Memory.ProcessMode.UNKNOWN && Memory.pageSize() == 4096, "mode");
        check(Memory.hugePageSize() > 0 && Memory.hostMode() != null, "host");
        check(Addresses.of(new Object()) == 0 && Addresses.of(ByteBuffer.allocateDirect(8)) == 0, "addresses");
        check(!Placement.place(new Object()).outcome().done(), "place");
        check(Placement.hugeArray(int[].class, 10).array().length == 10, "array");
        try (Slab slab = Slab.open(Slab.PageKind.HUGE)) {
            check(slab.allocate(100) == 0 && slab.allocateBuffer(100) == null && slab.trouble().contains(expected), slab.trouble());
            check(slab.trim(0) == 0 && slab.usage().mapped() == 0, "slab");
        }
        Range all = new Range(4096, 1L << 47);
        check(Coverage.of(all).known() && Coverage.of(all).source().equals("smaps"), "all of smaps: " + Coverage.of(all));
        check(!Coverage.of(0, 4096).known(), "no range");
    }

    /** A filter that lets this thread's madvise fail with EPERM, as a container's may (SECCOMP_RET_ERRNO, call 28 on x86-64). */
    private static void seccomp() {
        long block = Kernel.map(4096, 0);
        check(block > 0 && Memory.advise(block, 4096, Advice.HUGEPAGE).done(), "before the filter");
        ByteBuffer filter = Kernel.direct(4 * 8);
        instruction(filter, 0, 0x20, 0, 0, 0);
        instruction(filter, 1, 0x15, 0, 1, 28);
        instruction(filter, 2, 0x06, 0, 0, 0x0005_0000 | Errno.EPERM);
        instruction(filter, 3, 0x06, 0, 0, 0x7fff_0000);
        ByteBuffer program = Kernel.direct(16);
        program.putShort(0, (short) 4).putLong(8, Kernel.address(filter));
        var prctl = NativeLibrary.getInstance("c").getFunction("prctl");
        check(prctl.invokeInt(new Object[] {38, 1L, 0L, 0L, 0L}) == 0, "PR_SET_NO_NEW_PRIVS");
        check(prctl.invokeInt(new Object[] {22, 2L, Kernel.address(program), 0L, 0L}) == 0, "PR_SET_SECCOMP");
        Outcome outcome = Memory.advise(block, 4096, Advice.HUGEPAGE);
        check(!outcome.done() && outcome.errno().equals("EPERM") && outcome.text().contains("seccomp"), outcome);
        kept = new Object[1 << 20];
        Placed placed = Placement.promoteAndPlace(kept);
        check(!placed.outcome().done() && placed.outcome().errno().equals("EPERM") && placed.coverage().huge() == 0, placed);
        try (Slab slab = Slab.open(Slab.PageKind.HUGE)) {
            check(slab.allocate(100) != 0 && slab.trouble().contains("EPERM"), slab.trouble());
        }
    }

    private static void instruction(ByteBuffer filter, int at, int code, int whenTrue, int whenFalse, int value) {
        filter.putShort(at * 8, (short) code).put(at * 8 + 2, (byte) whenTrue).put(at * 8 + 3, (byte) whenFalse).putInt(at * 8 + 4, value);
    }
}
