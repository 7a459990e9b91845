package pagewise.placement;

/**
 * What the host does with anonymous memory of any process, as {@code /sys/kernel/mm/transparent_hugepage} says it.
 *
 * @param enabled what holds for whole huge pages: the size's own word where the kernel has one (6.8 and later) that is not {@code inherit}
 * @param defrag  the selected word of {@code defrag}, or {@code unknown}
 * @param text    both, with what they mean for placement
 */
public record HostMode(Enabled enabled, String defrag, String text) {
    public enum Enabled {
        /** All memory, unless advised otherwise. */
        ALWAYS,
        /** Only what is advised. */
        MADVISE,
        /** None by a fault; {@link Advice#COLLAPSE} still works. */
        NEVER,
        /** The kernel has no transparent huge pages, or does not show them here. */
        UNKNOWN
    }
}
