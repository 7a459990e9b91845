package pagewise.spark;

import java.util.Arrays;
import java.util.Iterator;
import java.util.stream.Collectors;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.mllib.linalg.Vector;
import org.apache.spark.mllib.linalg.Vectors;
import org.apache.spark.mllib.optimization.GradientDescent;
import org.apache.spark.mllib.optimization.LogisticGradient;
import org.apache.spark.mllib.optimization.SimpleUpdater;
import org.apache.spark.storage.StorageLevel;
import scala.Tuple2;

/**
 * MLlib's logistic regression by gradient descent over cached points, a step at a time: each begins with the weights of the one before
 * and takes all points.
 */
public final class Logistic {
    /** Below 2/L for coordinates of variance 1/3, whose loss bends by L = 1/12 at most: the loss falls in every step. */
    private static final double STEP = 10;

    private Logistic() {}

    public static void main(String[] words) {
        try (Job job = new Job("logistic", words)) {
            long points = job.number("points");
            int dimensions = (int) job.number("dimensions");
            int partitions = (int) job.number("partitions");
            long iterations = job.number("iterations");
            long seed = job.number("seed");
            JavaRDD<Tuple2<Object, Vector>> cached = job.spark
                    .parallelize(Job.numbers(partitions), partitions)
                    .flatMap(number -> points(
                            seed, dimensions, points * number / partitions, points * (number + 1) / partitions))
                    .persist(StorageLevel.MEMORY_ONLY());
            job.timed("load", cached::count);
            job.keepCached();
            Vector[] weights = {Vectors.zeros(dimensions)};
            for (long iteration = 0; iteration < iterations; iteration++) {
                double[] loss = new double[1];
                job.timed("iteration", () -> {
                    Tuple2<Vector, double[]> found = GradientDescent.runMiniBatchSGD(
                            cached.rdd(), new LogisticGradient(), new SimpleUpdater(), STEP, 1, 0, 1, weights[0]);
                    weights[0] = found._1();
                    loss[0] = found._2()[0];
                    return weights[0].size();
                });
                job.keep("loss", Double.toString(loss[0]));
                job.keep("weights", Arrays.stream(weights[0].toArray())
                        .mapToObj(Double::toString)
                        .collect(Collectors.joining(" ")));
            }
            job.keepCached();
            job.end();
        }
    }

    /**
     * Coordinates lie between -1 and 1. The label of point {@code n} says on which side of a plane it lies, whose normal follows from
     * the seed; noise, the {@code n}-th number behind the normal's, turns some of them round.
     */
    private static Iterator<Tuple2<Object, Vector>> points(long seed, int dimensions, long from, long to) {
        double[] normal = new double[dimensions];
        for (int place = 0; place < dimensions; place++) {
            normal[place] = around(SplitMix64.mixed(seed, place));
        }
        double width = Math.sqrt(dimensions) / 4;
        // Two labels for all: a label of each point's own would be an object more to collect.
        Double no = 0.0;
        Double yes = 1.0;
        return new Iterator<>() {
            private long next = from;

            @Override
            public boolean hasNext() {
                return next < to;
            }

            @Override
            public Tuple2<Object, Vector> next() {
                double[] point = new double[dimensions];
                double side = width * around(SplitMix64.mixed(seed, dimensions + next));
                for (int place = 0; place < dimensions; place++) {
                    point[place] = around(SplitMix64.mixed(~seed, next * dimensions + place));
                    side += normal[place] * point[place];
                }
                next++;
                return new Tuple2<>(side > 0 ? yes : no, Vectors.dense(point));
            }
        };
    }

    /** A number between -1 and 1. */
    private static double around(long bits) {
        return 2 * SplitMix64.share(bits) - 1;
    }
}
