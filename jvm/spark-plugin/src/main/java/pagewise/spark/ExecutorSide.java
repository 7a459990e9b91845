package pagewise.spark;

import com.codahale.metrics.Gauge;
import com.codahale.metrics.MetricRegistry;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.LongSupplier;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;

/** In each executor: reads the settings, registers metrics and starts the {@link Placer}. Nothing here may keep an executor from starting. */
final class ExecutorSide implements ExecutorPlugin {
    private final Counts counts = new Counts();
    private final Slabs slabs = new Slabs(counts);
    private volatile State latest = State.unknown("not read yet");
    private Placer placer;
    private Thread thread;

    @Override
    public void init(PluginContext context, Map<String, String> extra) {
        long begun = System.nanoTime();
        try {
            Settings settings = Settings.from(PagewisePlugin.given(context.conf()));
            settings.problems().forEach(problem -> counts.trouble(problem + ". Spark runs as without this plugin"));
            register(context.metricRegistry());
            if (!settings.problems().isEmpty()) {
                return;
            }
            placer = new Placer(settings, counts, slabs, state -> {
                latest = state;
                tell(context, settings, state);
            });
            thread = new Thread(placer, "pagewise-placement");
            thread.setDaemon(true);
            thread.start();
        } catch (RuntimeException | LinkageError surprise) {
            counts.trouble("nothing is placed: " + surprise);
        }
        counts.startNanos.set(System.nanoTime() - begun);
    }

    @Override
    public void shutdown() {
        if (placer == null) {
            return;
        }
        placer.stop();
        thread.interrupt();
        try {
            thread.join(1_000);
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
        }
        slabs.close();
    }

    /** Everything that is counted, by its name in metrics and in the event log. */
    private Map<String, LongSupplier> counted() {
        Map<String, LongSupplier> all = new LinkedHashMap<>();
        all.put("surprises", counts.surprises::get);
        all.put("start.microseconds", () -> counts.startNanos.get() / 1_000);
        all.put("start.huge.bytes", counts.startHugeBytes::get);
        all.put("cpu.microseconds", () -> counts.cpuNanos.get() / 1_000);
        all.put("advice.calls", counts.adviceCalls::get);
        all.put("advice.refusals", counts.adviceRefusals::get);
        all.put("populated.bytes", counts.populatedBytes::get);
        all.put("collapse.pages", counts.collapsedPages::get);
        all.put("collapse.refusals", counts.collapseRefusals::get);
        all.put("collapse.microseconds", () -> counts.collapseNanos.get() / 1_000);
        all.put("collapse.longest.microseconds", () -> counts.collapseLongestNanos.get() / 1_000);
        return all;
    }

    private void register(MetricRegistry registry) {
        counted().forEach((name, value) -> registry.register(name, (Gauge<Long>) value::getAsLong));
        for (String name : State.NAMES) {
            registry.register(name, (Gauge<Long>) () -> latest.values().getOrDefault(name, 0L));
        }
    }

    /** To the driver, in classes that any JVM has: its network layer does not know this jar. */
    private void tell(PluginContext context, Settings settings, State state) {
        HashMap<String, Long> values = new HashMap<>(state.values());
        counted().forEach((name, value) -> values.put(name, value.getAsLong()));
        HashMap<String, Object> message = new HashMap<>();
        message.put("executor", context.executorID());
        message.put("time", System.currentTimeMillis());
        message.put("policy", settings.policy().name().toLowerCase(java.util.Locale.ROOT));
        message.put("mode", settings.enforce() ? "enforce" : "observe");
        message.put("values", values);
        try {
            context.send(message);
        } catch (Exception unreachable) {
            counts.say("the driver did not take a report: " + unreachable);
        }
    }
}
