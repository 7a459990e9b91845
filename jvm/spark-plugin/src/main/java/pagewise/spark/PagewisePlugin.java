package pagewise.spark;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.SparkPlugin;
import scala.Tuple2;

/**
 * Puts an executor's storage memory, its execution memory or both on huge pages, on a stock JVM and stock Spark:
 * {@code spark.plugins=pagewise.spark.PagewisePlugin}, {@code spark.pagewise.policy=storage}, {@code spark.pagewise.mode=enforce}.
 * Unless told to enforce it only observes.
 */
public final class PagewisePlugin implements SparkPlugin {
    @Override
    public DriverPlugin driverPlugin() {
        return new DriverSide();
    }

    @Override
    public ExecutorPlugin executorPlugin() {
        return new ExecutorSide();
    }

    /** A job's settings that are this plugin's. */
    static Map<String, String> given(SparkConf conf) {
        Map<String, String> given = new HashMap<>();
        for (Tuple2<String, String> one : conf.getAll()) {
            if (one._1().startsWith(Settings.PREFIX)) {
                given.put(one._1(), one._2());
            }
        }
        return given;
    }
}
