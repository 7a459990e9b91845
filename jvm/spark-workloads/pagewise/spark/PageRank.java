package pagewise.spark;

import static org.apache.spark.graphx.lib.PageRank.runWithOptions;
import static org.apache.spark.graphx.lib.PageRank.runWithOptionsWithPreviousPageRank;

import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.graphx.Edge;
import org.apache.spark.graphx.Graph;
import org.apache.spark.storage.StorageLevel;
import scala.Option;
import scala.Tuple2;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/**
 * GraphX's PageRank on a graph whose degrees follow a power law, an iteration at a time: each begins with the ranks and the weights of edges of
 * the one before, and the first counts the edges that the weights follow from.
 */
public final class PageRank {
    /** The share of a rank that follows no edge, GraphX's default. */
    private static final double RESET = 0.15;

    /** Parts of the vertices that have a sum each in the result. */
    private static final int GROUPS = 1000;

    private PageRank() {}

    public static void main(String[] words) {
        try (Job job = new Job("pagerank", words)) {
            long vertices = job.number("vertices");
            long degree = job.number("degree");
            int partitions = (int) job.number("partitions");
            long iterations = job.number("iterations");
            long seed = job.number("seed");
            long edges = vertices * degree;
            JavaRDD<Edge<Object>> made = job.spark
                    .parallelize(Job.numbers(partitions), partitions)
                    .flatMap(number -> edges(seed, degree, edges * number / partitions, edges * (number + 1) / partitions));
            StorageLevel level = StorageLevel.MEMORY_ONLY();
            ClassTag<Object> number = ClassTag$.MODULE$.apply(int.class);
            Graph<Object, Object> graph = Graph.fromEdges(made.rdd(), (Object) 1, level, level, number, number);
            graph.cache();
            job.timed("load", () -> graph.edges().count() + graph.vertices().count());
            job.keepCached();
            AtomicReference<Graph<Object, Object>> ranks = new AtomicReference<>();
            Option<Object> nobody = Option.empty();
            for (long iteration = 1; iteration <= iterations; iteration++) {
                long done = iteration;
                job.timed("iteration", () -> {
                    ranks.set(done == 1
                            ? runWithOptions(graph, 1, RESET, nobody, false, number, number)
                            : runWithOptionsWithPreviousPageRank(
                                    graph, 1, RESET, nobody, false, ranks.get(), number, number));
                    return done;
                });
            }
            job.keepCached();
            double[] found = ranks.get()
                    .vertices()
                    .toJavaRDD()
                    .mapPartitions(each -> List.of(found(each, vertices, seed, 2 * edges)).iterator())
                    .reduce(PageRank::together);
            job.keep("ranks", line(found, 0));
            job.keep("sums", line(found, GROUPS));
            job.end();
        }
    }

    /**
     * Preferential attachment (Barabási and Albert 1999) without a table, as Sanders and Schulz (2016) have it: of the ends of all edges in a
     * row, an even one is the vertex that the edge is made for, and an odd one is the same as another before it, found by a hash. Half of
     * the edges, by a hash, too, lead the other way, so that there are cycles and both degrees follow the power law.
     */
    private static Iterator<Edge<Object>> edges(long seed, long degree, long from, long to) {
        return new Iterator<>() {
            private long next = from;

            @Override
            public boolean hasNext() {
                return next < to;
            }

            @Override
            public Edge<Object> next() {
                long end = 2 * next + 1;
                while ((end & 1) == 1) {
                    end = Long.remainderUnsigned(SplitMix64.mixed(seed, end), end);
                }
                long of = next / degree;
                long other = end / 2 / degree;
                boolean turned = (SplitMix64.mixed(~seed, next) & 1) == 1;
                next++;
                return turned ? new Edge<>(other, of, 1) : new Edge<>(of, other, 1);
            }
        };
    }

    /** The rank of the first vertex of each group, and each group's sum of all ranks, each times a number of its vertex. */
    private static double[] found(Iterator<Tuple2<Object, Object>> ranks, long vertices, long seed, long behind) {
        double[] found = new double[2 * GROUPS];
        while (ranks.hasNext()) {
            Tuple2<Object, Object> next = ranks.next();
            long vertex = (Long) next._1();
            double rank = (Double) next._2();
            int group = (int) (vertex * GROUPS / vertices);
            if (vertex == 0 || (vertex - 1) * GROUPS / vertices != group) {
                found[group] = rank;
            }
            found[GROUPS + group] += rank * (0.5 + SplitMix64.share(SplitMix64.mixed(seed, behind + vertex)));
        }
        return found;
    }

    private static double[] together(double[] one, double[] other) {
        double[] sum = one.clone();
        for (int place = 0; place < sum.length; place++) {
            sum[place] += other[place];
        }
        return sum;
    }

    private static String line(double[] found, int from) {
        return Arrays.stream(found, from, from + GROUPS).mapToObj(Double::toString).collect(Collectors.joining(" "));
    }
}
