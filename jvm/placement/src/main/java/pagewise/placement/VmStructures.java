package pagewise.placement;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Reads HotSpot's structures in this process, by the tables that libjvm exports for debuggers and our list of the fields we read. Every
 * read goes through the kernel, so that a wrong address is an {@link Unreadable} and not a crash.
 */
final class VmStructures {
    static final String LIST = "hotspot-fields.tsv";
    /** Far more than any JVM's tables have; an end that is not found is a table that is not understood. */
    private static final int MOST_ENTRIES = 100_000;

    /** The structures do not say what was looked for. */
    static final class Unreadable extends Exception {
        private static final long serialVersionUID = 1;

        Unreadable(String why) {
            super(why);
        }
    }

    /** A field as this JVM has it: an offset, the address of a variable, or a constant. */
    private final Map<String, Long> values;

    VmStructures(Map<String, Long> values) {
        this.values = Map.copyOf(values);
    }

    Map<String, Long> values() {
        return values;
    }

    static VmStructures open() throws Unreadable {
        if (Kernel.missing != null) {
            throw new Unreadable(Kernel.missing);
        }
        String library = Mappings.maps().stream()
                .map(Mappings.Mapping::file)
                .filter(file -> file.endsWith("/libjvm.so"))
                .findFirst()
                .orElseThrow(() -> new Unreadable("no libjvm.so is mapped: the JVM is not HotSpot, or is linked statically"));
        Map<String, Long> exported = new HashMap<>();
        fields(library, exported);
        constants(library, exported);
        return new VmStructures(resolve(exported));
    }

    /** The list's names with what this JVM has for them; those that it has not are left out. */
    private static Map<String, Long> resolve(Map<String, Long> exported) {
        Map<String, Long> values = new HashMap<>();
        for (String line : list()) {
            String[] columns = line.split("\t");
            for (String spelling : columns[2].split(" ")) {
                Long value = exported.get(columns[1] + " " + spelling);
                if (value != null) {
                    values.put(columns[0], value);
                    break;
                }
            }
        }
        return values;
    }

    static List<String> list() {
        try (InputStream stream = VmStructures.class.getResourceAsStream(LIST);
                BufferedReader reader = new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8))) {
            return reader.lines().filter(line -> !line.isEmpty() && !line.startsWith("#")).toList();
        } catch (IOException unreadable) {
            throw new UncheckedIOException(unreadable);
        }
    }

    /** The types of the fields in the list. */
    private static Set<String> types() {
        return list().stream()
                .flatMap(line -> Arrays.stream(line.split("\t")[2].split(" ")))
                .map(spelling -> spelling.substring(0, spelling.indexOf("::")))
                .collect(Collectors.toSet());
    }

    private static void fields(String library, Map<String, Long> into) throws Unreadable {
        long at = word(symbol(library, "gHotSpotVMStructs"));
        long stride = word(symbol(library, "gHotSpotVMStructEntryArrayStride"));
        long type = word(symbol(library, "gHotSpotVMStructEntryTypeNameOffset"));
        long field = word(symbol(library, "gHotSpotVMStructEntryFieldNameOffset"));
        long isStatic = word(symbol(library, "gHotSpotVMStructEntryIsStaticOffset"));
        long offset = word(symbol(library, "gHotSpotVMStructEntryOffsetOffset"));
        long address = word(symbol(library, "gHotSpotVMStructEntryAddressOffset"));
        Table table = new Table(at, stride);
        Set<String> wanted = types();
        Map<Long, Boolean> types = new HashMap<>();
        for (int entry = 0; entry < MOST_ENTRIES; entry++) {
            long name = table.word(entry, type);
            if (name == 0) {
                return;
            }
            // One text for all fields of a type, mostly; and of some 2,000 fields we read forty.
            if (!types.computeIfAbsent(name, text -> wanted.contains(Kernel.text(text)))) {
                continue;
            }
            boolean variable = (table.word(entry, isStatic) & 0xffff_ffffL) != 0;
            String key = (variable ? "static " : "offset ") + Kernel.text(name) + "::" + Kernel.text(table.word(entry, field));
            into.putIfAbsent(key, table.word(entry, variable ? address : offset));
        }
        throw new Unreadable("gHotSpotVMStructs has no end");
    }

    private static void constants(String library, Map<String, Long> into) throws Unreadable {
        long at = word(symbol(library, "gHotSpotVMIntConstants"));
        long stride = word(symbol(library, "gHotSpotVMIntConstantEntryArrayStride"));
        long nameAt = word(symbol(library, "gHotSpotVMIntConstantEntryNameOffset"));
        long valueAt = word(symbol(library, "gHotSpotVMIntConstantEntryValueOffset"));
        Table table = new Table(at, stride);
        for (int entry = 0; entry < MOST_ENTRIES; entry++) {
            long name = table.word(entry, nameAt);
            if (name == 0) {
                return;
            }
            into.putIfAbsent("constant " + Kernel.text(name), (long) (int) table.word(entry, valueAt));
        }
        throw new Unreadable("gHotSpotVMIntConstants has no end");
    }

    private static long symbol(String library, String name) throws Unreadable {
        long address = Kernel.symbol(library, name);
        if (address == 0) {
            throw new Unreadable(library + " does not export " + name);
        }
        return address;
    }

    boolean has(String name) {
        return values.containsKey(name);
    }

    /** The offset, the variable's address or the constant of a name in the list. */
    long at(String name) throws Unreadable {
        Long value = values.get(name);
        if (value == null) {
            throw new Unreadable("this JVM's structures have no " + name + " (" + LIST + ")");
        }
        return value;
    }

    /** The word in a structure; a structure at zero is one that is not there. */
    long word(long structure, String field) throws Unreadable {
        if (structure == 0) {
            throw new Unreadable("nothing has " + field + ": the pointer to it is null");
        }
        return word(structure + at(field));
    }

    static long word(long address) throws Unreadable {
        return read(address, 8).getLong(0);
    }

    /** Memory of this process from an address on. */
    static ByteBuffer read(long address, int bytes) throws Unreadable {
        ByteBuffer remote = Kernel.direct(16);
        remote.putLong(0, address).putLong(8, bytes);
        return read(remote, bytes);
    }

    private static ByteBuffer read(ByteBuffer remote, int bytes) throws Unreadable {
        ByteBuffer into = Kernel.direct(bytes);
        read(remote, into);
        return into;
    }

    /** Fills {@code into} from the pairs of address and length in {@code remote}. */
    static void read(ByteBuffer remote, ByteBuffer into) throws Unreadable {
        int bytes = into.capacity();
        long copied = Kernel.read(remote, into);
        if (copied < 0) {
            throw new Unreadable("process_vm_readv at " + Long.toHexString(remote.getLong(0)) + ": " + Errno.name((int) -copied)
                    + " (EFAULT: nothing there, so the table of fields does not fit this JVM; EPERM, ENOSYS: a seccomp filter)");
        }
        if (copied < bytes) {
            throw new Unreadable("of " + bytes + " bytes only " + copied + " could be read: the table of fields does not fit this JVM");
        }
    }

    /** An exported table, read a piece at a time: word by word took some 20 ms at start. */
    private static final class Table {
        private static final int PIECE = 64;
        private final long base;
        private final long stride;
        private int first = -1;
        private ByteBuffer piece;

        Table(long base, long stride) throws Unreadable {
            if (base == 0 || stride < 8 || stride > 4096) {
                throw new Unreadable("an exported table's entries have " + stride + " bytes");
            }
            this.base = base;
            this.stride = stride;
        }

        /** Eight bytes from an offset in the entry, or the four that are left of it. */
        long word(int entry, long offset) throws Unreadable {
            if (offset < 0 || offset + 4 > stride) {
                throw new Unreadable("an exported table has a field beyond its entry");
            }
            if (first < 0 || entry >= first + PIECE) {
                first = entry - entry % PIECE;
                piece = entries(first);
            }
            int at = (int) ((entry - first) * stride + offset);
            if (at + 4 > piece.capacity()) {
                throw new Unreadable("an exported table ends without its last entry");
            }
            return offset + 8 <= stride ? piece.getLong(at) : piece.getInt(at);
        }

        /** Fewer where the table ends with its mapping. */
        private ByteBuffer entries(int from) throws Unreadable {
            long address = base + from * stride;
            Unreadable last = null;
            for (int count = PIECE; count >= 1; count /= 2) {
                try {
                    return read(address, (int) (count * stride));
                } catch (Unreadable tooFar) {
                    last = tooFar;
                }
            }
            throw last;
        }
    }
}
