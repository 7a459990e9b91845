package pagewise.placement;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** This process's mappings, as {@code /proc/self/maps} and {@code smaps} show them. */
final class Mappings {
    /** Bytes; {@code file} is empty for anonymous memory. Resident, huge and swapped are zero as read from maps. */
    record Mapping(Range range, String permissions, String file, long resident, long huge, long swapped) {
        boolean anonymous() {
            return file.isEmpty() || file.startsWith("[anon");
        }
    }

    private Mappings() {}

    /** In the order of addresses; an empty list where the file cannot be read. */
    static List<Mapping> maps() {
        return read(Path.of("/proc/self/maps"));
    }

    static List<Mapping> smaps() {
        return read(Path.of("/proc/self/smaps"));
    }

    private static List<Mapping> read(Path file) {
        try {
            return parse(Files.readAllLines(file, java.nio.charset.StandardCharsets.ISO_8859_1));
        } catch (IOException | SecurityException unreadable) {
            return List.of();
        }
    }

    static List<Mapping> parse(List<String> lines) {
        List<Mapping> found = new ArrayList<>();
        for (String line : lines) {
            if (line.isEmpty()) {
                continue;
            }
            char first = line.charAt(0);
            if ((first >= '0' && first <= '9') || (first >= 'a' && first <= 'f')) {
                head(line, found);
            } else if (!found.isEmpty()) {
                Mapping last = found.get(found.size() - 1);
                long bytes = kibibytes(line);
                if (line.startsWith("Rss:")) {
                    last = new Mapping(last.range, last.permissions, last.file, bytes, last.huge, last.swapped);
                } else if (line.startsWith("AnonHugePages:") || line.startsWith("Private_Hugetlb:")) {
                    last = new Mapping(last.range, last.permissions, last.file, last.resident, last.huge + bytes, last.swapped);
                    if (line.startsWith("Private_Hugetlb:")) {
                        // Rss leaves hugetlb pages out.
                        last = new Mapping(last.range, last.permissions, last.file, last.resident + bytes, last.huge, last.swapped);
                    }
                } else if (line.startsWith("Swap:")) {
                    last = new Mapping(last.range, last.permissions, last.file, last.resident, last.huge, bytes);
                }
                found.set(found.size() - 1, last);
            }
        }
        return found;
    }

    private static void head(String line, List<Mapping> found) {
        String[] words = line.split(" +", 6);
        int dash = words[0].indexOf('-');
        if (dash < 0 || words.length < 5) {
            return;
        }
        try {
            Range range = new Range(
                    Long.parseUnsignedLong(words[0].substring(0, dash), 16), Long.parseUnsignedLong(words[0].substring(dash + 1), 16));
            found.add(new Mapping(range, words[1], words.length > 5 ? words[5].trim() : "", 0, 0, 0));
        } catch (NumberFormatException foreign) {
            // A line in a form that is not known says nothing about memory.
        }
    }

    private static long kibibytes(String line) {
        long value = 0;
        for (int at = line.indexOf(':') + 1; at < line.length(); at++) {
            char letter = line.charAt(at);
            if (letter >= '0' && letter <= '9') {
                value = value * 10 + letter - '0';
            } else if (value > 0) {
                break;
            }
        }
        return value * 1024;
    }

    /** Whether mappings without a gap hold all of the range. */
    static boolean cover(List<Mapping> mappings, Range range) {
        long reached = range.start();
        for (Mapping mapping : mappings) {
            if (mapping.range().holds(reached)) {
                reached = mapping.range().end();
                if (reached >= range.end()) {
                    return true;
                }
            }
        }
        return range.isEmpty();
    }
}
