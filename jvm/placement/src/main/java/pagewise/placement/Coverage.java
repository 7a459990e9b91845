package pagewise.placement;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;

/**
 * How much of a range is present and on huge pages, by the kernel's own account, in bytes.
 *
 * @param range    what was asked about
 * @param resident present; the kernel's shared page of zeros, which takes no memory, left out
 * @param huge     of it on huge pages, transparent or hugetlb
 * @param swapped  in swap
 * @param source   what said so: {@code PAGEMAP_SCAN} or {@code smaps}; empty where nothing could
 * @param missing  why nothing could be read, else empty. The numbers are then zero and mean nothing
 */
public record Coverage(Range range, long resident, long huge, long swapped, String source, String missing) {
    /** {@code _IOWR('f', 16, struct pm_scan_arg)}: Linux 6.7, {@code include/uapi/linux/fs.h}. */
    private static final long PAGEMAP_SCAN = 0xC0606610L;
    private static final long IS_PRESENT = 1 << 3;
    private static final long IS_SWAPPED = 1 << 4;
    private static final long IS_ZERO = 1 << 5;
    private static final long IS_HUGE = 1 << 6;
    private static final int STRETCHES = 512;

    /** Whether the numbers mean something. */
    public boolean known() {
        return missing.isEmpty();
    }

    /** Of what is resident, the share on huge pages, 0 to 1; 0 where nothing is resident. */
    public double share() {
        return resident == 0 ? 0 : (double) huge / resident;
    }

    /** The small pages that begin in the range: {@code start} is rounded down, {@code end} up. Takes longer the more is resident. */
    public static Coverage of(long start, long end) {
        long page = Memory.pageSize();
        Range range = new Range(start & -page, (end + page - 1) & -page);
        if (start <= 0 || end < start) {
            return unknown(range, Long.toHexString(start) + "-" + Long.toHexString(end) + " is no range of addresses");
        }
        Coverage scanned = scan(range);
        return scanned.known() ? scanned : fromMappings(range, scanned.missing);
    }

    /** As {@link #of(long, long)}. */
    public static Coverage of(Range range) {
        return of(range.start(), range.end());
    }

    /** Both together, as an answer about what reaches from the lower start to the higher end; unknown if either is. */
    public Coverage and(Coverage other) {
        Range both = new Range(Math.min(range.start(), other.range.start()), Math.max(range.end(), other.range.end()));
        return new Coverage(
                both,
                resident + other.resident,
                huge + other.huge,
                swapped + other.swapped,
                source.isEmpty() ? other.source : source,
                missing.isEmpty() ? other.missing : missing);
    }

    static Coverage unknown(Range range, String why) {
        return new Coverage(range, 0, 0, 0, "", why);
    }

    /**
     * What of a range is present on small pages, by address; what is huge, swapped or absent is left out. Empty also where the kernel cannot
     * be asked (before Linux 6.7): {@link #of} says why.
     */
    public static List<Range> small(Range range) {
        List<Range> found = new ArrayList<>();
        String missing = scan(range, (stretch, kind) -> {
            if ((kind & (IS_PRESENT | IS_HUGE)) == IS_PRESENT) {
                found.add(stretch);
            }
        });
        return missing.isEmpty() ? found : List.of();
    }

    static Coverage scan(Range range) {
        long[] bytes = new long[3];
        String missing = scan(range, (stretch, kind) -> {
            boolean present = (kind & IS_PRESENT) != 0;
            bytes[present ? 0 : 2] += stretch.length();
            bytes[1] += present && (kind & IS_HUGE) != 0 ? stretch.length() : 0;
        });
        return missing.isEmpty()
                ? new Coverage(range, bytes[0], bytes[1], bytes[2], "PAGEMAP_SCAN", "")
                : unknown(range, missing);
    }

    /** Gives every stretch that is present or swapped; why it could not, else nothing. */
    private static String scan(Range range, BiConsumer<Range, Long> each) {
        if (Kernel.missing != null) {
            return Kernel.missing;
        }
        int file = Kernel.open("/proc/self/pagemap");
        if (file < 0) {
            return "/proc/self/pagemap: " + Errno.name(-file);
        }
        try {
            return scan(range, file, each);
        } finally {
            Kernel.close(file);
        }
    }

    private static String scan(Range range, int file, BiConsumer<Range, Long> each) {
        ByteBuffer stretches = Kernel.direct(STRETCHES * 24);
        ByteBuffer argument = Kernel.direct(96);
        long from = range.start();
        while (from < range.end()) {
            argument.putLong(0, 96).putLong(8, 0).putLong(16, from).putLong(24, range.end()).putLong(32, 0);
            argument.putLong(40, Kernel.address(stretches)).putLong(48, STRETCHES).putLong(56, 0);
            // Not the page of zeros; present or swapped; tell which, and whether huge.
            argument.putLong(64, IS_ZERO).putLong(72, IS_ZERO).putLong(80, IS_PRESENT | IS_SWAPPED);
            argument.putLong(88, IS_PRESENT | IS_SWAPPED | IS_HUGE);
            long found = Kernel.ioctl(file, PAGEMAP_SCAN, argument);
            if (found < 0) {
                return "PAGEMAP_SCAN: " + Errno.name((int) -found) + " (Linux 6.7 and later have it)";
            }
            for (int at = 0; at < found; at++) {
                each.accept(
                        new Range(stretches.getLong(at * 24), stretches.getLong(at * 24 + 8)), stretches.getLong(at * 24 + 16));
            }
            long reached = argument.getLong(32);
            if (reached <= from) {
                return "PAGEMAP_SCAN did not get on at " + Long.toHexString(from);
            }
            from = reached;
        }
        return "";
    }

    /** Exact only for mappings that lie wholly in the range, or of which nothing or all of what is present is in question. */
    static Coverage fromMappings(Range range, String why) {
        var mappings = Mappings.smaps();
        if (mappings.isEmpty()) {
            return unknown(range, why + "; /proc/self/smaps cannot be read");
        }
        long resident = 0;
        long huge = 0;
        long swapped = 0;
        for (var mapping : mappings) {
            Range part = mapping.range().and(range);
            if (part.isEmpty() || mapping.resident() + mapping.swapped() == 0) {
                continue;
            }
            boolean full = mapping.resident() == mapping.range().length();
            boolean plain = mapping.huge() == 0 || mapping.huge() == mapping.resident();
            if (part.equals(mapping.range())) {
                resident += mapping.resident();
                huge += mapping.huge();
                swapped += mapping.swapped();
            } else if (full && plain) {
                resident += part.length();
                huge += mapping.huge() == 0 ? 0 : part.length();
            } else {
                return unknown(range, why + "; smaps only tells of all of " + mapping.range() + ", of which this is a part");
            }
        }
        return new Coverage(range, resident, huge, swapped, "smaps", "");
    }
}
