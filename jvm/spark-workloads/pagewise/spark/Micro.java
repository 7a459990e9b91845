package pagewise.spark;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.storage.StorageLevel;

/**
 * Objects of 4 KB, cached, all visited, again and again: the microbenchmark of Miyazato and Yamada, with the order of the visits and the
 * bytes touched of each object as arguments, because these decide what huge pages can give.
 */
public final class Micro {
    /** With the array's header of 16 bytes an object takes 4 KiB of heap. */
    static final int OBJECT_BYTES = 4096 - 16;

    private Micro() {}

    public static void main(String[] words) {
        try (Job job = new Job("micro", words)) {
            long objects = job.number("objects");
            int partitions = (int) job.number("partitions");
            int touch = (int) job.number("touch");
            long passes = job.number("passes");
            long seed = job.number("seed");
            boolean random = job.word("order").equals("random");
            JavaRDD<byte[]> cached = job.spark
                    .parallelize(Job.numbers(partitions), partitions)
                    .flatMap(number -> objects(seed, objects * number / partitions, objects * (number + 1) / partitions))
                    .persist(StorageLevel.MEMORY_ONLY());
            job.timed("load", cached::count);
            job.keepCached();
            for (long pass = 0; pass < passes; pass++) {
                long start = pass;
                job.timed("iteration", () -> cached
                        .mapPartitions(each -> List.of(random ? atRandom(each, start, touch) : inOrder(each, touch)).iterator())
                        .reduce(Long::sum));
            }
            // Of what is still cached now: what was evicted meanwhile was computed again, and its time is not that of a visit.
            job.keepCached();
            job.end();
        }
    }

    /** Every byte follows from the seed, the object's number and the byte's place modulo 8, so that a sum can be checked elsewhere. */
    static Iterator<byte[]> objects(long seed, long from, long to) {
        return new Iterator<>() {
            private long next = from;

            @Override
            public boolean hasNext() {
                return next < to;
            }

            @Override
            public byte[] next() {
                byte[] object = new byte[OBJECT_BYTES];
                long word = SplitMix64.mixed(seed, next++);
                for (int place = 0; place < OBJECT_BYTES; place++) {
                    object[place] = (byte) (word >>> 8 * (place & 7));
                }
                return object;
            }
        };
    }

    private static long inOrder(Iterator<byte[]> objects, int touch) {
        long sum = 0;
        while (objects.hasNext()) {
            sum += touched(objects.next(), touch);
        }
        return sum;
    }

    /**
     * Visits each object once, in the order of a linear congruential generator of full period (Hull and Dobell 1962): it needs no
     * permutation in memory, which would be visited, too. Only the references are visited before.
     */
    private static long atRandom(Iterator<byte[]> objects, long start, int touch) {
        ArrayList<byte[]> all = new ArrayList<>();
        objects.forEachRemaining(all::add);
        long mask = Long.highestOneBit(Math.max(1, all.size())) * 2 - 1;
        long at = SplitMix64.mixed(start, 0) & mask;
        long sum = 0;
        for (long step = 0; step <= mask; step++) {
            at = (at * 6364136223846793005L + 1442695040888963407L) & mask;
            if (at < all.size()) {
                sum += touched(all.get((int) at), touch);
            }
        }
        return sum;
    }

    /** The sum of {@code touch} bytes, unsigned, spread evenly over the object from its first on. */
    private static long touched(byte[] object, int touch) {
        int stride = OBJECT_BYTES / touch;
        int remainder = OBJECT_BYTES % touch;
        int place = 0;
        int behind = 0;
        long sum = 0;
        // The place is number * OBJECT_BYTES / touch, without a division for each byte: it would hide the wait for memory.
        for (int number = 0; number < touch; number++) {
            sum += object[place] & 0xff;
            place += stride;
            behind += remainder;
            if (behind >= touch) {
                behind -= touch;
                place++;
            }
        }
        return sum;
    }
}
