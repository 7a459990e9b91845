package pagewise.placement;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** What smaps says of a range, read apart from the code under test: whole mappings that touch the range are counted. */
final class KernelView {
    private KernelView() {}

    /** Bytes resident, and bytes of transparent or reserved huge pages. */
    static long[] residentAndHuge(Range range) {
        long[] sums = new long[2];
        boolean inside = false;
        try {
            for (String line : Files.readAllLines(Path.of("/proc/self/smaps"))) {
                String[] words = line.trim().split("\\s+");
                if (words[0].matches("[0-9a-f]+-[0-9a-f]+")) {
                    String[] ends = words[0].split("-");
                    inside = Long.parseUnsignedLong(ends[0], 16) < range.end() && Long.parseUnsignedLong(ends[1], 16) > range.start();
                } else if (inside && words[0].equals("Rss:")) {
                    sums[0] += Long.parseLong(words[1]) << 10;
                } else if (inside && words[0].equals("AnonHugePages:")) {
                    sums[1] += Long.parseLong(words[1]) << 10;
                }
            }
        } catch (IOException unreadable) {
            throw new UncheckedIOException(unreadable);
        }
        return sums;
    }
}
