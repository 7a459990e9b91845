package pagewise.spark;

import java.util.Map;
import org.apache.spark.scheduler.SparkListenerEvent;

/** An executor's {@link State} as a line of Spark's event log. Readers without this jar leave the line out. */
public final class Report implements SparkListenerEvent {
    private final String executorId;
    private final long time;
    private final String policy;
    private final String mode;
    private final Map<String, Long> values;

    Report(String executorId, long time, String policy, String mode, Map<String, Long> values) {
        this.executorId = executorId;
        this.time = time;
        this.policy = policy;
        this.mode = mode;
        this.values = values;
    }

    public String getExecutorId() {
        return executorId;
    }

    /** Milliseconds since the epoch. */
    public long getTime() {
        return time;
    }

    public String getPolicy() {
        return policy;
    }

    public String getMode() {
        return mode;
    }

    public Map<String, Long> getValues() {
        return values;
    }
}
