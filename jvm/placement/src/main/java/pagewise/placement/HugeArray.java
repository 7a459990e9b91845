package pagewise.placement;

/**
 * An array and what was done to put it on huge pages.
 *
 * @param array  usable in any case
 * @param placed what the kernel says of it
 */
public record HugeArray<A>(A array, Placed placed) {}
