package pagewise.placement;

import com.sun.jna.Library;
import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;
import com.sun.jna.Pointer;
import java.nio.ByteBuffer;
import java.util.Locale;
import java.util.Map;

/**
 * Every native call of this package, through JNA. Where JNA is absent, cannot unpack its library (a temporary folder mounted noexec)
 * or the platform is another, {@link #missing} says so and no call is made.
 */
final class Kernel {
    /** Why no native call can be made here, with the remedy; null where they can. */
    static final String missing = probe();

    private Kernel() {}

    private static String probe() {
        if (!System.getProperty("os.name", "").equals("Linux")) {
            return "no native calls: this is " + System.getProperty("os.name") + ", and placement is for Linux";
        }
        String architecture = System.getProperty("os.arch", "");
        if (!architecture.equals("amd64") && !architecture.equals("aarch64")) {
            return "no native calls: " + architecture + " is not known here; placement is for 64-bit x86 and ARM";
        }
        try {
            Calls.getpagesize();
            return null;
        } catch (LinkageError | RuntimeException error) {
            Throwable cause = error.getCause() == null ? error : error.getCause();
            String what = String.valueOf(cause.getMessage()).lines().findFirst().orElse("");
            return "no native calls: " + cause.getClass().getSimpleName() + ": " + what
                    + ". JNA (net.java.dev.jna:jna) must be on the class path, and its temporary folder must allow execution:"
                    + " -Djna.tmpdir=FOLDER names another";
        }
    }

    static int pageSize() {
        return Calls.getpagesize();
    }

    /** Zero, or the error number. */
    static int madvise(long address, long length, Advice advice) {
        return Calls.madvise(address, length, advice.number) == 0 ? 0 : Native.getLastError();
    }

    /** The address, or the negative error number. */
    static long map(long length, int flags) {
        // PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS
        long address = Calls.mmap(0, length, 0x1 | 0x2, 0x02 | 0x20 | flags, -1, 0);
        return address == -1 ? -Native.getLastError() : address;
    }

    /** Gives back memory that {@link #map} gave: only ever called for a slab's own. */
    static int unmap(long address, long length) {
        return Calls.munmap(address, length) == 0 ? 0 : Native.getLastError();
    }

    /** What prctl answered, or the negative error number. */
    static int prctl(int option, long second, long third) {
        int answer = Calls.prctl(option, second, third, 0, 0);
        return answer < 0 ? -Native.getLastError() : answer;
    }

    static int open(String path) {
        // O_RDONLY | O_CLOEXEC
        int file = Calls.open(path, 0x80000);
        return file < 0 ? -Native.getLastError() : file;
    }

    static void close(int file) {
        Calls.close(file);
    }

    static long ioctl(int file, long request, ByteBuffer argument) {
        long answer = Calls.ioctl(file, request, address(argument));
        return answer < 0 ? -Native.getLastError() : answer;
    }

    /**
     * Copies memory of this process as the kernel does it for a debugger: an address that is not mapped is an error, not a crash.
     * {@code remote} holds pairs of address and length, {@code into} has room for all of them. The bytes copied, or the negative
     * error number.
     */
    static long read(ByteBuffer remote, ByteBuffer into) {
        ByteBuffer local = direct(16);
        local.putLong(0, address(into)).putLong(8, into.capacity());
        long answer = Calls.process_vm_readv(
                (int) ProcessHandle.current().pid(), address(local), 1, address(remote), remote.capacity() / 16, 0);
        return answer < 0 ? -Native.getLastError() : answer;
    }

    /** The word a reference passed to native code points at: the object's address, not compressed. */
    static long dereference(Object object) {
        ByteBuffer word = direct(8);
        Calls.memcpy(address(word), object, 8);
        return word.getLong(0);
    }

    static long address(ByteBuffer direct) {
        return Pointer.nativeValue(Native.getDirectBufferPointer(direct));
    }

    static ByteBuffer view(long address, long length) {
        return new Pointer(address).getByteBuffer(0, length);
    }

    static ByteBuffer direct(int bytes) {
        return ByteBuffer.allocateDirect(bytes).order(java.nio.ByteOrder.nativeOrder());
    }

    /** The address of an exported variable of a library that is already loaded, or zero. */
    static long symbol(String library, String name) {
        try {
            return Pointer.nativeValue(NativeLibrary.getInstance(library).getGlobalVariableAddress(name));
        } catch (UnsatisfiedLinkError absent) {
            return 0;
        }
    }

    static String text(long address) {
        return address == 0 ? "" : new Pointer(address).getString(0, "US-ASCII");
    }

    static boolean isAarch64() {
        return System.getProperty("os.arch", "").toLowerCase(Locale.ROOT).equals("aarch64");
    }

    /** Mapped directly: the JVM's own handle of an argument reaches the C function, which {@link #dereference} stands on. */
    private static final class Calls {
        static {
            Native.register(Calls.class, NativeLibrary.getInstance("c", Map.of(Library.OPTION_ALLOW_OBJECTS, Boolean.TRUE)));
        }

        static native int getpagesize();

        static native int madvise(long address, long length, int advice);

        static native long mmap(long address, long length, int protection, int flags, int file, long offset);

        static native int munmap(long address, long length);

        static native int prctl(int option, long second, long third, long fourth, long fifth);

        static native int open(String path, int flags);

        static native int close(int file);

        static native int ioctl(int file, long request, long argument);

        static native long process_vm_readv(int process, long local, long locals, long remote, long remotes, long flags);

        static native long memcpy(long destination, Object source, long bytes);
    }
}
