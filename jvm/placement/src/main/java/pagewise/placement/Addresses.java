package pagewise.placement;

import java.nio.ByteBuffer;

/**
 * Where things lie. An object's address is true at the moment of asking: the collector may move the object at any time, in the young
 * generation at the next collection. Use it to find a region and for advice that keeps content, for nothing else.
 */
public final class Addresses {
    private Addresses() {}

    /** The address of the object's header, or 0 where it cannot be found: no native calls, or a collector that moves objects meanwhile. */
    public static long of(Object object) {
        if (object == null || Kernel.missing != null || !Heap.ofThisJvm().placeable()) {
            return 0;
        }
        return Kernel.dereference(object);
    }

    /** The address of a direct buffer's first byte (position 0), which stays; of another buffer's array, which moves; or 0. */
    public static long of(ByteBuffer buffer) {
        if (buffer == null || Kernel.missing != null) {
            return 0;
        }
        if (buffer.isDirect()) {
            return Kernel.address(buffer);
        }
        return buffer.hasArray() ? of((Object) buffer.array()) : 0;
    }
}
