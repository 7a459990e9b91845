package pagewise.placement;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.ref.Reference;
import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Every object that can be reached from one, each once. Classes, class loaders, threads and what references of {@code java.lang.ref} point at
 * are not followed: through them all of the JVM can be reached, and none of it belongs to the caller's data.
 *
 * <p>Fields that a module keeps closed (those of a {@code HashMap}, of a {@code String}) are read through {@code sun.misc.Unsafe} where the
 * JVM has it; JDK 24 and later print a warning for that, once, which {@code --add-opens java.base/java.util=ALL-UNNAMED} and the like avoid.
 */
final class ObjectGraph {
    private final Map<Class<?>, List<Link>> links = new HashMap<>();
    private long unseen;

    /** A field that holds a reference. Not accessible ones have an offset. */
    private record Link(Field field, long offset) {}

    /** Fields that could not be read, with all that hangs on them. */
    long unseen() {
        return unseen;
    }

    void walk(Object root, Consumer<Object> visit) {
        Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        ArrayDeque<Object> waiting = new ArrayDeque<>();
        meet(root, seen, waiting);
        while (!waiting.isEmpty()) {
            Object object = waiting.pop();
            visit.accept(object);
            if (object instanceof Object[] array) {
                for (Object element : array) {
                    meet(element, seen, waiting);
                }
            } else {
                for (Link link : links.computeIfAbsent(object.getClass(), this::linksOf)) {
                    meet(read(object, link), seen, waiting);
                }
            }
        }
    }

    private static void meet(Object object, Set<Object> seen, ArrayDeque<Object> waiting) {
        boolean outside = object == null || object instanceof Class || object instanceof ClassLoader || object instanceof Thread;
        if (!outside && seen.add(object)) {
            waiting.push(object);
        }
    }

    private List<Link> linksOf(Class<?> type) {
        List<Link> found = new ArrayList<>();
        if (type.isArray()) {
            return found;
        }
        for (Class<?> at = type; at != null && at != Reference.class; at = at.getSuperclass()) {
            for (Field field : at.getDeclaredFields()) {
                if (!field.getType().isPrimitive() && !Modifier.isStatic(field.getModifiers())) {
                    found.add(link(field));
                }
            }
        }
        return found;
    }

    private static Link link(Field field) {
        if (field.trySetAccessible()) {
            return new Link(field, -1);
        }
        try {
            return new Link(field, ClosedFields.OFFSET == null ? -2 : (long) ClosedFields.OFFSET.invoke(field));
        } catch (Throwable refused) {
            return new Link(field, -2);
        }
    }

    private Object read(Object object, Link link) {
        try {
            if (link.offset == -1) {
                return link.field.get(object);
            } else if (link.offset >= 0) {
                return ClosedFields.READ.invoke(object, link.offset);
            }
        } catch (Throwable refused) {
            // Counted below: a field that cannot be read leaves out what hangs on it, and nothing else.
        }
        unseen++;
        return null;
    }

    /** Bytes that an object takes, for arrays; 0 for others, which a page's account need not know. */
    static long arrayBytes(Object object) {
        Class<?> element = object.getClass().getComponentType();
        if (element == null) {
            return 0;
        }
        long bytes = 8;
        if (element == byte.class || element == boolean.class) {
            bytes = 1;
        } else if (element == short.class || element == char.class) {
            bytes = 2;
        } else if (element == int.class || element == float.class || !element.isPrimitive() && JvmFlagsOnce.COMPRESSED) {
            bytes = 4;
        }
        // The header's 16 bytes are 20 or 24 without compressed classes: the last bytes of an array do not matter here.
        return 16 + bytes * Array.getLength(object);
    }

    private static final class JvmFlagsOnce {
        static final boolean COMPRESSED = JvmFlags.on("UseCompressedOops");
    }

    /** By reflection: a later JDK may lack it, and then only fields of open classes are followed. */
    private static final class ClosedFields {
        static final MethodHandle OFFSET;
        static final MethodHandle READ;

        static {
            MethodHandle offset = null;
            MethodHandle read = null;
            try {
                Class<?> type = Class.forName("sun.misc.Unsafe");
                Field instance = type.getDeclaredField("theUnsafe");
                instance.setAccessible(true);
                Object unsafe = instance.get(null);
                MethodHandles.Lookup lookup = MethodHandles.publicLookup();
                offset = lookup.findVirtual(type, "objectFieldOffset", MethodType.methodType(long.class, Field.class)).bindTo(unsafe);
                read = lookup.findVirtual(type, "getObject", MethodType.methodType(Object.class, Object.class, long.class)).bindTo(unsafe);
            } catch (ReflectiveOperationException | RuntimeException absent) {
                offset = null;
            }
            OFFSET = offset;
            READ = read;
        }
    }
}
