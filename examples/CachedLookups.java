import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * A job with a cache: keeps records in its heap, reads them at random for a fixed time, and says how many it read a second.
 *
 * <pre>java -Xms1536m -Xmx1536m CachedLookups.java [MIB] [SECONDS]</pre>
 *
 * The cache has MIB mebibytes (1024), and is read for SECONDS (5).
 */
public class CachedLookups {
    private static final int RECORD = 4096;

    public static void main(String[] arguments) throws IOException {
        int mebibytes = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 1024;
        double seconds = arguments.length > 1 ? Double.parseDouble(arguments[1]) : 5;
        byte[][] cache = new byte[mebibytes << 8][];
        for (int key = 0; key < cache.length; key++) {
            // With its header a record takes 4 KiB.
            cache[key] = new byte[RECORD - 16];
            cache[key][key % 64] = 1;
        }
        // What the machine compiles first is no part of the time.
        long sum = read(cache, 1_000_000, 1);
        long read = 0;
        long began = System.nanoTime();
        double passed;
        do {
            sum += read(cache, 1_000_000, read + 2);
            read += 1_000_000;
            passed = (System.nanoTime() - began) / 1e9;
        } while (passed < seconds);
        tell("rate", read / passed, "lookups/s");
        System.out.printf("%.0f lookups/s, checksum %d%n", read / passed, sum);
    }

    /** So many records, one after the other: where the next one lies is known only when this one has been read. */
    private static long read(byte[][] cache, int count, long seed) {
        long state = seed * 0x9E3779B97F4A7C15L;
        long sum = 0;
        for (int i = 0; i < count; i++) {
            state = state * 6364136223846793005L + 1442695040888963407L + sum;
            byte[] record = cache[(int) (((state >>> 33) * cache.length) >>> 31)];
            sum += record[(int) (state >>> 20) & 2047];
        }
        return sum;
    }

    /** A metric of the job's own, for pagewise prove --metric NAME; without Pagewise the variable is not there. */
    private static void tell(String name, double value, String unit) throws IOException {
        String file = System.getenv("PAGEWISE_METRICS");
        if (file != null) {
            String line = "{\"name\":\"" + name + "\",\"value\":" + value + ",\"unit\":\"" + unit + "\"}\n";
            Files.writeString(Path.of(file), line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        }
    }
}
