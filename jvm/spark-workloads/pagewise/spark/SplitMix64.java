package pagewise.spark;

/** The numbers that the programs' data are made of, so that a result can be reckoned elsewhere. */
final class SplitMix64 {
    private SplitMix64() {}

    /** The output function of SplitMix64 (Steele, Lea and Flood 2014): the {@code number}-th of this seed. */
    static long mixed(long seed, long number) {
        long z = seed + (number + 1) * 0x9E3779B97F4A7C15L;
        z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
        z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
        return z ^ (z >>> 31);
    }

    /** The 53 upper bits as a share of one. */
    static double share(long bits) {
        return (bits >>> 11) * 0x1p-53;
    }
}
