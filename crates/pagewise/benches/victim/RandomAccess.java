// A program whose only work is to read its heap at random. Arguments: MiB of heap to fill, and "idle" where it should do nothing after that.
// Prints "ready", then ten times a second the milliseconds since then and how many reads it made in them.
public class RandomAccess {
    private static final int LONGS = 65_534;

    public static void main(String[] arguments) throws InterruptedException {
        long[][] rows = new long[Integer.parseInt(arguments[0]) * 2][];
        for (int i = 0; i < rows.length; i++) {
            rows[i] = new long[LONGS];
            java.util.Arrays.fill(rows[i], i);
        }
        System.out.println("ready");
        if (arguments.length > 1 && arguments[1].equals("idle")) {
            Thread.sleep(Long.MAX_VALUE);
        }
        long random = 88_172_645_463_325_252L;
        long sum = 0;
        long reads = 0;
        long began = System.nanoTime();
        while (true) {
            for (int i = 0; i < 20_000; i++) {
                random ^= random << 13;
                random ^= random >>> 7;
                random ^= random << 17;
                long[] row = rows[(int) Long.remainderUnsigned(random, rows.length)];
                sum += row[(int) ((random >>> 20) & 32_767)];
            }
            reads += 20_000;
            long now = System.nanoTime();
            if (now - began >= 100_000_000L) {
                System.out.println((now - began) / 1_000_000 + " " + reads + " " + (sum & 1));
                began = now;
                reads = 0;
            }
        }
    }
}
