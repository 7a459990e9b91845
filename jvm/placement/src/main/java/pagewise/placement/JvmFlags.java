package pagewise.placement;

import com.sun.management.HotSpotDiagnosticMXBean;
import java.lang.management.ManagementFactory;

/** Values of HotSpot's own options in this JVM, as its management interface gives them. */
final class JvmFlags {
    private JvmFlags() {}

    static boolean on(String name) {
        return "true".equals(value(name));
    }

    /** Zero where there is no such option. */
    static long number(String name) {
        try {
            return Long.parseLong(value(name));
        } catch (NumberFormatException none) {
            return 0;
        }
    }

    private static String value(String name) {
        try {
            HotSpotDiagnosticMXBean bean = ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
            return bean == null ? "" : bean.getVMOption(name).getValue();
        } catch (LinkageError | RuntimeException absent) {
            return "";
        }
    }
}
