package pagewise.placement;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Many small structures read again and again: the buffers are kept, and structures that lie close together are read with what lies between, since
 * the kernel takes longer to find a page than to copy it.
 */
final class ScatteredReads {
    /** A gap up to a small page: what lies in it is in a page of one of its neighbours, so it is mapped if they are. */
    private static final long GAP = 4096;
    /** UIO_MAXIOV: more are refused. */
    private static final int MOST_PIECES = 1024;

    private record Call(ByteBuffer remote, ByteBuffer into) {}

    private final long[] addresses;
    private final int bytes;
    private final List<Call> calls = new ArrayList<>();
    private final ByteBuffer all;
    /** Where each structure begins in {@link #all}. */
    private final int[] places;

    /** Of each address so many bytes. */
    ScatteredReads(long[] addresses, int bytes) {
        this.addresses = addresses.clone();
        this.bytes = bytes;
        places = new int[addresses.length];
        List<Range> pieces = new ArrayList<>();
        int size = 0;
        for (int at = 0; at < addresses.length; at++) {
            Range next = new Range(addresses[at], addresses[at] + bytes);
            Range last = pieces.isEmpty() ? null : pieces.get(pieces.size() - 1);
            if (last != null && next.start() >= last.end() && next.start() - last.end() <= GAP) {
                size += (int) (next.start() - last.end());
                pieces.set(pieces.size() - 1, new Range(last.start(), next.end()));
            } else {
                pieces.add(next);
            }
            places[at] = size;
            size += bytes;
        }
        all = Kernel.direct(size);
        int begun = 0;
        for (int first = 0; first < pieces.size(); first += MOST_PIECES) {
            List<Range> some = pieces.subList(first, Math.min(pieces.size(), first + MOST_PIECES));
            ByteBuffer remote = Kernel.direct(some.size() * 16);
            int length = 0;
            for (Range piece : some) {
                remote.putLong(piece.start()).putLong(piece.length());
                length += (int) piece.length();
            }
            calls.add(new Call(remote, all.slice(begun, length)));
            begun += length;
        }
    }

    boolean isOf(long[] others, int count) {
        return Arrays.equals(addresses, 0, addresses.length, others, 0, count);
    }

    /** Reads all anew. The buffer is the same each time, in the machine's order of bytes. */
    ByteBuffer read() throws VmStructures.Unreadable {
        for (Call call : calls) {
            VmStructures.read(call.remote, call.into);
        }
        return all.order(ByteOrder.nativeOrder());
    }

    /** Where the structure with this index begins in what {@link #read} gives. */
    int place(int index) {
        return places[index];
    }
}
