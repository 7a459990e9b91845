package pagewise.placement;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;

/** The kernel's side: sizes of pages, the host's and this process's mode for huge pages, advice on ranges. */
public final class Memory {
    private static final Path THP = Path.of("/sys/kernel/mm/transparent_hugepage");
    private static final int PR_SET_THP_DISABLE = 41;
    private static final int PR_GET_THP_DISABLE = 42;
    private static final long PR_THP_DISABLE_EXCEPT_ADVISED = 1L << 1;
    /** EAGAIN says that the kernel could not get a page just then: asked this often, then left. */
    private static final int COLLAPSE_ATTEMPTS = 3;

    private Memory() {}

    /** Why nothing can be asked of the kernel here, with the remedy; empty where it can. */
    public static String missing() {
        return Kernel.missing == null ? "" : Kernel.missing;
    }

    /** Bytes of a small page; 4096 where no native call can be made. */
    public static long pageSize() {
        return Kernel.missing == null ? Kernel.pageSize() : 4096;
    }

    /** Bytes of the huge page that transparent huge pages are made of, 2 MiB on x86; 2 MiB where the kernel does not say. */
    public static long hugePageSize() {
        return Pages.HUGE;
    }

    /** Read anew at each call: an administrator may change it. */
    public static HostMode hostMode() {
        String own = selected(THP.resolve("hugepages-" + hugePageSize() / 1024 + "kB/enabled"));
        String general = selected(THP.resolve("enabled"));
        String word = own.equals("unknown") || own.equals("inherit") ? general : own;
        String defrag = selected(THP.resolve("defrag"));
        HostMode.Enabled enabled = switch (word) {
            case "always" -> HostMode.Enabled.ALWAYS;
            case "madvise" -> HostMode.Enabled.MADVISE;
            case "never" -> HostMode.Enabled.NEVER;
            default -> HostMode.Enabled.UNKNOWN;
        };
        String meaning = switch (enabled) {
            case ALWAYS -> "all memory may be huge: what is to stay small needs NOHUGEPAGE, or the process EXCEPT_ADVISED";
            case MADVISE -> "what is advised becomes huge";
            case NEVER -> "no fault makes a huge page: only COLLAPSE does";
            case UNKNOWN -> "the kernel has no transparent huge pages, or hides them here";
        };
        return new HostMode(enabled, defrag, "transparent huge pages " + word + ", defrag " + defrag + ": " + meaning);
    }

    private static String selected(Path file) {
        try {
            String text = Files.readString(file);
            int open = text.indexOf('[');
            int close = text.indexOf(']', open + 1);
            return open < 0 || close < 0 ? "unknown" : text.substring(open + 1, close);
        } catch (IOException | SecurityException absent) {
            return "unknown";
        }
    }

    /**
     * Tells the kernel about the whole pages of a range: small ones, and for {@link Advice#COLLAPSE} huge ones, each by itself, so that
     * one it refuses does not keep the others. What is cut off at the ends is left as it is. {@link Outcome#bytes} is what was done.
     */
    public static Outcome advise(long address, long length, Advice advice) {
        if (Kernel.missing != null) {
            return Outcome.notTried(Kernel.missing);
        }
        if (address <= 0 || length < 0 || address + length < address) {
            return Outcome.notTried(advice + ": " + length + " bytes from " + Long.toHexString(address) + " are no range of addresses");
        }
        Range asked = new Range(address, address + length);
        Range range = asked.whole(advice == Advice.COLLAPSE ? hugePageSize() : pageSize());
        if (range.isEmpty()) {
            return Outcome.notTried(
                    advice + ": there is no whole " + (advice == Advice.COLLAPSE ? "huge " : "") + "page in " + asked);
        }
        if (advice == Advice.COLLAPSE) {
            return collapse(range);
        }
        int errno = Kernel.madvise(range.start(), range.length(), advice);
        return errno == 0
                ? Outcome.done(range.length(), advice + ": " + range.length() + " bytes of " + range)
                : Outcome.refused(0, errno, advice + " of " + range + ": the kernel refused with " + Errno.name(errno)
                        + remedy(advice, errno));
    }

    /** As {@link #advise(long, long, Advice)}. */
    public static Outcome advise(Range range, Advice advice) {
        return advise(range.start(), range.length(), advice);
    }

    private static Outcome collapse(Range range) {
        long done = 0;
        int last = 0;
        Map<String, Integer> refusals = new TreeMap<>();
        for (long at = range.start(); at < range.end(); at += hugePageSize()) {
            int errno = collapseOne(at);
            if (errno == 0) {
                done += hugePageSize();
            } else {
                last = errno;
                refusals.merge(Errno.name(errno), 1, Integer::sum);
            }
        }
        String text = "COLLAPSE: " + done / hugePageSize() + " of " + range.length() / hugePageSize() + " huge pages of " + range;
        return last == 0
                ? Outcome.done(done, text)
                : Outcome.refused(done, last, text + "; the kernel refused the others " + refusals + remedy(Advice.COLLAPSE, last));
    }

    private static int collapseOne(long address) {
        int errno = Errno.EAGAIN;
        for (int attempt = 0; attempt < COLLAPSE_ATTEMPTS && errno == Errno.EAGAIN; attempt++) {
            errno = Kernel.madvise(address, hugePageSize(), Advice.COLLAPSE);
        }
        return errno;
    }

    private static String remedy(Advice advice, int errno) {
        return switch (advice) {
            case COLLAPSE -> errno == Errno.EINVAL
                    ? " (before Linux 6.1, nothing present there, NOHUGEPAGE memory, or prctl has switched huge pages off)"
                    : "";
            case POPULATE_WRITE -> errno == Errno.EINVAL ? " (before Linux 5.14, or memory that is not plain)" : "";
            case HUGEPAGE, NOHUGEPAGE -> errno == Errno.EINVAL ? " (a kernel without transparent huge pages)" : "";
        } + (errno == Errno.EPERM ? " (a seccomp filter?)" : "");
    }

    /** What holds for all of this process, over the host's mode. Children inherit it. */
    public enum ProcessMode {
        /** Nothing of its own. */
        AS_HOST,
        /** No huge pages at all; {@link Advice#COLLAPSE} fails too. */
        DISABLED,
        /** Only what is advised, also on a host that says always. Linux 6.18 and later. */
        EXCEPT_ADVISED,
        UNKNOWN
    }

    public static ProcessMode processMode() {
        if (Kernel.missing != null) {
            return ProcessMode.UNKNOWN;
        }
        return switch (Kernel.prctl(PR_GET_THP_DISABLE, 0, 0)) {
            case 0 -> ProcessMode.AS_HOST;
            case 1 -> ProcessMode.DISABLED;
            case 3 -> ProcessMode.EXCEPT_ADVISED;
            default -> ProcessMode.UNKNOWN;
        };
    }

    /** Sets it and reads it back. Memory that is huge already stays so. */
    public static Outcome setProcessMode(ProcessMode mode) {
        if (Kernel.missing != null) {
            return Outcome.notTried(Kernel.missing);
        }
        if (mode == ProcessMode.UNKNOWN) {
            return Outcome.notTried("UNKNOWN is no mode that can be set");
        }
        int answer = Kernel.prctl(
                PR_SET_THP_DISABLE,
                mode == ProcessMode.AS_HOST ? 0 : 1,
                mode == ProcessMode.EXCEPT_ADVISED ? PR_THP_DISABLE_EXCEPT_ADVISED : 0);
        if (answer < 0) {
            String remedy = mode == ProcessMode.EXCEPT_ADVISED ? " (before Linux 6.18: use NOHUGEPAGE on what is to stay small)" : "";
            return Outcome.refused(0, -answer, "prctl " + mode + ": the kernel refused with " + Errno.name(-answer) + remedy);
        }
        ProcessMode now = processMode();
        return now == mode
                ? Outcome.done(0, "this process: " + mode)
                : Outcome.notTried("prctl " + mode + ": the kernel took it but says " + now);
    }

    private static final class Pages {
        static final long HUGE = huge();

        private static long huge() {
            try {
                long size = Long.parseLong(Files.readString(THP.resolve("hpage_pmd_size")).trim());
                return Long.bitCount(size) == 1 ? size : 2 << 20;
            } catch (IOException | NumberFormatException | SecurityException absent) {
                return 2 << 20;
            }
        }
    }
}
