package pagewise.spark;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * What {@code spark.pagewise.*} asks for.
 *
 * @param enforce            whether anything is changed; else it is only observed
 * @param pretenure          whether the user means to have objects promoted at once, which only a flag of the JVM does
 * @param windowBytes        the most that is populated ahead of the frontier; 0 for 5 % of the heap
 * @param collapsesPerSecond huge pages put together a second, at most
 * @param reserved           whether Tungsten's pages outside the heap come from those that an administrator reserved (hugetlb)
 * @param problems           what cannot be: then the policy is NONE and nothing is changed. One line each
 */
record Settings(Policy policy, boolean enforce, boolean pretenure, long windowBytes, int collapsesPerSecond, boolean reserved, List<String> problems) {
    static final String PREFIX = "spark.pagewise.";
    static final String POLICY = PREFIX + "policy";
    static final String MODE = PREFIX + "mode";
    static final String PRETENURE = PREFIX + "pretenure";
    static final String WINDOW = PREFIX + "window";
    static final String COLLAPSE_RATE = PREFIX + "collapsesPerSecond";
    static final String RESERVED = PREFIX + "reserved";
    private static final List<String> NAMES = List.of(POLICY, MODE, PRETENURE, WINDOW, COLLAPSE_RATE, RESERVED);
    private static final int DEFAULT_COLLAPSES_PER_SECOND = 50;

    /** From those settings of a job that begin with {@link #PREFIX}. */
    static Settings from(Map<String, String> given) {
        List<String> problems = new ArrayList<>();
        for (String name : given.keySet()) {
            if (!NAMES.contains(name)) {
                problems.add(name + " is not known; there are " + String.join(", ", NAMES));
            }
        }
        String policy = choice(given, POLICY, List.of("none", "storage", "execution", "both"), problems);
        String mode = choice(given, MODE, List.of("observe", "enforce"), problems);
        String pretenure = choice(given, PRETENURE, List.of("off", "on"), problems);
        long window = number(given, WINDOW, 0, 1L << 46, problems);
        long rate = number(given, COLLAPSE_RATE, DEFAULT_COLLAPSES_PER_SECOND, 100_000, problems);
        String reserved = choice(given, RESERVED, List.of("off", "on"), problems);
        if (!problems.isEmpty()) {
            return new Settings(Policy.NONE, false, false, 0, 0, false, List.copyOf(problems));
        }
        return new Settings(
                Policy.valueOf(policy.toUpperCase(Locale.ROOT)),
                mode.equals("enforce"),
                pretenure.equals("on"),
                window,
                (int) rate,
                reserved.equals("on"),
                List.of());
    }

    /** The first is what holds where nothing is given. */
    private static String choice(Map<String, String> given, String name, List<String> choices, List<String> problems) {
        String value = given.getOrDefault(name, choices.get(0)).trim().toLowerCase(Locale.ROOT);
        if (!choices.contains(value)) {
            problems.add(name + "=" + given.get(name) + ": it can be " + String.join(", ", choices));
        }
        return value;
    }

    /** A whole number of bytes or pages, or with Spark's k, m, g for 2^10, 2^20, 2^30. */
    private static long number(Map<String, String> given, String name, long otherwise, long most, List<String> problems) {
        String value = given.get(name);
        if (value == null) {
            return otherwise;
        }
        String digits = value.trim().toLowerCase(Locale.ROOT);
        int shift = digits.endsWith("k") ? 10 : digits.endsWith("m") ? 20 : digits.endsWith("g") ? 30 : 0;
        try {
            long number = Long.parseLong(shift == 0 ? digits : digits.substring(0, digits.length() - 1));
            if (number >= 0 && number <= most >> shift) {
                return number << shift;
            }
        } catch (NumberFormatException none) {
            // Said below.
        }
        problems.add(name + "=" + value + ": it is a number such as 64m or 50, at most " + most);
        return otherwise;
    }
}
