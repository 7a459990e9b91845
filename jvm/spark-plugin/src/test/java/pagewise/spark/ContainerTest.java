package pagewise.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ContainerTest {
    @TempDir
    private Path folder;

    private void write(String path, String text) throws IOException {
        Path file = folder.resolve(path);
        Files.createDirectories(file.getParent());
        Files.writeString(file, text + "\n");
    }

    private long room() {
        return new Container(folder.resolve("cgroup"), folder.resolve("self")).room();
    }

    @Test
    void theNearestLimitOfAnyCgroupAboveCounts() throws IOException {
        write("self", "0::/pod/executor");
        write("cgroup/pod/memory.max", "1000");
        write("cgroup/pod/memory.current", "700");
        write("cgroup/pod/executor/memory.max", "max");
        write("cgroup/pod/executor/memory.current", "100");
        assertEquals(300, room());
        write("cgroup/pod/executor/memory.max", "90");
        assertEquals(0, room(), "over it");
    }

    @Test
    void versionOneHasAFolderOfItsOwn() throws IOException {
        write("self", "4:cpu:/x\n3:memory:/docker/abc\n0::/");
        write("cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
        write("cgroup/memory/memory.usage_in_bytes", "5");
        write("cgroup/memory/docker/abc/memory.limit_in_bytes", "800");
        write("cgroup/memory/docker/abc/memory.usage_in_bytes", "500");
        assertEquals(300, room());
    }

    @Test
    void insideAContainerItsOwnCgroupIsTheRoot() throws IOException {
        write("self", "0::/not/visible/here/../../../..");
        write("cgroup/memory.max", "50");
        write("cgroup/memory.current", "20");
        assertEquals(30, room());
    }

    @Test
    void withoutAnyThereIsRoom() throws IOException {
        assertEquals(Long.MAX_VALUE, room());
        write("self", "0::/\nnonsense");
        write("cgroup/memory.current", "20");
        assertEquals(Long.MAX_VALUE, room());
    }
}
