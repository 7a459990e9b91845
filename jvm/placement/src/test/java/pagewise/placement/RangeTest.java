package pagewise.placement;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class RangeTest {
    @Test
    void wholePagesNeverReachBeyondTheRange() {
        assertEquals(new Range(0x200000, 0x400000), new Range(0x1ff000, 0x5ff000).whole(0x200000));
        assertTrue(new Range(0x201000, 0x3ff000).whole(0x200000).isEmpty());
        assertEquals(new Range(0x200000, 0x400000), new Range(0x200000, 0x400000).whole(0x200000));
    }

    @Test
    void endBeforeStartIsNothing() {
        assertTrue(new Range(8, 4).isEmpty());
    }

    @Test
    void theEndIsNotInTheRange() {
        Range range = new Range(16, 32);
        assertTrue(range.holds(16));
        assertFalse(range.holds(32));
        assertTrue(range.holds(new Range(20, 32)));
        assertEquals(new Range(20, 32), range.and(new Range(20, 40)));
        assertTrue(range.and(new Range(40, 50)).isEmpty());
    }
}
