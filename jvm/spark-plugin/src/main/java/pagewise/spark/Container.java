package pagewise.spark;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** How much memory the container that this process runs in may still take: cgroup v2, or the memory controller of v1. */
final class Container {
    private static final long NO_LIMIT = Long.MAX_VALUE;

    private final Path root;
    private final Path self;

    Container() {
        this(Path.of("/sys/fs/cgroup"), Path.of("/proc/self/cgroup"));
    }

    Container(Path root, Path self) {
        this.root = root;
        this.self = self;
    }

    /**
     * Bytes below the nearest limit of this process's cgroup or one above it; {@link Long#MAX_VALUE} where there is no limit or none can be
     * read. Cache of files counts as taken, though the kernel would give it up: the answer errs towards too little.
     */
    long room() {
        long room = NO_LIMIT;
        try {
            for (String line : Files.readAllLines(self)) {
                String[] words = line.split(":", 3);
                if (words.length < 3) {
                    continue;
                }
                if (words[1].isEmpty()) {
                    room = Math.min(room, walk(root, words[2], "memory.max", "memory.current"));
                } else if (List.of(words[1].split(",")).contains("memory")) {
                    room = Math.min(room, walk(root.resolve("memory"), words[2], "memory.limit_in_bytes", "memory.usage_in_bytes"));
                }
            }
        } catch (IOException | RuntimeException unreadable) {
            return room;
        }
        return room;
    }

    private static long walk(Path top, String path, String limit, String usage) {
        // Inside a container its own cgroup is mounted as the root, whatever the path says.
        Path folder = top.resolve(path.replaceFirst("^/+", "")).normalize();
        if (!folder.startsWith(top) || !Files.isDirectory(folder)) {
            folder = top;
        }
        long room = NO_LIMIT;
        while (folder.startsWith(top)) {
            long most = number(folder.resolve(limit));
            long taken = number(folder.resolve(usage));
            // Version 1 says "none" with a number close to 2^63.
            if (most < 1L << 60 && taken != NO_LIMIT) {
                room = Math.min(room, Math.max(0, most - taken));
            }
            folder = folder.getParent();
        }
        return room;
    }

    private static long number(Path file) {
        try {
            return Long.parseLong(Files.readString(file).trim());
        } catch (IOException | NumberFormatException none) {
            return NO_LIMIT;
        }
    }
}
