package pagewise.placement;

/**
 * What a request did, or why it did nothing. Nothing in this package throws because a host is unusual: it answers with one of these.
 *
 * @param done  whether all that was asked is done
 * @param bytes of how many bytes it is done; for a range, of its whole pages
 * @param errno the kernel's word where it refused ({@code EINVAL}), else empty
 * @param text  what was done, or what was tried, why it failed and what would help
 */
public record Outcome(boolean done, long bytes, String errno, String text) {
    static Outcome done(long bytes, String text) {
        return new Outcome(true, bytes, "", text);
    }

    /** The kernel refused. */
    static Outcome refused(long bytes, int errno, String text) {
        return new Outcome(false, bytes, Errno.name(errno), text);
    }

    /** It never came to the kernel. */
    static Outcome notTried(String why) {
        return new Outcome(false, 0, "", why);
    }

    @Override
    public String toString() {
        return text;
    }
}
