package pagewise.placement;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class AdviceTest {
    /** 4, 8, 9, 21 and 24 (DONTNEED, FREE, REMOVE, PAGEOUT, DONTNEED_LOCKED) would discard or move out what a JVM holds. */
    @Test
    void noAdviceCanDiscardContent() {
        assertEquals(
                Set.of(14, 15, 23, 25), Arrays.stream(Advice.values()).map(advice -> advice.number).collect(Collectors.toSet()));
    }

    @Test
    void aRefusalNamesTheError() {
        Outcome outcome = Memory.advise(Memory.pageSize(), Memory.pageSize(), Advice.HUGEPAGE);
        assertFalse(outcome.done());
        assertEquals("ENOMEM", outcome.errno(), outcome.text());
    }

    @Test
    void whatIsNoRangeNeverReachesTheKernel() {
        for (long[] range : new long[][] {{0, 4096}, {-4096, 4096}, {4096, -1}, {Long.MAX_VALUE - 10, 100}, {1 << 21, 100}}) {
            Outcome outcome = Memory.advise(range[0], range[1], Advice.HUGEPAGE);
            assertFalse(outcome.done());
            assertTrue(outcome.errno().isEmpty(), outcome.text());
        }
    }

    @Test
    void aProcessModeIsReadBack() {
        Memory.ProcessMode before = Memory.processMode();
        Outcome outcome = Memory.setProcessMode(Memory.ProcessMode.EXCEPT_ADVISED);
        if (outcome.done()) {
            assertEquals(Memory.ProcessMode.EXCEPT_ADVISED, Memory.processMode());
        } else {
            assertEquals("EINVAL", outcome.errno(), "before Linux 6.18: " + outcome.text());
        }
        assertTrue(Memory.setProcessMode(Memory.ProcessMode.DISABLED).done());
        assertEquals(Memory.ProcessMode.DISABLED, Memory.processMode());
        assertTrue(Memory.setProcessMode(before).done());
    }
}
