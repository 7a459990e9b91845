package pagewise.spark;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.PluginContext;

/** In the driver: what executors report goes to Spark's listeners, and so to the event log. */
final class DriverSide implements DriverPlugin {
    private final Counts counts = new Counts();
    private SparkContext spark;

    @Override
    public Map<String, String> init(SparkContext context, PluginContext plugin) {
        spark = context;
        return Map.of();
    }

    @Override
    public Object receive(Object message) {
        try {
            if (message instanceof Map<?, ?> report && spark != null && !spark.isStopped()) {
                Map<String, Long> values = new HashMap<>();
                ((Map<?, ?>) report.get("values")).forEach((name, value) -> values.put((String) name, (Long) value));
                spark.listenerBus().post(new Report(
                        (String) report.get("executor"),
                        (Long) report.get("time"),
                        (String) report.get("policy"),
                        (String) report.get("mode"),
                        new java.util.TreeMap<>(values)));
            }
        } catch (RuntimeException | LinkageError surprise) {
            counts.trouble("a report is not in the event log: " + surprise);
        }
        return null;
    }
}
