package pagewise.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class PromotionTest {
    private static final long SECOND = 1_000_000_000L;

    @Test
    void theWindowIsTwoSecondsOfTheFastestGrowthWithinItsBounds() {
        Promotion promotion = new Promotion(10, 1000);
        assertEquals(10, promotion.window());
        promotion.seen(5_000, 100 * SECOND);
        assertEquals(10, promotion.window(), "what was there before has not grown");
        promotion.seen(5_100, 100 * SECOND + 1);
        promotion.seen(5_150, 100 * SECOND + 2);
        assertEquals(300, promotion.window());
        promotion.seen(4_000, 101 * SECOND);
        promotion.seen(4_020, 102 * SECOND);
        assertEquals(300, promotion.window(), "remembered");
        promotion.seen(4_020, 111 * SECOND);
        assertEquals(40, promotion.window(), "the fastest is more than ten seconds ago");
        promotion.seen(4_020, 5_000 * SECOND);
        assertEquals(10, promotion.window());
        promotion.seen(9_000, 5_001 * SECOND);
        assertEquals(1000, promotion.window());
    }
}
