package pagewise.spark;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.mllib.clustering.KMeansModel;
import org.apache.spark.mllib.linalg.Vector;
import org.apache.spark.mllib.linalg.Vectors;
import org.apache.spark.storage.StorageLevel;

/** MLlib's k-means over cached points, an iteration at a time: each begins with the centres of the one before. */
public final class KMeans {
    private KMeans() {}

    public static void main(String[] words) {
        try (Job job = new Job("kmeans", words)) {
            long points = job.number("points");
            int dimensions = (int) job.number("dimensions");
            int clusters = (int) job.number("clusters");
            int partitions = (int) job.number("partitions");
            long iterations = job.number("iterations");
            long seed = job.number("seed");
            JavaRDD<Vector> cached = job.spark
                    .parallelize(Job.numbers(partitions), partitions)
                    .flatMap(number -> points(
                            seed, dimensions, clusters, points * number / partitions, points * (number + 1) / partitions))
                    .persist(StorageLevel.MEMORY_ONLY());
            job.timed("load", cached::count);
            job.keepCached();
            List<Vector> first = new ArrayList<>();
            points(seed, dimensions, clusters, 0, clusters).forEachRemaining(first::add);
            Vector[][] centres = {first.toArray(new Vector[0])};
            for (long iteration = 0; iteration < iterations; iteration++) {
                job.timed("iteration", () -> {
                    KMeansModel model = new org.apache.spark.mllib.clustering.KMeans()
                            .setK(clusters)
                            .setMaxIterations(1)
                            .setInitialModel(new KMeansModel(centres[0]))
                            .run(cached.rdd());
                    centres[0] = model.clusterCenters();
                    return centres[0].length;
                });
            }
            job.keepCached();
            for (Vector centre : centres[0]) {
                for (double coordinate : centre.toArray()) {
                    job.keep("coordinate", Double.toString(coordinate));
                }
            }
            job.end();
        }
    }

    /** Point {@code n} lies around centre {@code n % clusters}, far nearer to it than to another, so that its cluster is known. */
    private static Iterator<Vector> points(long seed, int dimensions, int clusters, long from, long to) {
        return new Iterator<>() {
            private long next = from;

            @Override
            public boolean hasNext() {
                return next < to;
            }

            @Override
            public Vector next() {
                double[] point = new double[dimensions];
                long cluster = next % clusters;
                for (int place = 0; place < dimensions; place++) {
                    double centre = SplitMix64.share(SplitMix64.mixed(seed, cluster * dimensions + place));
                    double beside = SplitMix64.share(SplitMix64.mixed(~seed, next * dimensions + place)) - 0.5;
                    point[place] = 100 * centre + beside;
                }
                next++;
                return Vectors.dense(point);
            }
        };
    }
}
